"""hloc's files: features.h5 with the keypoints of each image, matches.h5 with the matches of each pair.

A features file has a group for each image, under the name of the image's file. The group holds `keypoints`
(n, 2), `image_size` (width, height) and perhaps `scales` and `oris` (degrees). A matches file has a group
name0/name1 for each pair, with the names in either order, and - in place of / (older versions wrote
name0_name1). The group holds `matches0` (n0,), the partner of each keypoint of image 0 or -1, and
`matching_scores0`. Dense matchers write `keypoints0`, `keypoints1` (n, 2), row by row, and `scores`.

(0, 0) is the centre of the top-left pixel, as here. hloc ignores the EXIF orientation of an image.
"""

import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from matching._common.types import Array
from matching.errors import InputError
from matching.interchange.arrays import pair_indices
from matching.interchange.records import (
    KeypointSet,
    PairMatches,
    frames_from_angles,
    join_keypoints,
    score_from_confidence,
    to_size,
)
from matching.output.exchange import require_h5py


@dataclass(frozen=True)
class StoredPair:
    """A pair of a matches file."""

    group: str  # the name of the group in the file
    names: tuple[str, str]  # of its images
    is_dense: bool  # whether the matches are those of a dense matcher


def read_hloc(path: Path, features: Path | None = None) -> Iterator[tuple[str, PairMatches]]:
    """Read the matches of each pair of a matches file."""
    with _open(path) as file:
        if features is None:
            for pair in _pairs(path, file, None):
                yield pair.group, _dense_matches(f"{path}: {pair.group}", file[pair.group], pair.names)
            return
        with _open(features) as feature_file:
            names = _feature_names(features, feature_file)
            for pair in _pairs(path, file, names):
                source = f"{path}: {pair.group}"
                if pair.is_dense:
                    yield pair.group, _dense_matches(source, file[pair.group], pair.names)
                else:
                    sets = (_keypoints(features, feature_file, name) for name in pair.names)
                    keypoints = next(sets), next(sets)
                    yield pair.group, _sparse_matches(source, file[pair.group], keypoints, pair.names)


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


def _pairs(path: Path, file: Any, names: dict[str, list[str]] | None) -> list[StoredPair]:
    """The pairs of a matches file; names: the images of the features, by their names in a matches file."""
    groups, has_keypoints = [], False

    def visit(name: str, item: Any) -> None:
        nonlocal has_keypoints
        if not hasattr(item, "keys"):
            return
        has_keypoints |= "keypoints" in item
        if "matches0" in item or {"keypoints0", "keypoints1"} <= set(item):
            groups.append(name)

    file.visititems(visit)
    if not groups:
        if has_keypoints:
            raise InputError(
                f"{path}: holds features, not matches; give the file of matches, and this file as --features"
            )
        raise InputError(f"{path}: holds no matches as hloc writes them")
    return [_stored_pair(path, file[group], group, names) for group in groups]


def _stored_pair(path: Path, item: Any, group: str, names: dict[str, list[str]] | None) -> StoredPair:
    can_be_dense = {"keypoints0", "keypoints1"} <= set(item)
    known = {} if names is None else names
    separators = [group.rindex("/")] if "/" in group else []
    separators += [i for i, letter in enumerate(group) if letter == "_"]
    splits = [(group[:i], group[i + 1 :]) for i in separators]
    pair = next((s for s in splits if all(name in known for name in s)), None)
    if pair is not None and "matches0" in item:
        name0, name1 = (_only(path, known[name], name) for name in pair)
        return StoredPair(group, (name0, name1), is_dense=False)
    if can_be_dense:
        return StoredPair(group, splits[0] if splits else (group, ""), is_dense=True)
    if names is None:
        raise InputError(
            f"{path}: holds indices of keypoints; give hloc's file of features (--features FILE)"
        )
    missing = [name for name in splits[0] if name not in known] if splits else [group]
    raise InputError(f"{path}: {group}: the features hold no keypoints of {missing[0]}")


def _only(path: Path, names: list[str], name: str) -> str:
    if len(names) > 1:
        raise InputError(
            f"{path}: {name} could mean {' or '.join(sorted(names))}; rename one of these images"
        )
    return names[0]


def _feature_names(path: Path, file: Any) -> dict[str, list[str]]:
    """The images of a features file, by their names in a matches file."""
    names = defaultdict(list)

    def visit(name: str, item: Any) -> None:
        if hasattr(item, "keys") and "keypoints" in item:
            names[name.replace("/", "-")].append(name)

    file.visititems(visit)
    if not names:
        raise InputError(f"{path}: holds no keypoints as hloc writes them")
    return dict(names)


def _keypoints(path: Path, file: Any, name: str) -> KeypointSet:
    item, source = file[name], f"{path}: {name}"
    xy = _array(item, "keypoints", source)
    if xy.ndim != 2 or (xy.shape[1] < 2 and len(xy)):
        raise InputError(f"{source}: keypoints must have shape (n, 2), got {xy.shape}")
    xy = xy[:, :2].astype(np.float64)
    frames: Array | None = None
    size: tuple[int, int] | None = None
    if "scales" in item and "oris" in item:
        scales, degrees = (_array(item, key, source).ravel().astype(np.float64) for key in ("scales", "oris"))
        if len(scales) == len(degrees) == len(xy):
            frames = frames_from_angles(scales, np.radians(degrees))
    if "image_size" in item:
        numbers = _array(item, "image_size", source).ravel()
        size = to_size(*numbers) if len(numbers) == 2 else None
    return KeypointSet(xy, frames, size)


def _sparse_matches(
    source: str, item: Any, keypoints: tuple[KeypointSet, KeypointSet], names: tuple[str, str]
) -> PairMatches:
    indices, rows = pair_indices(_array(item, "matches0", source).ravel(), f"{source}: matches0")
    score = None
    if "matching_scores0" in item:
        scores = _array(item, "matching_scores0", source).ravel()
        if len(scores) <= rows.max(initial=-1):
            raise InputError(
                f"{source}: matching_scores0 must be as long as matches0, got {len(scores)} scores"
            )
        score = score_from_confidence(scores[rows])
    return replace(join_keypoints(keypoints, indices, score, source), names=names, as_stored=True)


def _dense_matches(source: str, item: Any, names: tuple[str, str]) -> PairMatches:
    xy0, xy1 = (_array(item, f"keypoints{k}", source).astype(np.float64) for k in range(2))
    if xy0.shape != xy1.shape or xy0.shape[1:] != (2,):
        raise InputError(
            f"{source}: keypoints0 and keypoints1 must both have shape (n, 2), got {xy0.shape}"
            f" and {xy1.shape}"
        )
    score = None
    if "scores" in item:
        score = score_from_confidence(_array(item, "scores", source).ravel())
    return PairMatches(xy0, xy1, score=score, names=names, as_stored=True)


def _array(item: Any, key: str, source: str) -> Array:
    data = item[key]
    if not hasattr(data, "dtype") or data.dtype.kind not in "biuf":
        raise InputError(f"{source}: {key} must be an array of numbers")
    return np.asarray(data[()])


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    h5py = require_h5py()
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        reason = error.strerror if error.errno else None
        raise InputError(
            f"{path}: " + (f"can't be read ({reason})" if reason else "is not an HDF5 file")
        ) from None
    try:
        with file:
            yield file
    except MemoryError:
        raise InputError(f"{path}: there is not enough memory for it") from None
    except (OSError, RuntimeError, KeyError) as error:  # raised by h5py if blocks or objects are missing
        raise InputError(f"{path}: is damaged ({str(error).splitlines()[0]})") from None
