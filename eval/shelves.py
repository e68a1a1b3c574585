"""Products on shelf photographs: which are found, where, and how often.

Notation: a scene is a photograph of a shelf, a model a picture of one product's front. An instance is where
a scene shows the model: (4, 2) corners in pixels of the scene, in alternative versions where the printed
artwork ends elsewhere than the box.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from skimage.measure import points_in_poly

from eval.tables import markdown_table
from matching import MatchConfig
from matching.images import read_picture
from matching.pipeline import describe_picture, match_described
from matching.threads import default_threads

INSIDE = 0.8  # share of an object's matches in an instance that makes it this instance's

NEGATIVES = {"clean": "clean negatives rejected", "hard": "hard negatives rejected"}


@dataclass(frozen=True, eq=False)
class ShelfPair:
    """A model and a scene; `instances` is empty where the scene does not show it.

    kind: "shown", "clean" (nothing of the brand in the scene) or "hard" (a relative is there).
    """

    model: Path
    scene: Path
    kind: str
    instances: tuple[tuple[NDArray[np.float64], ...], ...] = ()


def read_shelves(data: Path) -> list[ShelfPair]:
    """The pairs of `data`/scenes/labels.json: certain instances of the exact print, and pairs without any.

    Raises ValueError where the file is missing or does not hold what it should.
    """
    path = data / "scenes" / "labels.json"
    try:
        labels = json.loads(path.read_text())
        scenes = sorted(labels["scenes"].items())
        pairs = [pair for scene, entry in scenes for pair in _shown(data, scene, entry)]
        pairs += [ShelfPair(data / n["model"], data / n["scene"], n["kind"]) for n in labels["negatives"]]
    except FileNotFoundError:
        raise ValueError(f"{path} must hold the labels, found no such file") from None
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} must hold scenes with instances, and negatives: {error!r}") from None
    return pairs


def _shown(data, scene, entry):
    by_model: dict[str, list] = {}
    for instance in entry["instances"]:
        certain = instance["variant"] == "exact" and instance["source"] == "sift"
        if certain and instance["model"] not in entry["uncertain"]:
            quads = (instance["quad"], instance["quad_art"])
            alternatives = tuple(np.array(q, np.float64).reshape(4, 2) for q in quads if q)
            by_model.setdefault(instance["model"], []).append(alternatives)
    return [
        ShelfPair(data / model, data / scene, "shown", tuple(instances))
        for model, instances in sorted(by_model.items())
    ]


def owners(pair: ShelfPair, xy1: NDArray, cluster: NDArray) -> list[int]:
    """For each object the instance that holds at least 80 % of its matches, -1 for none.

    xy1 (m, 2) are pixels of the scene, cluster (m,) the object of each match, -1 for an outlier.
    """
    found = []
    for k in range(cluster.max(initial=-1) + 1):
        points = xy1[cluster == k]
        shares = [
            np.mean(np.any([points_in_poly(points, quad) for quad in alternatives], axis=0))
            for alternatives in pair.instances
        ]
        best = int(np.argmax(shares)) if shares else -1
        found.append(best if shares and shares[best] >= INSIDE else -1)
    return found


def measure(pairs: list[ShelfPair], variants: dict[str, MatchConfig]) -> Iterator[dict]:
    """A row for each variant and pair: objects, instances in all and those with an object of their own."""

    @cache
    def described(path, features):
        config = next(c for c in variants.values() if c.features == features)
        return describe_picture(read_picture(path), config, default_threads())

    for pair in pairs:
        for name, config in variants.items():
            both = (described(path, config.features) for path in (pair.model, pair.scene))
            result = match_described(*both, config)
            own = set(owners(pair, result.xy1, result.cluster)) - {-1}
            yield {
                "variant": name,
                "kind": pair.kind,
                "pair": f"{pair.model.stem} in {pair.scene.stem}",
                "objects": len(result.objects),
                "instances": len(pair.instances),
                "found": len(own),
            }


def table(rows: list[dict]) -> str:
    """A line for each variant; negative pairs that give no object are rejected."""
    negatives = [kind for kind in NEGATIVES if any(row["kind"] == kind for row in rows)]
    head = ("", "pairs found", "instances with an object of their own", *map(NEGATIVES.get, negatives))
    lines = []
    for name in dict.fromkeys(row["variant"] for row in rows):
        own = [row for row in rows if row["variant"] == name]
        shown = [row for row in own if row["kind"] == "shown"]
        hit = sum(row["found"] > 0 for row in shown)
        found, instances = (sum(row[column] for row in shown) for column in ("found", "instances"))
        objects = [[row["objects"] for row in own if row["kind"] == kind] for kind in negatives]
        rejected = [f"{n.count(0)} of {len(n)}" for n in objects]
        lines.append([name, f"{hit} of {len(shown)}", f"{found} of {instances}", *rejected])
    return markdown_table(head, lines)
