"""Matches from elsewhere, grouped by `matching.group_matches` and by the usual alternatives.

Writes groups_scenes.csv (AdelaideRMF: misclassification error in per cent, for five random orders of each
scene), groups_features.csv (matches of OpenCV's SIFT, AKAZE and ORB on composites and copies), with --growth
groups_growth.csv (time and memory on synthetic surfaces), with --planes groups_planes.csv (rooms of planes,
with exact labels), and groups.md with all tables. The folder of the data holds a folder for each scene, with
two images and gt.npz with x1, x2 (n, 2) and label (n,), 0 for an outlier.

Notation: truth (n,) int is the object of each match, 0, 1, ..., -1 for outliers; found (n,) its group, -1 for
none.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from tqdm import tqdm

from eval.common.measuring import Clock, peak_megabytes, run_apart
from eval.common.options import add_options, at_least, choose_photographs
from eval.common.tables import format_markdown, write_csv, write_text
from eval.matching.ablation.clusterings import as_step, components, hdbscan
from eval.matching.metrics import count_objects, score_matches
from eval.matching.photographs.pairs import LabelledPair, find_pairs, read_pair
from eval.matching.rivals.ransac import ORDINARY, RansacParams, sequential_ransac, usac_settings
from matching import MatchConfig, group_matches
from matching.drivers.given import GivenMatches, group_given
from matching.grouping.groups import label_groups
from matching.grouping.ledger import Ledger
from matching.grouping.methods import GIVEN
from synth.composite import CompositePair, composite_pair, true_instance
from synth.photographs import Photographs
from synth.rooms import match_planes
from synth.surfaces import moving_surfaces

Labels = NDArray[np.int64]
Labeller = Callable[[NDArray, NDArray], Labels]  # of points xy0, xy1 (n, 2)

# the best thresholds of 0.5 to 20 px, and minimum sizes of 10 to 30, on the seven scenes of
# docs/benchmarks/groups.md
FUNDAMENTAL = RansacParams(threshold=1.0, min_inliers=20, sampler="uniform", max_models=8)
WIDE = RansacParams(threshold=20.0, min_inliers=14, sampler="uniform", max_models=30)
ORDERS = 5  # random orders of a scene's matches
RATIO = 0.8
SETTINGS = ((1, 5.0), (3, 5.0), (2, 10.0), (3, 0.0))  # M, sigma_n of the composites, in turn
FIRST_SEED = 720_000
ROOM_COLUMNS = ("scene", "method", "matches", "objects", "groups", "error", "seconds")
SCENE_COLUMNS = ("order", *ROOM_COLUMNS)
GROWTH_COLUMNS = ("matches", "objects", "groups", "error", "cpu_seconds", "megabytes")
FEATURE_COLUMNS = (
    *("features", "ratio_test", "copies", "method", "seed", "matches", "true", "f"),
    *("objects", "found", "clusters", "mixed", "seconds"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    data = {"default": None, "required": False, "help": "folder of the scenes; not needed for --planes alone"}
    pairs = {"type": at_least(0), "default": 8, "help": "composite pairs, with one copy and with two each"}
    add_options(parser, "models", "tiles", "quiet", data=data, pairs=pairs, out="groups")
    parser.add_argument(
        "--planes",
        type=at_least(0),
        default=0,
        metavar="N",
        help="also split the matches of N rooms into planes",
    )
    parser.add_argument(
        "--growth", type=at_least(1), nargs="+", default=[], metavar="N", help="also time this many matches"
    )


def run(args: argparse.Namespace) -> None:
    if args.data is None and not args.planes:
        raise ValueError("give --data DIR, --planes N, or both")
    scenes = [read_pair(folder) for folder in find_pairs(args.data)] if args.data else []
    n_pairs = args.pairs if args.data else 0
    photographs = choose_photographs(args) if n_pairs else None
    measured = {
        "planes": (range(args.planes), measure_room, ROOM_COLUMNS, format_rooms),
        "scenes": (scenes, measure_scene, SCENE_COLUMNS, format_scenes),
        "features": (
            [(photographs, number, copies) for copies in (1, 2) for number in range(n_pairs)],
            lambda case: measure_features(*case),
            FEATURE_COLUMNS,
            format_features,
        ),
        "growth": (args.growth, lambda n: [run_apart(measure_growth, n)], GROWTH_COLUMNS, format_growth),
    }
    tables = []
    for name, (cases, measure, columns, form) in measured.items():
        if cases:
            rows = [row for case in tqdm(cases, desc=name, disable=args.quiet) for row in measure(case)]
            write_csv(args.out / f"groups_{name}.csv", columns, rows)
            tables.append(format_markdown(*form(rows)))
    text = "\n\n".join(tables) + "\n"
    write_text(args.out / "groups.md", text)
    print(text, end="")


def misclassified_share(truth: Labels, found: Labels) -> float:
    """Share of matches whose group is not paired with their object, for the best pairing of objects and
    groups: the misclassification error in the literature on fitting several models.

    >>> misclassified_share(np.array([0, 0, 1, 1, -1]), np.array([1, 1, 0, -1, -1]))
    0.2
    """
    table = np.zeros((truth.max(initial=-1) + 1, found.max(initial=-1) + 1), np.int64)
    both = (truth >= 0) & (found >= 0)
    np.add.at(table, (truth[both], found[both]), 1)
    right = table[linear_sum_assignment(-table)].sum() + np.sum((truth < 0) & (found < 0))
    return float((len(truth) - right) / max(len(truth), 1))


def sequential_fundamental(xy0: NDArray, xy1: NDArray, params: RansacParams = FUNDAMENTAL) -> Labels:
    """Fundamental matrices by USAC MAGSAC, each without inliers of those before, until one has too few."""
    labels, rest = np.full(len(xy0), -1, np.int64), np.arange(len(xy0))
    for c in range(params.max_models):
        if len(rest) < max(8, params.min_inliers):
            break
        _, mask = cv2.findFundamentalMat(xy0[rest], xy1[rest], usac_settings(params))
        inlier = np.zeros(len(rest), bool) if mask is None else mask.ravel() > 0
        if np.count_nonzero(inlier) < params.min_inliers:
            break
        labels[rest[inlier]] = c
        rest = rest[~inlier]
    return labels


def sequential_homographies(params: RansacParams) -> Labeller:
    """Homographies by USAC MAGSAC, each without inliers of those before, until one has too few."""
    return lambda xy0, xy1: sequential_ransac(xy0, xy1, np.arange(len(xy0)), params)


def label_by_groups(xy0: NDArray, xy1: NDArray) -> Labels:
    """`matching.group_matches`, unchanged."""
    return group_matches(xy0, xy1).cluster


def make_labelling(label: Callable) -> Labeller:
    """`group_matches` with another clustering in place of graph degree linkage, and everything else
    unchanged.
    """
    method = replace(GIVEN, cluster=as_step(label))

    def group(xy0: NDArray, xy1: NDArray) -> Labels:
        given = GivenMatches(xy0, xy1, None, (None, None), np.zeros(len(xy0)))
        groups, _ = group_given(given, MatchConfig(), "auto", Ledger(len(xy0)), method=method)
        return label_groups(len(xy0), groups)

    return group


METHODS: dict[str, Labeller] = {
    "group_matches": label_by_groups,
    "components+stages": make_labelling(components),
    "hdbscan+stages": make_labelling(hdbscan),
    "sequential-fundamental": sequential_fundamental,
    "sequential-homographies": sequential_homographies(ORDINARY),
    "sequential-homographies-wide": sequential_homographies(WIDE),
}


def measure_methods(
    name: str, xy0: NDArray, xy1: NDArray, truth: Labels, methods: dict[str, Labeller]
) -> Iterator[dict]:
    """A row (ROOM_COLUMNS) for each method on the same matches."""
    for method, label in methods.items():
        start = time.perf_counter()
        found = label(xy0, xy1)
        yield {
            "scene": name,
            "method": method,
            "matches": len(truth),
            "objects": int(truth.max()) + 1,
            "groups": int(found.max(initial=-1)) + 1,
            "error": 100 * misclassified_share(truth, found),
            "seconds": time.perf_counter() - start,
        }


def measure_scene(pair: LabelledPair) -> Iterator[dict]:
    """A row (SCENE_COLUMNS) for each method and random order of a scene's matches."""
    for seed in range(ORDERS):
        order = np.random.default_rng(seed).permutation(len(pair.label))
        xy0, xy1 = (np.ascontiguousarray(xy[order]) for xy in np.hsplit(pair.points, 2))
        for row in measure_methods(pair.name, xy0, xy1, pair.label[order] - 1, METHODS):
            yield {"order": seed, **row}


