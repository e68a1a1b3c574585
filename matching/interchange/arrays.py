"""Matches of another program in memory: dictionaries, arrays, tensors, OpenCV's lists.

Nothing is imported from OpenCV: a `DMatch` is recognised by its attributes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from matching._common.types import Array
from matching.errors import InputError
from matching.interchange.keypoints import keypoint_sets, one_pair, to_array, to_points
from matching.interchange.records import KeypointSet, PairMatches, Sizes, drop_useless_frames, join_keypoints
from matching.settings import MAX_PIXELS

# Names of the matched points of both images, row by row. The first pair of names that is present is used.
POINT_NAMES = (
    ("matched_kpts0", "matched_kpts1"),  # vismatch
    ("mkpts0_f", "mkpts1_f"),  # LoFTR
    ("mkpts0", "mkpts1"),
    ("xy0", "xy1"),  # matches.npz of this program
    ("points0", "points1"),
    ("kpts0", "kpts1"),
    ("keypoints0", "keypoints1"),  # LoFTR in Kornia and hloc, Transformers
)
DISTANCE_NAMES = ("distance", "distances")  # of scores for which smaller is better
ANY_NAMES = ("score",)  # of scores for which smaller is better unless the user says otherwise
CONFIDENCE_NAMES = (  # of scores for which larger is better
    *("scores", "confidence", "mconf", "matching_scores", "matched_confidences", "certainty"),
    "matching_scores0",
)
SCORE_NAMES = (*ANY_NAMES, *DISTANCE_NAMES, *CONFIDENCE_NAMES)
ACCEPTED_FORMS = (
    "a dictionary of matches, an array (n, 4) of x0, y0, x1, y1 or (n, 2) of indices of keypoints, or a list"
    " of DMatch"
)
BATCH_NAMES = ("batch_indexes", "m_bids", "b_ids")  # of the pair of each match, if there are several pairs


def matches_from(matches: Any, keypoints0: Any = None, keypoints1: Any = None) -> PairMatches:
    """Convert the matches between two images that another program has found.

    Parameters
    ----------
    matches : mapping, array-like, tensor or sequence of cv2.DMatch
        One of the following:

        * a dictionary of LightGlue or SuperGlue: `matches` (n, 2) or `matches0` (n0,), -1 for none; with
          `keypoints0`, `keypoints1` in it or as arguments;
        * a dictionary of LoFTR, RoMa, vismatch or Transformers with the matched points of both images:
          `keypoints0` and `keypoints1`, `mkpts0_f`, `mkpts0`, `matched_kpts0`, `xy0`, ...;
        * a list with one such dictionary, as Transformers returns it;
        * an array (n, 4) or (n, 5): x0, y0, x1, y1 and a score, where smaller is better (for others, see
          `PairMatches.with_scores`);
        * an array (n, 2) of indices of keypoints, or (n0,) of partners, -1 for none;
        * OpenCV's matches: a list of `DMatch`, or a list of lists as `knnMatch` gives it.

        Arrays may be lists or tensors, and may have a batch dimension of one pair.
    keypoints0, keypoints1 : array, mapping or sequence of cv2.KeyPoint, optional
        Keypoints of image 0 and image 1, if `matches` has only their indices: an array (n, 2), LightGlue's
        or hloc's dictionary of features, or OpenCV's list of `KeyPoint`.

    Returns
    -------
    PairMatches
        The matches.

    Raises
    ------
    InputError
        A ValueError: something that is needed is missing, or shapes don't match.

    Examples
    --------
    >>> found = {"matches": [[0, 1], [2, 0]], "scores": [0.75, 0.5]}
    >>> pair = matches_from(found, [[10, 20], [30, 40], [50, 60]], [[1, 2], [3, 4]])
    >>> pair.xy0.tolist(), pair.xy1.tolist(), pair.score.tolist()
    ([[10.0, 20.0], [50.0, 60.0]], [[3.0, 4.0], [1.0, 2.0]], [0.25, 0.5])
    """
    if isinstance(matches, Mapping):
        return _read_mapping(matches, keypoints0, keypoints1)
    if isinstance(matches, list | tuple) and matches and all(isinstance(m, Mapping) for m in matches):
        if len(matches) > 1:
            raise InputError(f"matches: holds dictionaries of {len(matches)} pairs; give that of one pair")
        return _read_mapping(matches[0], keypoints0, keypoints1)
    if isinstance(matches, Sequence):  # OpenCV's list of DMatch, or of lists of them, some of them empty
        flat = list(chain.from_iterable(m if isinstance(m, list | tuple) else (m,) for m in matches))
        if flat and hasattr(flat[0], "queryIdx"):
            return _read_opencv(flat, keypoint_sets(keypoints0, keypoints1, "matches"))
    array = _to_rows(matches)
    if keypoints0 is None and keypoints1 is None:
        return read_table(array, "matches")
    indices, _ = _read_indices(array, "matches")
    return join_keypoints(keypoint_sets(keypoints0, keypoints1, "matches"), indices, None, "matches")


def _to_rows(matches: Any) -> Array:
    """Convert anything except mappings and OpenCV's lists to an array with one or two dimensions."""
    try:
        array = to_array(matches, "matches")
    except InputError:
        raise InputError(f"matches: must be {ACCEPTED_FORMS}; got {type(matches).__name__}") from None
    if array.ndim not in (1, 2) and not (array.ndim == 3 and len(array) == 1):
        hint = "; for matched points of two images, use group_matches(xy0, xy1)" if array.ndim == 3 else ""
        raise InputError(f"matches: must be {ACCEPTED_FORMS}; got an array of shape {array.shape}{hint}")
    return one_pair(array, "matches", 2)


