"""Products on shelf photographs: which ones are found, where, and how often.

Notation: a scene is a photograph of a shelf, a model a picture of one product's front. An instance is a place
where a scene shows the model: (4, 2) corners in pixels of the scene, with alternatives if the edge of the
printed artwork is not the edge of the box. Models are matched with scenes (`measure`) and scenes with scenes
(`measure_scenes`).
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray
from skimage.measure import points_in_poly

from eval.common.tables import format_markdown
from matching import MatchConfig, MatchResult
from matching._common.threads import default_threads
from matching.objects.copies import count_copies
from matching.pictures.images import read_picture
from matching.pipelines.description import describe_picture
from matching.pipelines.pair import match_described

INSIDE = 0.8  # share of an object's matches in an instance that makes it this instance's
LEAST = 3  # matches that an object must have in an instance to reach it; fewer may be stray matches
SAME = 0.5  # least intersection over union of a frame and the instance that it shows
ASIDE = 0.25  # sizes of a product by which the places of neighbours may differ between scenes
COVERED = 0.5  # share of an instance inside an outline that makes it covered
SCENE_COLUMNS = (
    *("pair", "objects", "spanning", "side_by_side", "labelled", "same_product", "other_product"),
    *("instance_pairs", "found", "over_unmatched", "seconds"),
)
COUNTED = ("spanning", "side_by_side", "same_product", "other_product", "over_unmatched")

NEGATIVES = {"clean": "clean negatives rejected", "hard": "hard negatives rejected"}


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


def measure(pairs: list[ShelfPair], variants: dict[str, MatchConfig]) -> Iterator[dict]:
    """A row for each variant and pair: objects, instances, and how many of these have their own object."""

    @cache
    def described(path, features):
        config = next(c for c in variants.values() if c.features == features)
        return describe_picture(read_picture(path), config, default_threads())

    for pair in pairs:
        for name, config in variants.items():
            both = (described(path, config.features) for path in (pair.model, pair.scene))
            result = match_described(*both, config)
            own = set(find_owners(pair, result.xy1, result.cluster)) - {-1}
            yield {
                "variant": name,
                "kind": pair.kind,
                "pair": f"{pair.model.stem} in {pair.scene.stem}",
                "objects": len(result.objects),
                "instances": len(pair.instances),
                "found": len(own),
            }


def measure_counts(data: Path, config: MatchConfig) -> Iterator[dict]:
    """A row for each product and scene: copies counted, and how many are right by the labels.

    exact : copies of the exact print in the scene, all of which are to be counted
    promo : copies with another print, each of which may be counted or not
    counted, strangers : copies counted, and how many of these are at places without such a copy
    Products whose presence in a scene could not be decided are left out.
    """
    scenes = _from_labels(data, lambda labels: dict(_scenes(labels)))
    models = sorted({i["model"] for entry in scenes.values() for i in entry["instances"]})
    pictures = {name: read_picture(data / name) for name in (*models, *scenes)}
    described = {
        name: describe_picture(picture, config, default_threads()) for name, picture in pictures.items()
    }
    for (scene, entry), model in product(scenes.items(), models):
        if model in entry["uncertain"]:
            continue
        both = pictures[model], pictures[scene]
        objects = match_described(described[model], described[scene], config, pictures=both).objects
        own = [Instance(model, i["variant"], _quads(i)) for i in entry["instances"] if i["model"] == model]
        frames = [objects[ids[0]].frame1 for ids in count_copies(objects).copies]
        at = [find_standing(frame, own) for frame in frames]
        n_exact = sum(instance.variant == "exact" for instance in own)
        found = sum(own[k].variant == "exact" for k in set(at) - {-1})
        yield {
            "pair": f"{Path(model).stem} in {Path(scene).stem}",
            "exact": n_exact,
            "promo": len(own) - n_exact,
            "counted": len(frames),
            "missed": n_exact - found,
            "strangers": at.count(-1),
            "twice": len(at) - at.count(-1) - len(set(at) - {-1}),
        }


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


def format_counts(rows: Iterable[dict]) -> str:
    """Sums over all pairs, in words."""
    rows = list(rows)
    wrong = [row for row in rows if row["missed"] or row["strangers"] or row["twice"]]
    under, over = (
        sum(any(row[name] for name in names) for row in wrong)
        for names in (("missed",), ("strangers", "twice"))
    )
    total = {name: sum(row[name] for row in rows) for name in ("exact", "missed", "strangers", "twice")}
    return (
        f"{len(rows) - len(wrong)} of {len(rows)} counts right, {under} under and {over} over;\n"
        "{exact} copies: {missed} missed, {twice} counted twice, {strangers} others counted".format(**total)
    )


def measure_ranking(data: Path, config: MatchConfig) -> Iterator[dict]:
    """A row for each scene with products that are surely there: how absent products rank against these.

    Every picture of a product is matched with the scene. A pair of a product that is surely in the scene and
    one that is not is right if the first ranks higher; by_score counts the right pairs by the objects'
    scores, by_rank by `MatchedObject.rank`.
    """
    scenes = _from_labels(data, lambda labels: dict(_scenes(labels)))
    models = sorted({i["model"] for entry in scenes.values() for i in entry["instances"]})
    described = {
        name: describe_picture(read_picture(data / name), config, default_threads())
        for name in (*models, *scenes)
    }
    for scene, entry in scenes.items():
        there = {i["model"] for i in entry["instances"]}
        certain = {pair.model for pair in _shown(data, scene, entry)}
        found = {name: match_described(described[name], described[scene], config).objects for name in models}
        row = {"scene": Path(scene).stem, "comparisons": 0, "by_score": 0, "by_rank": 0}
        for a, b in product(models, models):
            if data / a in certain and b not in there:
                row["comparisons"] += 1
                for column, value in (("by_score", "score"), ("by_rank", "rank")):
                    best = [max((getattr(o, value) for o in found[name]), default=0.0) for name in (a, b)]
                    row[column] += best[0] > best[1]
        yield row


def format_table(rows: list[dict]) -> str:
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
    return format_markdown(head, lines)


def find_instances(xy: NDArray, instances: list[Instance]) -> NDArray[np.int64]:
    """The instance in which each point (n, 2) lies; of several, the one with the nearest centre; or -1."""
    found, nearest = np.full(len(xy), -1), np.full(len(xy), np.inf)
    for k, instance in enumerate(instances):
        distance = np.linalg.norm(xy - instance.quads[0].mean(axis=0), axis=1)
        here = _within(xy, instance.quads) & (distance < nearest)
        found[here], nearest[here] = k, distance[here]
    return found


def compare_scenes(result: MatchResult, scenes: tuple[list[Instance], list[Instance]]) -> dict:
    """Compare the objects found in two scenes with the products in them.

    Returns
    -------
    dict
        objects : found in all
        spanning : with `LEAST` matches in each of several instances, in either scene
        side_by_side : of these, those whose instances have the same arrangement in both scenes, so that
            they move as one (`stand_alike`)
        labelled : with matches that lie in an instance in both scenes
        same_product : of these, those in which most such matches join instances of one product
        other_product : the others of these
        instance_pairs : pairs of instances of the same print, one in each scene
        found : of these, those joined by at least `LEAST` matches of one object
        over_unmatched : objects whose outline covers an instance in which they have no match, in either scene
    """
    at = [find_instances(xy, own) for xy, own in zip((result.xy0, result.xy1), scenes, strict=True)]
    counts: Counter = Counter()
    found: set = set()
    for k, item in enumerate(result.objects):
        ends = [a[result.cluster == k] for a in at]
        spans = any(np.sum(np.bincount(end[end >= 0]) >= LEAST) > 1 for end in ends)
        joined = Counter(zip(*(end.tolist() for end in ends), strict=True))
        joined = {pair: n for pair, n in joined.items() if min(pair) >= 0}
        strong = {pair: n for pair, n in joined.items() if n >= LEAST}
        counts["spanning"] += spans
        counts["side_by_side"] += spans and stand_alike(strong, scenes)
        found |= strong.keys()
        if joined:
            same = sum(n for (i, j), n in joined.items() if scenes[0][i].model == scenes[1][j].model)
            counts["same_product" if 2 * same > sum(joined.values()) else "other_product"] += 1
        counts["over_unmatched"] += any(
            covers_unmatched(*side) for side in zip((item.outline0, item.outline1), ends, scenes, strict=True)
        )
    alike = {
        (i, j)
        for i, a in enumerate(scenes[0])
        for j, b in enumerate(scenes[1])
        if (a.model, a.variant) == (b.model, b.variant)
    }
    return {
        "objects": len(result.objects),
        **{name: counts[name] for name in COUNTED},
        "labelled": counts["same_product"] + counts["other_product"],
        "instance_pairs": len(alike),
        "found": len(found & alike),
    }


def stand_alike(joined: dict[tuple[int, int], int], scenes: tuple[list[Instance], list[Instance]]) -> bool:
    """Whether several instances have the same arrangement in one scene as their partners in the other.

    joined : pairs of instances, one of each scene, and the number of matches that join them, at least `LEAST`
    Partners are two instances that have most of their matches with each other. The displacements from each to
    the nearest one, in sizes of an instance, must differ by at most `ASIDE`.
    """
    best = [
        {
            max((p for p in joined if p[k] == end), key=lambda p: (joined[p], p))
            for end in {p[k] for p in joined}
        }
        for k in (0, 1)
    ]
    partners = sorted(best[0] & best[1])
    if len(partners) < 2:
        return False
    corners = [np.array([own[p[k]].quads[0] for p in partners]) for k, own in enumerate(scenes)]
    centres = [quads.mean(axis=1) for quads in corners]
    between = np.linalg.norm(centres[0][:, None] - centres[0], axis=2) + np.diag([np.inf] * len(partners))
    nearest = between.argmin(axis=1)
    sizes = [np.linalg.norm(np.ptp(quads, axis=1), axis=1)[:, None] for quads in corners]
    ways = [(c[nearest] - c) / size for c, size in zip(centres, sizes, strict=True)]
    return bool(np.abs(ways[0] - ways[1]).max() <= ASIDE)


def covers_unmatched(outline: NDArray, at: NDArray[np.int64], instances: list[Instance]) -> bool:
    """Whether an outline covers half an instance or more in which none of the object's matches lies.

    outline (k, 2); at (m,): the instance of each match of the object, -1 for none.
    """
    return any(
        k not in at and points_in_poly(_spread(instance.quads[0]), outline).mean() >= COVERED
        for k, instance in enumerate(instances)
    )


def _spread(quad, n=20):
    """(n * n, 2) points spread over a quad."""
    u, v = (np.indices((n, n)).reshape(2, -1, 1) + 0.5) / n
    top, bottom = quad[0] + u * (quad[1] - quad[0]), quad[3] + u * (quad[2] - quad[3])
    return top + v * (bottom - top)


def measure_scenes(scenes: dict[Path, list[Instance]], config: MatchConfig) -> Iterator[dict]:
    """A row (SCENE_COLUMNS) for each pair of scenes."""

    @cache
    def described(path):
        return describe_picture(read_picture(path), config, default_threads())

    for a, b in combinations(scenes, 2):
        both = described(a), described(b)
        start = time.perf_counter()
        result = match_described(*both, config)
        seconds = round(time.perf_counter() - start, 2)
        row = compare_scenes(result, (scenes[a], scenes[b]))
        yield {"pair": f"{a.stem} {b.stem}", **row, "seconds": seconds}


def scenes_summary(rows: Iterable[dict]) -> str:
    """Sums over all pairs, in words."""
    rows = list(rows)
    total = {name: sum(row[name] for row in rows) for name in SCENE_COLUMNS[1:-1]}
    return (
        "{objects} objects in {pairs} pairs, {spanning} span several products, {side_by_side} of these "
        "with the same arrangement in both;\n{over_unmatched} lie over a product without a match in it;\n"
        "of {labelled} with labelled matches {same_product} join the same product, {other_product} different "
        "ones;\n{found} of {instance_pairs} pairs of instances found"
    ).format(pairs=len(rows), **total)