def format_scenes(rows: list[dict]) -> tuple[list[str], list[list[str]]]:
    """Head and lines: the mean error of a scene, over its orders, by each method; then mean and median."""
    names = list(dict.fromkeys(row["method"] for row in rows))
    scenes = list(dict.fromkeys(row["scene"] for row in rows))
    errors = np.array([
        [np.mean([r["error"] for r in rows if (r["scene"], r["method"]) == (s, n)]) for n in names]
        for s in scenes
    ])  # fmt: skip
    lines = [[s, *(f"{e:.1f}" for e in line)] for s, line in zip(scenes, errors, strict=True)]
    for name, of in (("mean", np.mean), ("median", np.median)):
        lines.append([name, *(f"{e:.2f}" for e in of(errors, axis=0))])
    seconds = [np.mean([r["seconds"] for r in rows if r["method"] == n]) for n in names]
    lines.append(["seconds", *(f"{s:.2f}" for s in seconds)])
    return ["scene", *names], lines


FEATURES = {
    "SIFT": lambda: (cv2.SIFT_create(), cv2.NORM_L2),
    "AKAZE": lambda: (cv2.AKAZE_create(), cv2.NORM_HAMMING),
    "ORB": lambda: (cv2.ORB_create(4000), cv2.NORM_HAMMING),
}
if not hasattr(cv2, "AKAZE_create"):  # OpenCV 5 no longer has it
    del FEATURES["AKAZE"]