def read_table(table: Array, source: str) -> PairMatches:
    """Read matches from rows x0, y0, x1, y1[, score]; smaller scores are better: table (n, 4) or (n, 5)."""
    if table.ndim != 2 or table.shape[1] not in (4, 5):
        rows = f"{len(table)} row{'' if len(table) == 1 else 's'} of {table.shape[-1]}"
        actual = rows if table.ndim == 2 else f"an array of shape {table.shape}"
        raise InputError(f"{source}: must have 4 or 5 columns, x0 y0 x1 y1 [score], got {actual}")
    table = table.astype(np.float64)
    if table.shape[1] == 5 and len(table) > 2 and (np.diff(table[:, 0]) == 1).all() and table[0, 0] in (0, 1):
        raise InputError(
            f"{source}: must have the columns x0 y0 x1 y1 [score]; the first of its 5 columns seems to number"
            " the rows: leave it out, or name the columns in the first line"
        )
    return PairMatches(table[:, :2], table[:, 2:4], score=table[:, 4] if table.shape[1] == 5 else None)


def _read_mapping(found: Mapping[str, Any], keypoints0: Any, keypoints1: Any) -> PairMatches:
    """Read a dictionary of indices of keypoints or of matched points."""
    found = {name: value for name, value in found.items() if value is not None}
    for batch in BATCH_NAMES:
        if batch in found and len(np.unique(to_array(found[batch], batch))) > 1:
            raise InputError(f"{batch}: holds matches of several pairs; give those of one pair")
    name = next((name for name in ("matches", "matches0") if name in found), None)
    if name is None:
        return _read_points(found)
    keypoints0, keypoints1 = (
        given if given is not None else found.get(f"keypoints{k}", found.get(f"image{k}"))
        for k, given in enumerate((keypoints0, keypoints1))
    )
    array = one_pair(to_array(found[name], name), name, 1 if name == "matches0" else 2)
    indices, rows = _read_indices(array, name)
    score, scores_are = _read_score(found, rows, len(array))
    pair = join_keypoints(keypoint_sets(keypoints0, keypoints1, name), indices, score, name)
    return replace(pair, scores_are=scores_are)


