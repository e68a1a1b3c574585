"""Are products found on shelf photographs that show them, and rejected on others?

With --scenes, the photographs are matched with each other instead, which writes shelves_scenes.csv. The
folder of the data holds scenes/labels.json and the pictures that it names.

Notation: a scene is a photograph of a shelf, a model a picture of one product's front. An instance is a place
where a scene shows the model: (4, 2) corners in pixels of the scene, with alternatives if the edge of the
printed artwork is not the edge of the box. Models are matched with scenes (`measure`) and scenes with scenes
(`measure_scenes`).
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray
from skimage.measure import points_in_poly
from tqdm import tqdm

from eval.common.options import add_options
from eval.common.tables import format_markdown, write_csv
from matching.drivers.pair import match_pair
from matching.drivers.result import Result
from matching.grouping.methods import MANY
from matching.pictures.images import read_picture
from matching.searches.source import ImageSource

INSIDE = 0.8  # share of an object's matches in an instance that makes it this instance's
LEAST = 3  # matches that an object must have in an instance to reach it; fewer may be stray matches
SAME = 0.5  # least intersection over union of a frame and the instance that it shows
SCENE_COLUMNS = (
    *("pair", "objects", "spanning", "labelled", "same_product", "other_product"),
    *("instance_pairs", "found", "seconds"),
)
NEGATIVES = {"clean": "clean negatives rejected", "hard": "hard negatives rejected"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "data", "quiet", out="shelves")
    parser.add_argument(
        "--scenes", action="store_true", help="match scenes with scenes instead of models with scenes"
    )


def run(args: argparse.Namespace) -> None:
    if args.scenes:
        scenes = read_scenes(args.data)
        steps, total = measure_scenes(scenes), len(scenes) * (len(scenes) - 1) // 2
        rows = list(tqdm(steps, total=total, desc="pairs", disable=args.quiet))
        write_csv(args.out / "shelves_scenes.csv", SCENE_COLUMNS, rows)
        print(scenes_summary(rows))
        return
    pairs = read_shelves(args.data)
    rows = list(tqdm(measure(pairs), total=len(pairs), desc="pairs", disable=args.quiet))
    for row in rows:
        if row["found"] < row["instances"] or row["objects"] > row["found"]:
            print(f"{row['pair']}: {row['found']} of {row['instances']}, {row['objects']} objects")
    print(format_table(rows))


@dataclass(frozen=True, eq=False)
class ShelfPair:
    """A model and a scene; `instances` is empty if the scene does not show it.

    kind: "shown", "clean" (nothing of the brand in the scene) or "hard" (a similar product is there).
    """

    model: Path
    scene: Path
    kind: str
    instances: tuple[tuple[NDArray[np.float64], ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Instance:
    """One occurrence of a product in a scene.

    model, variant: the product and its print; `quads`: alternative corners, (4, 2) each.
    """

    model: str
    variant: str
    quads: tuple[NDArray[np.float64], ...]


def read_shelves(data: Path) -> list[ShelfPair]:
    """The pairs of `data`/scenes/labels.json: with instances that surely have the exact print, or none.

    Raises ValueError if the file is missing or does not hold what it should.
    """
    return _from_labels(
        data,
        lambda labels: [
            *(pair for scene, entry in _scenes(labels) for pair in _shown(data, scene, entry)),
            *(ShelfPair(data / n["model"], data / n["scene"], n["kind"]) for n in labels["negatives"]),
        ],
    )


def read_scenes(data: Path) -> dict[Path, list[Instance]]:
    """All labelled instances of each scene of `data`/scenes/labels.json. Raises ValueError as `read_shelves`
    does.
    """
    return _from_labels(
        data,
        lambda labels: {
            data / scene: [Instance(i["model"], i["variant"], _quads(i)) for i in entry["instances"]]
            for scene, entry in _scenes(labels)
        },
    )


def read_uncertain(data: Path) -> dict[str, set[str]]:
    """{name of a scene: the products whose presence there could not be decided}."""
    return _from_labels(
        data,
        lambda labels: {
            Path(scene).name: {Path(model).stem for model in entry["uncertain"]}
            for scene, entry in _scenes(labels)
        },
    )


def _from_labels(data, read):
    path = data / "scenes" / "labels.json"
    try:
        return read(json.loads(path.read_text()))
    except FileNotFoundError:
        raise ValueError(f"{path} must hold the labels, found no such file") from None
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} must hold scenes with instances, and negatives: {error!r}") from None


def _scenes(labels):
    return sorted(labels["scenes"].items())


def _quads(instance):
    return tuple(np.array(q, np.float64).reshape(4, 2) for q in (instance["quad"], instance["quad_art"]) if q)


def _shown(data, scene, entry):
    by_model: dict[str, list] = {}
    for instance in entry["instances"]:
        certain = instance["variant"] == "exact" and instance["source"] == "sift"
        if certain and instance["model"] not in entry["uncertain"]:
            by_model.setdefault(instance["model"], []).append(_quads(instance))
    return [
        ShelfPair(data / model, data / scene, "shown", tuple(instances))
        for model, instances in sorted(by_model.items())
    ]


def find_owners(pair: ShelfPair, xy1: NDArray, cluster: NDArray) -> list[int]:
    """For each object, the instance that holds at least 80 % of its matches; -1 if there is none.

    xy1 (m, 2) are pixels of the scene, cluster (m,) the object of each match, -1 for an outlier.
    """
    found = []
    for k in range(cluster.max(initial=-1) + 1):
        points = xy1[cluster == k]
        shares = [np.mean(_within(points, alternatives)) for alternatives in pair.instances]
        best = int(np.argmax(shares)) if shares else -1
        found.append(best if shares and shares[best] >= INSIDE else -1)
    return found


def _within(points, quads):
    return np.any([points_in_poly(points, quad) for quad in quads], axis=0)


def measure(pairs: list[ShelfPair]) -> Iterator[dict]:
    """A row for each pair: objects, instances, and how many of these have their own object."""
    for pair in pairs:
        result = match_pair(_open(pair.model), _open(pair.scene), MANY)
        own = set(find_owners(pair, result.xy1, result.cluster)) - {-1}
        yield {
            "kind": pair.kind,
            "pair": f"{pair.model.stem} in {pair.scene.stem}",
            "objects": len(result.objects),
            "instances": len(pair.instances),
            "found": len(own),
        }


@cache
def _open(path: Path) -> ImageSource:
    return ImageSource(read_picture(path))


def find_standing(frame: NDArray, instances: list[Instance]) -> int:
    """The instance that a frame (4, 2) shows: the intersection over union is at least `SAME`; -1 for none."""
    shape = shapely.make_valid(shapely.Polygon(frame))
    overlaps = [
        max(
            shape.intersection(other).area / shape.union(other).area
            for other in map(shapely.Polygon, instance.quads)
        )
        for instance in instances
    ]
    best = int(np.argmax(overlaps)) if overlaps else -1
    return best if overlaps and overlaps[best] >= SAME else -1


def format_table(rows: list[dict]) -> str:
    """Sums over the pairs; negative pairs that give no object are rejected."""
    shown = [row for row in rows if row["kind"] == "shown"]
    hit = sum(row["found"] > 0 for row in shown)
    found, instances = (sum(row[column] for row in shown) for column in ("found", "instances"))
    cells = {
        "pairs found": f"{hit} of {len(shown)}",
        "instances with an object of their own": f"{found} of {instances}",
    }
    for kind, title in NEGATIVES.items():
        objects = [row["objects"] for row in rows if row["kind"] == kind]
        cells[title] = f"{objects.count(0)} of {len(objects)}"
    return format_markdown(cells, [cells.values()])


def find_instances(xy: NDArray, instances: list[Instance]) -> NDArray[np.int64]:
    """The instance in which each point (n, 2) lies; of several, the one with the nearest centre; or -1."""
    found, nearest = np.full(len(xy), -1), np.full(len(xy), np.inf)
    for k, instance in enumerate(instances):
        distance = np.linalg.norm(xy - instance.quads[0].mean(axis=0), axis=1)
        here = _within(xy, instance.quads) & (distance < nearest)
        found[here], nearest[here] = k, distance[here]
    return found


def compare_scenes(result: Result, scenes: tuple[list[Instance], list[Instance]]) -> dict:
    """Compare the objects found in two scenes with the products in them.

    Returns
    -------
    dict
        objects : found in all
        spanning : with `LEAST` matches in each of several instances, in either scene
        labelled : with matches that lie in an instance in both scenes
        same_product : of these, those in which most such matches join instances of one product
        other_product : the others of these
        instance_pairs : pairs of instances of the same print, one in each scene
        found : of these, those joined by at least `LEAST` matches of one object
    """
    at = [find_instances(xy, own) for xy, own in zip((result.xy0, result.xy1), scenes, strict=True)]
    counts: Counter = Counter()
    found: set = set()
    for k in range(len(result.objects)):
        ends = [a[result.cluster == k] for a in at]
        counts["spanning"] += any(np.sum(np.bincount(end[end >= 0]) >= LEAST) > 1 for end in ends)
        joined = Counter(zip(*(end.tolist() for end in ends), strict=True))
        joined = {pair: n for pair, n in joined.items() if min(pair) >= 0}
        found |= {pair for pair, n in joined.items() if n >= LEAST}
        if joined:
            same = sum(n for (i, j), n in joined.items() if scenes[0][i].model == scenes[1][j].model)
            counts["same_product" if 2 * same > sum(joined.values()) else "other_product"] += 1
    alike = {
        (i, j)
        for i, a in enumerate(scenes[0])
        for j, b in enumerate(scenes[1])
        if (a.model, a.variant) == (b.model, b.variant)
    }
    return {
        "objects": len(result.objects),
        **{name: counts[name] for name in ("spanning", "same_product", "other_product")},
        "labelled": counts["same_product"] + counts["other_product"],
        "instance_pairs": len(alike),
        "found": len(found & alike),
    }


def measure_scenes(scenes: dict[Path, list[Instance]]) -> Iterator[dict]:
    """A row (SCENE_COLUMNS) for each pair of scenes."""
    for a, b in combinations(scenes, 2):
        both = _open(a), _open(b)
        start = time.perf_counter()
        result = match_pair(*both, MANY)
        seconds = round(time.perf_counter() - start, 2)
        row = compare_scenes(result, (scenes[a], scenes[b]))
        yield {"pair": f"{a.stem} {b.stem}", **row, "seconds": seconds}


def scenes_summary(rows: Iterable[dict]) -> str:
    """Sums over all pairs, in words."""
    rows = list(rows)
    total = {name: sum(row[name] for row in rows) for name in SCENE_COLUMNS[1:-1]}
    return (
        "{objects} objects in {pairs} pairs, {spanning} span several products;\n"
        "of {labelled} with labelled matches {same_product} join the same product, {other_product} different "
        "ones;\n{found} of {instance_pairs} pairs of instances found"
    ).format(pairs=len(rows), **total)
