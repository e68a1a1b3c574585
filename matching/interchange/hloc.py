"""hloc's files: features.h5 with the keypoints of each image, matches.h5 with the matches of each pair.

A features file has a group for each image, under the name of the image's file. The group holds `keypoints`
(n, 2), `image_size` (width, height) and perhaps `scales` and `oris` (degrees). A matches file has a group
name0/name1 for each pair, with the names in either order, and - in place of / (older versions wrote
name0_name1). The group holds `matches0` (n0,), the partner of each keypoint of image 0 or -1, and
`matching_scores0`. Dense matchers write `keypoints0`, `keypoints1` (n, 2), row by row, and `scores`.

(0, 0) is the centre of the top-left pixel, as here. hloc ignores the EXIF orientation of an image.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from matching.errors import InputError, one_line
from matching.interchange.arrays import read_content
from matching.interchange.keypoints import read_features
from matching.interchange.records import Grouped, KeypointSet, PairMatches
from matching.output.exchange import check_name, open_hdf5, require_h5py

SPARSE = {"matches0": -1, "matching_scores0": 0}  # the arrays of a pair, and the values that mean "no match"
DENSE = ("keypoints0", "keypoints1", "scores")


def read_hloc(path: Path, features: Path | None = None) -> Iterator[tuple[str, PairMatches]]:
    """Read the matches of each pair of a matches file."""
    with _open(path) as file, nullcontext(file) if features is None else _open(features) as feature_file:
        stored = _find_groups(feature_file, lambda item: "keypoints" in item) if features else []
        if features and not stored:
            raise InputError(f"{features}: holds no keypoints as hloc writes them")
        images = {name.replace("/", "-"): name for name in stored}  # by their names in a matches file
        for group in _list_groups(path, file):
            names, is_dense = _name_images(path, group, file[group], images)
            content = {key: file[group][key] for key in (DENSE if is_dense else SPARSE) if key in file[group]}
            sets = () if is_dense else [_read_keypoints(f"{features}: {n}", feature_file[n]) for n in names]
            pair = read_content(f"{path}: {group}", content, *sets)
            yield group, replace(pair, names=names, as_stored=True)


def write_groups(path: Path, target: Path, labels: Mapping[str, Grouped]) -> None:
    """Write groups.h5: the matches file without the outliers, with `groups0` (n0,) int32, -1 for none."""
    with _open(path) as file, open_hdf5(target) as copy:
        for name, (pair, cluster) in labels.items():
            pair_content, group = file[name], copy.require_group(name)
            if pair.indices is None:
                for key in (key for key in DENSE if key in pair_content):
                    group[key] = pair_content[key][()][cluster >= 0]
                group["groups"] = cluster[cluster >= 0].astype(np.int32)
            else:
                groups = np.full(len(pair_content["matches0"]), -1, np.int32)
                groups[pair.indices[:, 0]] = cluster
                group["groups0"] = groups
                for key in (key for key in SPARSE if key in pair_content):
                    values = pair_content[key][()]
                    group[key] = np.where(groups >= 0, values, SPARSE[key]).astype(values.dtype)


def pairs_list(labels: Mapping[str, Grouped]) -> bytes:
    """Make the content of hloc's list of the pairs that have an object: two names per line."""
    names = (pair.names for pair, cluster in labels.values() if (cluster >= 0).any())
    return "".join(f"{' '.join(pair)}\n" for pair in names if pair is not None).encode()


def retrieval_list(pairs: Iterable[tuple[str, str]], images: str) -> bytes:
    """Make the content of hloc's list of pairs (query, picture), relative to its folder `images`."""
    lines: list[str] = []
    for pair in pairs:
        for path in (path for path in pair if not Path(path).is_relative_to(images)):
            raise InputError(f"{path}: is not in {images}, the folder to which hloc's names are relative")
        names = [Path(path).relative_to(images).as_posix() for path in pair]
        for name in names:
            check_name(name, for_hloc=True)
        lines.append(" ".join(names) + "\n")
    return "".join(lines).encode()


def _list_groups(path: Path, file: Any) -> list[str]:
    """List the names of the groups of a matches file that hold the matches of a pair."""
    groups = _find_groups(file, lambda item: "matches0" in item or {*DENSE[:2]} <= {*item})
    if not groups:
        if _find_groups(file, lambda item: "keypoints" in item):
            raise InputError(
                f"{path}: holds features, not matches; give the file of matches, and this file as --features"
            )
        raise InputError(f"{path}: holds no matches as hloc writes them")
    return groups


def _find_groups(file: Any, has_content: Callable[[Any], bool]) -> list[str]:
    """Find the groups of an HDF5 file, at any depth, for which `has_content` is true."""
    names: list[str] = []

    def visit(name: str, item: Any) -> None:
        if hasattr(item, "keys") and has_content(item):
            names.append(name)

    file.visititems(visit)
    return names


def _name_images(path: Path, group: str, item: Any, images: dict[str, str]) -> tuple[tuple[str, str], bool]:
    """Find the names of the images of a pair, and whether its matches are those of a dense matcher.

    `images` has the names of the images of the features, if any, by their names in a matches file.
    """
    separators = [group.rindex("/")] if "/" in group else []
    separators += [i for i, letter in enumerate(group) if letter == "_"]
    splits = [(group[:i], group[i + 1 :]) for i in separators]
    pair = next((s for s in splits if {*s} <= images.keys()), None)
    if pair is not None and "matches0" in item:
        return (images[pair[0]], images[pair[1]]), False
    if {*DENSE[:2]} <= {*item}:
        return splits[0] if splits else (group, ""), True
    if not images:
        raise InputError(
            f"{path}: holds indices of keypoints; give hloc's file of features (--features FILE)"
        )
    missing = [name for name in splits[0] if name not in images] if splits else [group]
    raise InputError(f"{path}: {group}: the features hold no keypoints of {missing[0]}")


def _read_keypoints(source: str, item: Any) -> KeypointSet:
    """Read the keypoints of an image; hloc's orientations are degrees."""
    content = {key: item[key] for key in ("keypoints", "scales", "oris", "image_size") if key in item}
    if "oris" in content:
        content["oris"] = np.radians(content["oris"])
    return read_features(content, source)


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """Open an HDF5 file for reading, and turn errors of h5py into InputError."""
    h5py = require_h5py()
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (OSError, RuntimeError, KeyError) as error:  # raised by h5py if blocks or objects are missing
        raise InputError(f"{path}: can't be read as HDF5 ({one_line(error)})") from None