def _read_points(found: Mapping[str, Any]) -> PairMatches:
    """Read a dictionary of the matched points of both images, with their frames and sizes if it has them."""
    names = next((p for p in POINT_NAMES if found.keys() >= {*p}), None)
    if names is None:
        accepted = ", ".join(names[0] for names in POINT_NAMES)
        raise InputError(
            "matches: must have `matches` or `matches0`, or the matched points of both images"
            f" ({accepted}), got {', '.join(map(str, found)) or 'nothing'}"
        )
    xy0, xy1 = (to_points(found[name], name) for name in names)
    if len(xy0) != len(xy1):
        raise InputError(
            f"{names[0]} and {names[1]} must be matched row by row, got {len(xy0)} and {len(xy1)} points"
            " and no `matches`"
        )
    present = [k for k in range(2) if f"frames{k}" in found]
    if len(present) == 1:
        raise InputError(f"frames{1 - present[0]}: must be given if frames{present[0]} is")
    frames = [to_array(found[f"frames{k}"], f"frames{k}") for k in present]
    for k in (k for k in present if frames[k].shape != (len(xy0), 2, 2)):
        raise InputError(f"frames{k}: must have shape {(len(xy0), 2, 2)}, got {frames[k].shape}")
    useful = drop_useless_frames(*frames) if present else (None, None)
    score, scores_are = _read_score(found, slice(None), len(xy0))
    return PairMatches(xy0, xy1, *useful, score, _read_sizes(found), scores_are=scores_are)


def _read_sizes(found: Mapping[str, Any]) -> Sizes | None:
    """Read the height and width of both images, or return None if the dictionary lacks them."""
    if "sizes" not in found:
        return None
    sizes = to_array(found["sizes"], "sizes")
    if sizes.shape != (2, 2) or not ((sizes >= 1) & (sizes <= MAX_PIXELS.maximum)).all():
        rule = f"((height0, width0), (height1, width1)), each from 1 to {MAX_PIXELS.maximum:.0e} pixels"
        raise InputError(f"sizes: must be {rule}, got {sizes.tolist()}")
    (height0, width0), (height1, width1) = ((int(n) for n in size) for size in sizes)
    return (height0, width0), (height1, width1)


def _read_score(found: Mapping[str, Any], rows: Any, n: int) -> tuple[Array | None, str | None]:
    """Read the scores of `rows` of n (smaller is better), and what they are by their name; None if no scores
    have this length.
    """
    for name in (name for name in SCORE_NAMES if name in found):
        values = to_array(found[name], name)
        values = values.ravel() if values.ndim == 2 and 1 in values.shape else values
        if values.shape == (n,):
            scores: Array = values[rows].astype(np.float64)
            if name in CONFIDENCE_NAMES:
                return 1 - scores, "similarities"
            return scores, "distances" if name in DISTANCE_NAMES else None
    return None, None


def _read_indices(array: Array, name: str) -> tuple[Array, Any]:
    """Read pairs of indices (n, 2) from an array of pairs or of partners, and the rows that hold them."""
    if array.size and (array.dtype.kind == "f" and not (array == np.rint(array)).all()):
        raise InputError(
            f"{name}: must be indices of keypoints, whole numbers, got {array.ravel()[0]}; for matched"
            " points, use group_matches(xy0, xy1)"
        )
    if array.ndim == 2 and array.shape[1] == 2:
        return array.astype(np.int64), slice(None)
    if array.ndim == 2 and array.size:
        raise InputError(f"{name}: must have shape (n, 2) or (n,), got {array.shape}")
    partner = array.ravel().astype(np.int64)
    if (partner < -1).any():
        raise InputError(
            f"{name}: must be -1 or the index of a keypoint, got {partner.min()}: was it written with 16 bits"
            " although there are more than 32,767 keypoints?"
        )
    rows = np.flatnonzero(partner >= 0)
    return np.column_stack([rows, partner[rows]]), rows


def _read_opencv(matches: Sequence[Any], keypoints: tuple[KeypointSet, KeypointSet]) -> PairMatches:
    """Read a list of DMatch."""
    if len({m.imgIdx for m in matches}) > 1:
        raise InputError("matches: holds matches with several train images; give those with one of them")
    indices = np.array([(m.queryIdx, m.trainIdx) for m in matches], np.int64)
    distance = np.array([m.distance for m in matches], np.float64)
    return replace(join_keypoints(keypoints, indices, distance, "matches"), scores_are="distances")


def read_content(source: str | Path, content: Any, *keypoints: KeypointSet) -> PairMatches:
    """Convert the content of a file by `matches_from`; errors begin with the name of the source."""
    try:
        return matches_from(content, *keypoints)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
