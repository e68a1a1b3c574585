"""Results of each stage of a match on a stored input, to detect changes of results.

The input of a stage is the recorded result of the stage before it. So only the stage whose results change
is reported, and differences between processors or OpenCV versions do not affect later stages.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import fields
from importlib.resources import files
from pathlib import Path

import numpy as np
from PIL import Image

from matching.core.config import MatchConfig
from matching.core.description import describe_objects
from matching.core.groups import label_groups, make_group
from matching.core.search import find_pair_candidates, group_candidates
from matching.core.source import describe_picture
from matching.correspondences.candidates import Candidates
from matching.features.extraction import Features
from matching.output.provenance import RESULT_VERSIONS
from matching.pictures.images import make_picture

Arrays = dict[str, np.ndarray]
SIZE = (260, 176)
CONFIG = MatchConfig()
RECORD = Path(__file__).resolve().parents[2] / "tests" / "matching" / "stages.npz"


def compute_stages(known: Mapping[str, np.ndarray], *, from_known: bool) -> dict[str, Arrays]:
    """The results of each stage, from the results `known` of the stage before it, or from those found now."""
    found: dict[str, Arrays] = {}
    for stage, compute in COMPUTE.items():
        told = known if from_known else {**known, **flatten(found)}
        found[stage] = compute(told)
    return found


def flatten(found: Mapping[str, Arrays]) -> Arrays:
    """One mapping, whose names begin with the stage."""
    return {f"{stage}/{name}": array for stage, own in found.items() for name, array in own.items()}


def record(path: Path) -> None:
    """Write the results of all stages, and their numbers."""
    given = {f"input/{k}": np.frombuffer(data, np.uint8) for k, data in enumerate(make_input())}
    numbers = {f"number/{stage}": np.array(number) for stage, number in RESULT_VERSIONS.items()}
    np.savez_compressed(path, **given, **numbers, **flatten(compute_stages(given, from_known=False)))


def find_changes(known: Mapping[str, np.ndarray]) -> list[str]:
    """The stages whose results differ from those recorded.

    The rounding of another processor does not count, nor does a difference in up to 2 % of the features:
    OpenCV finds different features on each generation of processors.
    """
    changed = []
    for stage, arrays in compute_stages(known, from_known=True).items():
        is_equal = _has_same_features if stage == "features" else _is_near
        if not all(is_equal(known.get(f"{stage}/{name}"), array) for name, array in arrays.items()):
            changed.append(stage)
    return changed


def make_input() -> list[bytes]:
    """The page's sample pictures, which have three objects in common, as small files."""
    made = []
    for k in (0, 1):
        file = io.BytesIO()
        sample = files("matching.serve").joinpath(f"static/sample{k}.jpg")
        with sample.open("rb") as stored, Image.open(stored) as image:
            image.resize(SIZE).save(file, "PNG")
        made.append(file.getvalue())
    return made


def _compute_pictures(known: Mapping[str, np.ndarray]) -> Arrays:
    return {str(k): make_picture(known[f"input/{k}"].tobytes()).rgb for k in (0, 1)}


def _compute_features(known: Mapping[str, np.ndarray]) -> Arrays:
    found: Arrays = {}
    for k in (0, 1):
        features = describe_picture(make_picture(known[f"pictures/{k}"]), CONFIG).features
        found |= {f"{k}/{f.name}": getattr(features, f.name) for f in fields(Features)}
        found[f"{k}/descriptors"] = features.descriptors.astype(np.uint16)
    return found


def _compute_candidates(known: Mapping[str, np.ndarray]) -> Arrays:
    sides = [_read_features(known, f"features/{k}/") for k in (0, 1)]
    kinds = zip(("best", "pool"), find_pair_candidates(*sides, CONFIG), strict=True)
    return {
        f"{kind}/{name}": getattr(c, name) for kind, c in kinds for name in ("row0", "row1", "score", "kind")
    }


def _compute_grouping(known: Mapping[str, np.ndarray]) -> Arrays:
    best, pool = (_read_candidates(known, f"candidates/{kind}/") for kind in ("best", "pool"))
    found = group_candidates(best, pool, CONFIG)
    labels = label_groups(len(found.candidates), found.groups)
    kept = labels >= 0
    return {
        "xy0": found.candidates.xy0[kept],
        "xy1": found.candidates.xy1[kept],
        "labels": labels[kept],
        "scores": np.array([group.score for group in found.groups]),
    }


def _compute_objects(known: Mapping[str, np.ndarray]) -> Arrays:
    labels, scores = known["grouping/labels"], known["grouping/scores"]
    members = [np.flatnonzero(labels == k) for k in range(len(scores))]
    groups = list(map(make_group, members, scores.tolist()))
    tolerances = np.full(len(groups), 3.0)
    box = np.array([[0.0, 0.0], np.array(SIZE) - 1.0])
    objects = describe_objects(
        known["grouping/xy0"], known["grouping/xy1"], labels, groups, tolerances, (box, box)
    )
    found: Arrays = {}
    for o in objects:
        for name in ("transform", "outline0", "outline1", "frame1"):
            if (array := getattr(o, name)) is not None:
                found[f"{o.id}/{name}"] = array
    return found


COMPUTE = {
    "pictures": _compute_pictures,
    "features": _compute_features,
    "candidates": _compute_candidates,
    "grouping": _compute_grouping,
    "objects": _compute_objects,
}


def _read_features(known: Mapping[str, np.ndarray], prefix: str) -> Features:
    arrays = {f.name: known[prefix + f.name] for f in fields(Features)}
    return Features(**{**arrays, "descriptors": arrays["descriptors"].astype(np.float32)})


def _read_candidates(known: Mapping[str, np.ndarray], prefix: str) -> Candidates:
    own = {name: known[prefix + name] for name in ("score", "kind", "row0", "row1")}
    for k in (0, 1):
        for name, column in ((f"xy{k}", "xy"), (f"frames{k}", "frames")):
            own[name] = known[f"features/{k}/{column}"][own[f"row{k}"]]
    return Candidates(**own)


def _is_near(known: np.ndarray | None, found: np.ndarray) -> bool:
    if known is None or known.shape != found.shape:
        return False
    if found.dtype.kind != "f":
        return bool(np.array_equal(known, found))
    return bool(np.allclose(known, found, rtol=1e-6, atol=1e-6, equal_nan=True))


def _has_same_features(known: np.ndarray | None, found: np.ndarray) -> bool:
    if known is None or known.shape[1:] != found.shape[1:]:
        return False
    rows, own = ({row.tobytes() for row in np.round(a.astype(float), 3)} for a in (known, found))
    return len(rows & own) >= 0.98 * max(len(rows), len(own))
