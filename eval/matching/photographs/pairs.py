"""AGDL and its rivals on real pairs with labelled points: which of the objects that moved are found.

Writes pairs.csv. The folder of the data holds a folder for each pair, with two images and gt.npz with x1, x2
(n, 2) in pixels and label (n,): 0 for an outlier, 1, 2, ... for an object.

Notation: a pair has labelled points (x1, x2) with a label, 0 for an outlier and 1, 2, ... for an object. A
reported match takes the label of the nearest labelled inlier, if that is near in both images, else 0: not
known.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from tqdm import tqdm

from eval.common.options import add_options
from eval.common.tables import format_markdown, read_arrays, write_csv
from eval.matching.rivals.ransac import sift_ransac
from eval.matching.synthetic.methods import (
    NAMES,
    SIFT_RANSAC,
    Labelling,
    add_methods_option,
    label_candidates,
)
from eval.matching.synthetic.trials import find_candidates, read_working_images
from matching import MatchConfig
from matching.correspondences.candidates import join_candidates
from matching.pictures.images import to_picture
from synth.photographs import SUFFIXES, read_picture

NEAR = 12.0  # px in each image, root mean square over both
MIN_LABELLED = 3  # matches near labelled points that a cluster must have to be judged
PURITY = 0.8  # share of these on one object that makes a cluster this object's

COLUMNS = (
    *("pair", "method", "objects", "found", "clusters", "mixed", "spurious"),
    *("matches", "purity", "seconds"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    data = {"default": None, "required": True, "help": "folder of the pairs"}
    add_options(parser, "jobs", "quiet", data=data, out="pairs")
    add_methods_option(parser)


def run(args: argparse.Namespace) -> None:
    names = tuple(name for name in NAMES if name in args.methods)
    data = [read_pair(folder) for folder in find_pairs(args.data)]
    results = Parallel(n_jobs=args.jobs, return_as="generator")(delayed(measure)(p, names) for p in data)
    rows = [row for of in tqdm(results, total=len(data), desc="pairs", disable=args.quiet) for row in of]
    write_csv(args.out / "pairs.csv", COLUMNS, rows)
    print(summary(rows, names))


def summary(rows: list[dict], names: tuple[str, ...]) -> str:
    """One line per method: sums over all pairs, and the means of the purity and of the seconds."""
    sums = ("objects", "found", "clusters", "mixed", "spurious", "matches")
    lines = []
    for name in names:
        own = [row for row in rows if row["method"] == name]
        purity, seconds = (np.nanmean([row[column] for row in own]) for column in ("purity", "seconds"))
        total = (str(sum(row[column] for row in own)) for column in sums)
        lines.append([name, *total, f"{purity:.3f}", f"{seconds:.2f}"])
    return format_markdown(["method", *sums, "purity", "s"], lines)


@dataclass(frozen=True, eq=False)
class LabelledPair:
    """Two (h, w, 3) uint8 images, and `points` (n, 4) float64 x1, y1, x2, y2 with `label` (n,) int64."""

    name: str
    image0: NDArray[np.uint8]
    image1: NDArray[np.uint8]
    points: NDArray[np.float64]
    label: NDArray[np.int64]


@dataclass(frozen=True)
class PairScore:
    """The number of objects and how many are found; clusters of found objects; mixed clusters; clusters on
    nothing labelled; matches kept, and the share with their cluster's label among those near a labelled
    point.
    """

    objects: int
    found: int
    clusters: int
    mixed: int
    spurious: int
    matches: int
    purity: float


def read_pair(folder: Path) -> LabelledPair:
    """A folder with `gt.npz` (x1, x2, label) and two images, the first by name taken as image 0.

    Raises ValueError if a file is missing or gt.npz doesn't hold what it should.
    """
    images = sorted(p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES)
    if len(images) != 2:
        raise ValueError(f"{folder} must hold two images, found {len(images)}")
    x1, x2, label = read_arrays(folder / "gt.npz", ("x1", "x2", "label"))
    label = label.ravel()
    if not x1.shape == x2.shape == (len(label), 2):
        shapes = f"{x1.shape}, {x2.shape} and {label.shape}"
        raise ValueError(f"{folder / 'gt.npz'} must hold x1, x2 (n, 2) and label (n,), got {shapes}")
    if not all(a.dtype.kind in "buif" and np.isfinite(a).all() for a in (x1, x2, label)):
        raise ValueError(f"{folder / 'gt.npz'} must hold finite numbers in x1, x2 and label")
    label = label.astype(np.int64)
    points = np.hstack([x1, x2]).astype(np.float64)
    return LabelledPair(folder.name, *(read_picture(p) for p in images), points, label)


def find_pairs(data: Path) -> list[Path]:
    """The folders in `data` that hold a gt.npz, by name. Raises ValueError if there is none."""
    folders = sorted(p.parent for p in data.glob("*/gt.npz"))
    if not folders:
        raise ValueError(f"{data} must hold folders with two images and gt.npz, found none")
    return folders


def measure(pair: LabelledPair, names: tuple[str, ...]) -> list[dict]:
    """A row for each named method."""
    config = MatchConfig()
    images = read_working_images(pair.image0, pair.image1, config)
    listed, pool = find_candidates(images, config)
    candidates = join_candidates([listed, pool])
    xy0, xy1 = (
        to_picture(xy, image.step) for xy, image in zip((candidates.xy0, candidates.xy1), images, strict=True)
    )
    found = {
        name: (xy0, xy1, labelling)
        for name, labelling in label_candidates(
            listed, pool, tuple(n for n in names if n != SIFT_RANSAC)
        ).items()
    }
    if SIFT_RANSAC in names:
        start = time.perf_counter()
        matches, labels = sift_ransac(pair.image0, pair.image1)
        found[SIFT_RANSAC] = matches.xy0, matches.xy1, Labelling(labels, time.perf_counter() - start)
    rows = []
    for name in names:
        *points, labelling = found[name]
        score = score_pair(pair, *points, labelling.labels)
        rows.append({"pair": pair.name, "method": name, **vars(score), "seconds": labelling.seconds})
    return rows


def score_pair(pair: LabelledPair, xy0: NDArray, xy1: NDArray, cluster: NDArray) -> PairScore:
    """Judge the kept matches (cluster >= 0): objects by their clusters.

    A cluster with at least 3 labelled matches, 80 % of them on one object, finds this object; with a lower
    share it is mixed; with fewer labelled matches it is spurious.
    """
    kept = cluster >= 0
    label, cluster = nearest_label(pair, xy0[kept], xy1[kept]), cluster[kept]
    found: set[int] = set()
    clusters = mixed = spurious = on_owner = 0
    for c in np.unique(cluster):
        labelled = label[(cluster == c) & (label > 0)]
        counts = np.bincount(labelled, minlength=1)
        on_owner += int(counts.max())
        if len(labelled) < MIN_LABELLED:
            spurious += 1
        elif counts.max() < PURITY * len(labelled):
            mixed += 1
        else:
            found.add(int(counts.argmax()))
            clusters += 1
    n_labelled = int((label > 0).sum())
    purity = on_owner / n_labelled if n_labelled else float("nan")
    objects = len(np.unique(pair.label[pair.label > 0]))
    return PairScore(objects, len(found), clusters, mixed, spurious, int(kept.sum()), purity)


def nearest_label(pair: LabelledPair, xy0: NDArray, xy1: NDArray) -> NDArray[np.int64]:
    """(m,) label of the labelled inlier nearest in both images together; 0 beyond 12 px."""
    inlier = pair.label > 0
    if not inlier.any() or not len(xy0):
        return np.zeros(len(xy0), np.int64)
    reach = NEAR * np.sqrt(2)
    distance, index = cKDTree(pair.points[inlier]).query(np.hstack([xy0, xy1]), distance_upper_bound=reach)
    near = np.isfinite(distance)
    return np.where(near, pair.label[inlier][np.where(near, index, 0)], 0)