def feature_matches(
    image0: NDArray[np.uint8], image1: NDArray[np.uint8], name: str, ratio: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Matches (n, 2) of OpenCV's features of two (h, w, 3) images: for each key point of image 1 the nearest
    one of image 0, if it passes the ratio test; or, without the test, the two nearest ones.
    """
    detector, norm = FEATURES[name]()
    (points0, d0), (points1, d1) = (
        detector.detectAndCompute(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), None) for image in (image0, image1)
    )
    if min(len(points0), len(points1)) < 2:
        return np.empty((0, 2)), np.empty((0, 2))
    pairs = cv2.BFMatcher(norm).knnMatch(d1, d0, k=2)
    if ratio is None:
        chosen = [m for pair in pairs for m in pair]
    else:
        chosen = [a for a, b in pairs if a.distance < ratio * b.distance]
    xy0 = np.array([points0[m.trainIdx].pt for m in chosen], np.float64).reshape(-1, 2)
    xy1 = np.array([points1[m.queryIdx].pt for m in chosen], np.float64).reshape(-1, 2)
    return xy0, xy1


def measure_features(photographs: Photographs, number: int, copies: int, side: int = 320) -> Iterator[dict]:
    """A row (FEATURE_COLUMNS) for each kind of features, with and without ratio test, by `group_matches` and
    by sequential homographies, of one composite pair.
    """
    n_common, sigma = SETTINGS[number % len(SETTINGS)]
    seed = FIRST_SEED + number
    pair = composite_pair(photographs, n_common, sigma, seed, side=side, copies=copies)
    for name in FEATURES:
        for ratio in (RATIO, None):
            xy0, xy1 = feature_matches(pair.image0, pair.image1, name, ratio)
            for method in ("group_matches", "sequential-homographies"):
                start = time.perf_counter()
                found = METHODS[method](xy0, xy1)
                seconds = time.perf_counter() - start
                about = {
                    "features": name,
                    "ratio_test": ratio is not None,
                    "copies": copies,
                    "method": method,
                    "seed": seed,
                    "matches": len(xy0),
                }
                yield about | _judge(pair, xy0, xy1, found) | {"seconds": seconds}


def _judge(pair: CompositePair, xy0: NDArray, xy1: NDArray, found: Labels) -> dict:
    instance = true_instance(pair, xy0, xy1)
    count = count_objects(found, instance, pair.n_instances)
    return {
        "true": int(np.sum(instance >= 0)),
        "f": score_matches(found >= 0, instance >= 0).f,
        "objects": count.total,
        "found": count.found,
        "clusters": count.clusters,
        "mixed": count.mixed,
    }


def format_features(rows: list[dict]) -> tuple[list[str], list[list[str]]]:
    """Head and lines: sums over the pairs for each kind of features, with and without ratio test."""
    keys = list(dict.fromkeys((r["copies"], r["features"], r["ratio_test"], r["method"]) for r in rows))
    lines = []
    for key in sorted(keys, key=lambda k: k[0]):
        own = [r for r in rows if (r["copies"], r["features"], r["ratio_test"], r["method"]) == key]
        total = {
            c: sum(r[c] for r in own) for c in ("matches", "true", "objects", "found", "clusters", "mixed")
        }
        lines.append(
            [
                str(key[0]),
                key[1],
                "yes" if key[2] else "no",
                key[3],
                f"{total['true']} of {total['matches']}",
                f"{np.mean([r['f'] for r in own]):.3f}",
                f"{total['found']} of {total['objects']}",
                f"{total['clusters'] / max(total['found'], 1):.2f}",
                str(total["mixed"]),
                f"{np.mean([r['seconds'] for r in own]):.2f}",
            ]
        )
    head = ["copies", "features", "ratio test", "method", "true matches", "mean F", "found", "clusters each"]
    return [*head, "mixed", "s"], lines


ROOM_METHODS: dict[str, Labeller] = {
    "group_matches": label_by_groups,
    "group_matches, planes=True": lambda xy0, xy1: group_matches(xy0, xy1, planes=True).cluster,
    "sequential-homographies": METHODS["sequential-homographies"],
    "sequential-homographies-wide": METHODS["sequential-homographies-wide"],
}


def measure_room(seed: int) -> Iterator[dict]:
    """A row (ROOM_COLUMNS) for each method on matches between two pictures of a room."""
    given = match_planes(seed)
    yield from measure_methods(str(seed), given.xy0, given.xy1, given.label, ROOM_METHODS)


def format_rooms(rows: list[dict]) -> tuple[list[str], list[list[str]]]:
    """Head and lines: a line for each method."""
    lines = []
    for name in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == name]
        groups, planes = (sum(row[c] for row in own) for c in ("groups", "objects"))
        errors, seconds = ([row[c] for row in own] for c in ("error", "seconds"))
        figures = f"{np.mean(errors):.1f}", f"{np.median(errors):.1f}", f"{np.mean(seconds):.2f}"
        lines.append([name, f"{groups} of {planes}", *figures])
    return ["method", "groups", "mean error, %", "median", "s"], lines


def measure_growth(n: int) -> dict:
    """A row (GROWTH_COLUMNS) for n matches on six surfaces, half of them outliers; in a separate process,
    whose peak memory is measured.
    """
    group_matches(*np.random.default_rng(0).uniform(0, 600, (2, 100, 2)))  # loads what is compiled
    given = moving_surfaces(FIRST_SEED, n_objects=6, matches=(n // 4, n // 2))  # some hide others
    xy0, xy1, truth = given.xy0[:n], given.xy1[:n], given.label[:n]
    clock = Clock()
    found = group_matches(xy0, xy1).cluster
    return {
        "matches": len(found),
        "objects": int(truth.max()) + 1,
        "groups": int(found.max(initial=-1)) + 1,
        "error": 100 * misclassified_share(truth, found),
        "cpu_seconds": clock.seconds().cpu,
        "megabytes": peak_megabytes(),
    }


def format_growth(rows: list[dict]) -> tuple[list[str], list[list[str]]]:
    """Head and lines: a line for each number of matches."""
    head = ["matches", "objects", "groups", "error, %", "CPU seconds", "peak memory, MB"]
    return head, [
        [
            *(f"{row[name]:,}" for name in ("matches", "objects", "groups")),
            *(f"{row['error']:.1f}", f"{row['cpu_seconds']:.2f}", f"{row['megabytes']:.0f}"),
        ]
        for row in rows
    ]
