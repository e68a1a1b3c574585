"""What the clustering and each step of the grouping contribute: one thing at a time is changed on the same
pairs.

Eight kinds of data: composites, composites that show every object twice, strongly bent composites, scenes of
one bent or two rigid prints (`synth.tabletop`), photographs of tabletops with labelled points, each with five
lengths of the list of candidates, products on shelf photographs, phone photographs of covers, and unrelated
pairs of covers and of photographs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from eval.common.tables import format_markdown
from eval.matching.ablation.variants import DEFAULT, Variant
from eval.matching.metrics import MIN_MATCHES, count_objects, score_matches
from eval.matching.photographs.pairs import MIN_LABELLED, LabelledPair, read_pair, score_pair
from eval.matching.photographs.shelves import ShelfPair, find_owners, read_shelves
from eval.matching.synthetic.tabletops import make_scene
from eval.matching.synthetic.trials import read_working_images
from matching import MatchConfig
from matching._common.threads import limit_threads
from matching.correspondences.candidates import Candidates, match_with_reserve
from matching.features.extraction import FeatureConfig, Features, extract_features
from matching.grouping.methods import choose_method
from matching.pictures.images import read_picture
from matching.searches.proposals import label_matches, locate
from matching.searches.search import group_candidates
from matching.settings import REGIONS
from synth.composite import CompositePair, composite_pair, true_instance
from synth.photographs import Photographs
from synth.tabletop import Tabletop as Scene

SIZES = (1000, 1500, 2000, 3000, 4000)  # lengths of the lists of candidates of a tabletop
SETTINGS = {  # M, sigma_n of the pairs of a kind, in turn
    "composites": ((1, 5), (3, 5), (5, 5), (3, 0), (3, 15), (1, 15), (2, 10), (5, 0)),
    "copies": ((1, 5), (2, 5), (3, 5), (2, 0), (2, 15), (4, 5), (3, 10), (1, 15)),
    "bent": ((1, 20), (3, 20), (5, 20), (3, 30), (5, 30), (2, 25)),
}
MOTIONS = (
    ("beside", 16),
    ("turn", 16),
    ("on top", 32),
    ("bend", 24),
)  # kinds and amounts of the prints, in turn
KINDS_OF_DATA = (*SETTINGS, "prints", "tabletops", "shelves", "phone", "unrelated")
FIRST_SEED = 710_000  # nothing was chosen on pairs with this seed or a later one
COLUMNS = (
    *("data", "variant", "pairs", "mean_f", "worst_f", "objects", "found", "clusters_each"),
    *("mixed", "spurious", "seconds"),
)


@dataclass(frozen=True)
class Composite:
    """A composite pair to be made: the kind of data and its number."""

    kind: str
    number: int
    photographs: Photographs
    side: int = 320

    @cached_property
    def pair(self) -> CompositePair:
        n_common, sigma = SETTINGS[self.kind][self.number % len(SETTINGS[self.kind])]
        copies = 2 if self.kind == "copies" else 1
        seed = FIRST_SEED + self.number
        return composite_pair(self.photographs, n_common, sigma, seed, side=self.side, copies=copies)

    def lists(self, config: MatchConfig) -> list[MatchConfig]:
        return [config]

    def judge(self, xy0: NDArray, xy1: NDArray, labels: NDArray[np.int64]) -> dict:
        """Judge the labels of the list, whose points are pixels of the pictures."""
        return _judge(labels, true_instance(self.pair, xy0, xy1), self.pair.n_instances)


@dataclass(frozen=True)
class Prints:
    """A scene of two rigid prints, one of which moves, or of one print that bends: its number."""

    number: int
    photographs: Photographs
    kind: str = "prints"

    @cached_property
    def pair(self) -> Scene:
        return make_scene(self.photographs, *MOTIONS[self.number % len(MOTIONS)], FIRST_SEED + self.number)

    def lists(self, config: MatchConfig) -> list[MatchConfig]:
        return [config]

    def judge(self, xy0: NDArray, xy1: NDArray, labels: NDArray[np.int64]) -> dict:
        """Judge the labels of the list, whose points are pixels of the pictures."""
        return _judge(labels, self.pair.find_true(xy0, xy1), int(self.pair.owner0.max()) + 1)


def _judge(labels: NDArray[np.int64], instance: NDArray[np.integer], n_instances: int) -> dict:
    """F and counts of labels (m,) with true instances (m,). A mostly false cluster is spurious if hardly any
    match in it is true, else mixed.
    """
    count = count_objects(labels, instance, n_instances)
    true = [(instance[labels == k] >= 0).sum() for k in np.flatnonzero(_sizes(labels) >= MIN_MATCHES)]
    spurious = int(np.count_nonzero(np.array(true) < MIN_LABELLED))
    return {
        "f": score_matches(labels >= 0, instance >= 0).f,
        "objects": count.total,
        "found": count.found,
        "clusters": count.clusters,
        "mixed": count.mixed - spurious,
        "spurious": spurious,
    }


@dataclass(frozen=True)
class Tabletop:
    """A folder with two photographs and labelled points."""

    folder: Path
    kind: str = "tabletops"

    @cached_property
    def pair(self) -> LabelledPair:
        return read_pair(self.folder)

    def lists(self, config: MatchConfig) -> list[MatchConfig]:
        return [replace(config, candidates=replace(config.candidates, max_matches=size)) for size in SIZES]

    def judge(self, xy0: NDArray, xy1: NDArray, labels: NDArray[np.int64]) -> dict:
        score = score_pair(self.pair, xy0, xy1, labels)
        names = ("objects", "found", "clusters", "mixed", "spurious")
        return {"f": float("nan"), **{name: getattr(score, name) for name in names}}


@dataclass(frozen=True)
class Images:
    """Two pictures."""

    image0: NDArray[np.uint8]
    image1: NDArray[np.uint8]


@dataclass(frozen=True)
class RealPair:
    """Two files. Objects count as found if they lie in `instances`, or anywhere if `is_same`; without both,
    every object is spurious.
    """

    kind: str
    paths: tuple[Path, Path]
    instances: tuple[tuple[NDArray[np.float64], ...], ...] = ()
    is_same: bool = False

    @cached_property
    def pair(self) -> Images:
        return Images(*(read_picture(path).rgb for path in self.paths))

    def lists(self, config: MatchConfig) -> list[MatchConfig]:
        return [config]

    def judge(self, xy0: NDArray, xy1: NDArray, labels: NDArray[np.int64]) -> dict:
        """Count the objects of the list, whose points are pixels of the pictures."""
        clusters = int(labels.max(initial=-1)) + 1
        if self.instances:
            pair = ShelfPair(*self.paths, "shown", self.instances)
            owners = [k for k in find_owners(pair, xy1, labels) if k >= 0]
            found, clusters = len(set(owners)), len(owners)
        else:
            found = int(self.is_same and clusters > 0)
        return {
            "f": float("nan"),
            "objects": len(self.instances) or int(self.is_same),
            "found": found,
            "clusters": clusters if found else 0,
            "mixed": 0,
            "spurious": 0 if found or self.instances or self.is_same else clusters,
        }


Case = Composite | Prints | Tabletop | RealPair


def cases(
    photographs: Photographs, tabletops: list[Path], n_pairs: int, real: Path | None = None
) -> list[Case]:
    """Pairs of all kinds; `real` is a folder with models, scenes, retrieval and tiles."""
    composites = [Composite(kind, n, photographs) for kind in SETTINGS for n in range(n_pairs)]
    prints = [Prints(n, photographs) for n in range(n_pairs)]
    photographed = [] if real is None else list_real_pairs(real)
    return [*composites, *prints, *map(Tabletop, tabletops), *photographed]


def list_real_pairs(data: Path) -> Iterator[RealPair]:
    """Products and shelves, phone photographs and their covers, neighbouring covers and photographs."""
    for pair in read_shelves(data):
        yield RealPair("shelves", (pair.model, pair.scene), pair.instances)
    covers = sorted((data / "retrieval" / "gallery").glob("*.jpg"))
    for cover in covers:
        for query in sorted((data / "retrieval" / "queries").glob(f"{cover.stem}_*.jpg")):
            yield RealPair("phone", (cover, query), is_same=True)
    for folder in (covers, sorted((data / "tiles").glob("*.jpg"))):
        for both in pairwise(folder):
            yield RealPair("unrelated", both)


def ablate(chosen: list[Case], compared: dict[str, Variant], n_jobs: int) -> Iterator[list[dict]]:
    """Yield the rows of each pair: data, variant, and what became of the objects."""
    run = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    yield from run(delayed(_rows_of_pair)(case, compared) for case in chosen)


def _rows_of_pair(case: Case, compared: dict[str, Variant]) -> list[dict]:
    with limit_threads(1):
        return list(measure(case, compared))


def measure(case: Case, compared: dict[str, Variant]) -> Iterator[dict]:
    """A row for each variant and list of one pair, whose features are described once."""
    images = read_working_images(case.pair.image0, case.pair.image1, DEFAULT)
    features = _Features([image.grey for image in images])
    known: dict[tuple, tuple[Candidates, Candidates]] = {}
    for name, variant in compared.items():
        for config in case.lists(variant.config):
            key = config.features, config.candidates
            if key not in known:
                known[key] = match_with_reserve(*features.of(config.features), config.candidates)
            start = time.perf_counter()
            method = choose_method(config, variant.method)
            found = group_candidates(*known[key], config, method)
            seconds = time.perf_counter() - start
            steps = images[0].step, images[1].step
            listing = locate(found.candidates, found.groups, found.ledger, steps, found.n_listed)
            located = label_matches(listing, listing.proposals, (), found.n_listed)
            judged = case.judge(located.xy0, located.xy1, located.labels)
            yield {"data": case.kind, "variant": name, "seconds": seconds, **judged}


class _Features:
    """The features of two images (h, w) uint8, described once with all kinds of regions."""

    def __init__(self, images: list[NDArray[np.uint8]]):
        self.images = images
        self.known: dict[FeatureConfig, list[Features]] = {}

    def of(self, config: FeatureConfig) -> list[Features]:
        both = replace(config, regions=REGIONS)
        if both not in self.known:
            self.known[both] = [extract_features(image, both) for image in self.images]
        kinds = [REGIONS.index(kind) for kind in config.regions]
        return [features[np.isin(features.kind, kinds)] for features in self.known[both]]


def _sizes(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.bincount(labels[labels >= 0])


def summary(rows: list[dict]) -> list[dict]:
    """A row (COLUMNS) for each kind of data and variant, in the order of KINDS_OF_DATA."""
    names = list(dict.fromkeys(row["variant"] for row in rows))
    return [
        _sum(kind, name, own)
        for kind in KINDS_OF_DATA
        for name in names
        if (own := [row for row in rows if (row["data"], row["variant"]) == (kind, name)])
    ]


def _sum(kind: str, name: str, rows: list[dict]) -> dict:
    total = {
        column: sum(row[column] for row in rows)
        for column in ("objects", "found", "clusters", "mixed", "spurious")
    }
    f = [row["f"] for row in rows]
    return {
        "data": kind,
        "variant": name,
        "pairs": len(rows),
        "mean_f": float(np.mean(f)),
        "worst_f": min(f),
        **total,
        "clusters_each": total["clusters"] / max(total["found"], 1),
        "seconds": float(np.mean([row["seconds"] for row in rows])),
    }


def format_table(sums: list[dict]) -> str:
    """Markdown, a line for each variant, a column for each kind of data: F, objects found, clusters each,
    mixed and spurious clusters.
    """
    kinds = [kind for kind in KINDS_OF_DATA if any(row["data"] == kind for row in sums)]
    names = list(dict.fromkeys(row["variant"] for row in sums))
    cell = {(row["variant"], row["data"]): _cell(row) for row in sums}
    seconds = {name: np.mean([row["seconds"] for row in sums if row["variant"] == name]) for name in names}
    lines = [[name, *(cell[name, kind] for kind in kinds), f"{seconds[name]:.2f}"] for name in names]
    return format_markdown(["variant", *kinds, "s"], lines)


def _cell(row: dict) -> str:
    f = "" if np.isnan(row["mean_f"]) else f"{row['mean_f']:.3f}, "
    bad = f", {row['mixed']} mixed" * (row["mixed"] > 0) + f", {row['spurious']} spurious" * (
        row["spurious"] > 0
    )
    return f"{f}{row['found']}/{row['objects']}, {row['clusters_each']:.2f} each{bad}"
