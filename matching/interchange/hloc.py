"""hloc's files: features.h5 with the keypoints of each image, matches.h5 with the matches of each pair.

A features file has a group for each image, under the name of the image's file. The group holds `keypoints`
(n, 2), `image_size` (width, height) and perhaps `scales` and `oris` (degrees). A matches file has a group
name0/name1 for each pair, with the names in either order, and - in place of / (older versions wrote
name0_name1). The group holds `matches0` (n0,), the partner of each keypoint of image 0 or -1, and
`matching_scores0`. Dense matchers write `keypoints0`, `keypoints1` (n, 2), row by row, and `scores`.

(0, 0) is the centre of the top-left pixel, as here. hloc ignores the EXIF orientation of an image.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from matching._common.types import Array
from matching.errors import InputError, one_line
from matching.interchange.arrays import matches_of
from matching.interchange.keypoints import read_features
from matching.interchange.records import KeypointSet, PairMatches
from matching.output.exchange import require_h5py

SPARSE = ("matches0", "matching_scores0")
DENSE = ("keypoints0", "keypoints1", "scores")


class StoredPair(NamedTuple):
    """A pair of a matches file."""

    group: str  # the name of the group in the file
    names: tuple[str, str]  # of its images
    is_dense: bool  # whether the matches are those of a dense matcher


def read_hloc(path: Path, features: Path | None = None) -> Iterator[tuple[str, PairMatches]]:
    """Read the matches of each pair of a matches file."""
    with _open(path) as file, nullcontext(file) if features is None else _open(features) as feature_file:
        names = None if features is None else _feature_names(features, feature_file)
        for group, pair, is_dense in _list_pairs(path, file, names):
            content = {key: file[group][key] for key in (DENSE if is_dense else SPARSE) if key in file[group]}
            sets = () if is_dense else [_keypoints(f"{features}: {n}", feature_file[n]) for n in pair]
            yield group, replace(matches_of(f"{path}: {group}", content, *sets), names=pair, as_stored=True)


def groups_file(path: Path, labels: Mapping[str, tuple[PairMatches, Array]]) -> bytes:
    """Make groups.h5: the matches file without the outliers, with `groups0` (n0,) int32, -1 for none."""
    buffer = io.BytesIO()
    with _open(path) as file, require_h5py().File(buffer, "w") as written:
        for name, (pair, cluster) in labels.items():
            source, target = file[name], written.create_group(name)
            if pair.indices is None:
                kept = cluster >= 0
                for key in ("keypoints0", "keypoints1", "scores"):
                    if key in source:
                        target.create_dataset(key, data=source[key][()][kept])
                target.create_dataset("groups", data=cluster[kept].astype(np.int32))
                continue
            partner = source["matches0"][()]
            groups = np.full(len(partner), -1, np.int32)
            groups[pair.indices[:, 0]] = cluster
            target.create_dataset("matches0", data=np.where(groups >= 0, partner, -1).astype(partner.dtype))
            target.create_dataset("groups0", data=groups)
            if "matching_scores0" in source:
                score = source["matching_scores0"][()]
                target.create_dataset(
                    "matching_scores0", data=np.where(groups >= 0, score, 0).astype(score.dtype)
                )
    return buffer.getvalue()


def pairs_list(labels: Mapping[str, tuple[PairMatches, Array]]) -> bytes:
    """Make the content of hloc's list of the pairs that have an object: two names per line."""
    names = (pair.names for pair, cluster in labels.values() if (cluster >= 0).any())
    return "".join(f"{' '.join(pair)}\n" for pair in names if pair is not None).encode()


def retrieval_list(pairs: Iterable[tuple[str, str]], images: str) -> bytes:
    """Make the content of hloc's list of pairs (query, picture), relative to its folder `images`."""
    lines = [" ".join(_name_in(path, images) for path in pair) + "\n" for pair in pairs]
    return "".join(lines).encode("utf-8", "backslashreplace")


def _name_in(path: str, images: str) -> str:
    name = Path(path)
    if not name.is_relative_to(images):
        raise InputError(f"{path}: is not in {images}, the folder to which hloc's names are relative")
    name = name.relative_to(images)
    if len(name.as_posix().split()) != 1:
        raise InputError(f"{path}: hloc's lists can't hold a name with blanks")
    return name.as_posix()


def _list_pairs(path: Path, file: Any, names: dict[str, str] | None) -> list[StoredPair]:
    """The pairs of a matches file; names: the images of the features, by their names in a matches file."""
    groups = _find_groups(file, lambda item: "matches0" in item or {*DENSE[:2]} <= {*item})
    if not groups:
        if _find_groups(file, lambda item: "keypoints" in item):
            raise InputError(
                f"{path}: holds features, not matches; give the file of matches, and this file as --features"
            )
        raise InputError(f"{path}: holds no matches as hloc writes them")
    return [_stored_pair(path, file[group], group, names) for group in groups]


def _find_groups(file: Any, is_wanted: Callable[[Any], bool]) -> list[str]:
    """The names of the groups in an HDF5 file that have some content."""
    names: list[str] = []

    def visit(name: str, item: Any) -> None:
        if hasattr(item, "keys") and is_wanted(item):
            names.append(name)

    file.visititems(visit)
    return names


def _stored_pair(path: Path, item: Any, group: str, names: dict[str, str] | None) -> StoredPair:
    known = names or {}
    separators = [group.rindex("/")] if "/" in group else []
    separators += [i for i, letter in enumerate(group) if letter == "_"]
    splits = [(group[:i], group[i + 1 :]) for i in separators]
    pair = next((s for s in splits if all(name in known for name in s)), None)
    if pair is not None and "matches0" in item:
        return StoredPair(group, (known[pair[0]], known[pair[1]]), is_dense=False)
    if {*DENSE[:2]} <= {*item}:
        return StoredPair(group, splits[0] if splits else (group, ""), is_dense=True)
    if names is None:
        raise InputError(
            f"{path}: holds indices of keypoints; give hloc's file of features (--features FILE)"
        )
    missing = [name for name in splits[0] if name not in known] if splits else [group]
    raise InputError(f"{path}: {group}: the features hold no keypoints of {missing[0]}")


def _feature_names(path: Path, file: Any) -> dict[str, str]:
    """The images of a features file, by their names in a matches file."""
    names = {name.replace("/", "-"): name for name in _find_groups(file, lambda item: "keypoints" in item)}
    if not names:
        raise InputError(f"{path}: holds no keypoints as hloc writes them")
    return names


def _keypoints(source: str, item: Any) -> KeypointSet:
    content = {key: item[key] for key in ("keypoints", "scales", "oris", "image_size") if key in item}
    if "oris" in content:
        content["oris"] = np.radians(content["oris"])
    return read_features(content, source)


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    h5py = require_h5py()
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (OSError, RuntimeError, KeyError) as error:  # raised by h5py if blocks or objects are missing
        raise InputError(f"{path}: can't be read as HDF5 ({one_line(error)})") from None
