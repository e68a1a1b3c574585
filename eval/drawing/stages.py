"""Draw what each step of a match makes of a pair of pictures: the figures of docs/matching.md.

Writes features.jpg, candidates.jpg, graph.jpg, clusters.jpg and objects.jpg. Without pictures, the pair of
`gdl-match --demo` is drawn.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from eval.common.options import add_options
from matching import MatchConfig
from matching.cli.demo import make_demo_pair
from matching.correspondences.candidates import match_with_reserve
from matching.drivers.pair import match_pair
from matching.drivers.result import Result
from matching.grouping.clusters import link
from matching.grouping.graph import MatchGraph
from matching.grouping.group import build_graph
from matching.grouping.ledger import Ledger
from matching.output.figures.drawing import colour
from matching.pictures.images import Picture, make_picture, to_picture
from matching.searches.source import DescribedPicture, ImageSource
from matching.settings import REGIONS

KIND_COLOURS = (
    "#E69F00",
    "#56B4E9",
)  # Okabe and Ito's orange and sky blue, which the colour-blind can tell apart
YELLOW, GREY = "#F0E442", "#b0b0b0"
MOST_FEATURES = 400  # features of each kind drawn in a picture: more would hide it
MOST_LINES = 300  # lines drawn across
LEAST_WEIGHT = 0.05  # least weight of an edge that is counted
HEAVIEST = 2  # number of edges of a candidate that are drawn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "images", nargs="*", type=Path, metavar="IMAGE", help="two pictures (default: the demo's)"
    )
    add_options(parser, out="stages")


def run(args: argparse.Namespace) -> None:
    if len(args.images) not in (0, 2):
        raise ValueError(f"two pictures are needed, or none, got {len(args.images)}")
    first, second = args.images or make_demo_pair()
    sheet = Sheet(make_picture(first, "image0"), make_picture(second, "image1"))
    config = MatchConfig()
    sources = [ImageSource(picture, config) for picture in sheet.pictures]
    described = [source.described for source in sources]
    candidates, _ = match_with_reserve(described[0].features, described[1].features, config.candidates)
    matches, ledger = candidates.correspondences, Ledger(len(candidates))
    graph = build_graph(matches, np.arange(len(matches)), config, ledger)
    if graph is None:
        raise ValueError("the pictures must have something in common: no candidates support each other")
    labels = link(matches[graph.rows], graph, config.clustering).labels
    ends = [
        to_picture(xy, one.step) for xy, one in zip((candidates.xy0, candidates.xy1), described, strict=True)
    ]
    args.out.mkdir(parents=True, exist_ok=True)
    for name, figure in (
        ("features", draw_features(sheet, described)),
        ("candidates", draw_candidates(sheet, ends)),
        ("graph", draw_graph(sheet, ends, graph)),
        ("clusters", draw_clusters(sheet, ends, graph, labels, config.objects.min_matches)),
        ("objects", draw_objects(sheet, match_pair(*sources))),
    ):
        figure.savefig(args.out / f"{name}.jpg", dpi=110, pil_kwargs={"quality": 85})
        print(args.out / f"{name}.jpg")


class Sheet:
    """Two pictures side by side, on which figures are drawn."""

    def __init__(self, first: Picture, second: Picture) -> None:
        self.pictures = first, second
        gap = first.width // 20
        size = max(first.height, second.height), first.width + gap + second.width, 3
        self.left = 0, first.width + gap  # pixels to the left of each picture
        self.rgb = np.full(size, 255, np.uint8)
        for picture, x in zip(self.pictures, self.left, strict=True):
            darker = picture.rgb // 2  # so that what is drawn stands out
            self.rgb[: picture.height, x : x + picture.width] = darker

    def new(self) -> tuple[Figure, Axes]:
        """A figure of the pictures."""
        figure = Figure(figsize=(10, 10 * self.rgb.shape[0] / self.rgb.shape[1] + 0.5), layout="constrained")
        axis = figure.subplots()
        axis.imshow(self.rgb)
        axis.set_axis_off()
        axis.autoscale(False)
        return figure, axis

    def place(self, xy: NDArray, k: int) -> NDArray[np.float64]:
        """Points (n, 2) of picture k as points of the sheet."""
        return np.asarray(xy + np.array([self.left[k], 0]))


def draw_features(sheet: Sheet, described: list[DescribedPicture]) -> Figure:
    """Draw some features of both pictures: ellipses of MSER regions, and circles of key points."""
    figure, axis = sheet.new()
    counts = np.zeros(len(REGIONS), int)
    for k, picture in enumerate(described):
        for kind, edge in enumerate(KIND_COLOURS):
            own = picture.features[picture.features.kind == kind]
            counts[kind] += len(own)
            drawn = own[:: max(len(own) // MOST_FEATURES, 1)]
            axes, lengths, _ = np.linalg.svd(drawn.frames * picture.step[:, None])
            angles = np.degrees(np.arctan2(axes[:, 1, 0], axes[:, 0, 0]))
            centres = sheet.place(to_picture(drawn.xy, picture.step), k)
            style = {"offsets": centres, "transOffset": axis.transData, "units": "xy", "linewidths": 0.6}
            ellipses = EllipseCollection(
                *(2 * lengths.T), angles, facecolors="none", edgecolors=edge, **style
            )
            axis.add_collection(ellipses)
    figure.suptitle(f"Features: {counts[0]} MSER regions (orange), {counts[1]} key points (blue), some drawn")
    return figure


def draw_candidates(sheet: Sheet, ends: list[NDArray]) -> Figure:
    """Draw lines between the ends of some candidates, spread evenly over the list."""
    figure, axis = sheet.new()
    points = np.stack([sheet.place(xy, k) for k, xy in enumerate(ends)], axis=1)  # (m, 2, 2)
    rows = np.linspace(0, len(points) - 1, min(MOST_LINES, len(points))).astype(int)
    axis.scatter(*points.reshape(-1, 2).T, s=2, color=YELLOW, lw=0)
    axis.add_collection(LineCollection(list(points[rows]), colors=YELLOW, lw=0.4, alpha=0.5))
    figure.suptitle(
        f"Candidates: the {len(points)} pairs of the most similar descriptors; lines for {len(rows)}"
    )
    return figure


def draw_graph(sheet: Sheet, ends: list[NDArray], graph: MatchGraph) -> Figure:
    """Draw, in both pictures, the edges of some weight between candidates that others support."""
    figure, axis = sheet.new()
    edges = graph.affinities
    source = np.repeat(np.arange(len(graph.rows)), np.diff(edges.indptr))
    order = np.lexsort((-edges.weights, source))
    rank = np.arange(len(source)) - edges.indptr[source[order]]
    drawn = order[(rank < HEAVIEST) & (edges.weights[order] >= LEAST_WEIGHT)]
    for k, xy in enumerate(ends):
        at = sheet.place(xy[graph.rows], k)
        segments = np.stack([at[source[drawn]], at[edges.indices[drawn]]], axis=1)
        axis.add_collection(LineCollection(list(segments), colors=YELLOW, lw=0.6))
    weighty = int((edges.weights >= LEAST_WEIGHT).sum())
    figure.suptitle(
        f"Graph: {weighty} of {len(source)} edges weigh {LEAST_WEIGHT:g} or more;"
        f" drawn: the {HEAVIEST} heaviest of a candidate"
    )
    return figure


def draw_clusters(
    sheet: Sheet, ends: list[NDArray], graph: MatchGraph, cluster: NDArray, least: int
) -> Figure:
    """Draw the clusters with at least as many candidates as an object needs, before anything is removed."""
    figure, axis = sheet.new()
    labels = np.full(len(ends[0]), -1, np.int64)
    labels[graph.rows] = cluster
    sizes = np.bincount(cluster)
    large = np.argsort(-sizes, kind="stable")[: int((sizes >= least).sum())]
    for k, xy in enumerate(ends):
        at = sheet.place(xy, k)
        axis.scatter(*at[~np.isin(labels, large)].T, s=1.5, color=GREY, lw=0)
        for rank, label in enumerate(large):
            axis.scatter(*at[labels == label].T, s=6, color=_tint(rank), lw=0)
    figure.suptitle(f"Clusters: {len(large)} have {least} candidates or more, a colour each; others in grey")
    return figure


def draw_objects(sheet: Sheet, result: Result) -> Figure:
    """Draw the outlines and matches of the objects."""
    figure, axis = sheet.new()
    for found in result.objects:
        own = result.cluster == found.id
        for k, (xy, outline) in enumerate(((result.xy0, found.outline0), (result.xy1, found.outline1))):
            axis.scatter(*sheet.place(xy[own], k).T, s=3, color=_tint(found.id), lw=0)
            axis.fill(*sheet.place(outline, k).T, fill=False, color=_tint(found.id), lw=2)
    figure.suptitle(f"Objects: {len(result.objects)}, of {(result.cluster >= 0).sum()} matches")
    return figure


def _tint(number: int) -> tuple[float, ...]:
    return tuple(np.array(colour(number)) / 255)
