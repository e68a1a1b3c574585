"""Draw what each stage of the pipeline makes of a pair of pictures: the figures of docs/matching.md.

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
from gdl_core import AffinityGraph
from matching import MatchConfig
from matching.cli.demo import make_demo_pair
from matching.correspondences.candidates import Candidates, match_with_reserve
from matching.features.extraction import KINDS, Features
from matching.grouping.rounds import Round
from matching.grouping.stages import find_clusters
from matching.output.figures.drawing import colour
from matching.pictures.images import Picture, make_picture, to_picture
from matching.pipelines.description import DescribedPicture, describe_picture
from matching.pipelines.pair import MatchResult, match_pictures

KIND_COLOURS = (
    "#E69F00",
    "#56B4E9",
)  # Okabe and Ito's orange and sky blue, which colour-blind people can tell apart
MOST_FEATURES = 400  # features of each kind drawn in a picture: more would hide it
MOST_LINES = 300  # lines drawn across
LEAST_WEIGHT = 0.05  # least weight of an edge that is counted
HEAVIEST = 2  # number of edges of a candidate that are drawn

Pair = tuple[Picture, Picture]
Described = tuple[DescribedPicture, DescribedPicture]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "images", nargs="*", type=Path, metavar="IMAGE", help="two pictures (default: the demo's)"
    )
    add_options(parser, out="stages")


def run(args: argparse.Namespace) -> None:
    if len(args.images) not in (0, 2):
        raise ValueError(f"two pictures are needed, or none, got {len(args.images)}")
    first, second = args.images or make_demo_pair()
    pair = make_picture(first, "image0"), make_picture(second, "image1")
    config = MatchConfig()
    described = describe_picture(pair[0], config), describe_picture(pair[1], config)
    candidates, _ = match_with_reserve(described[0].features, described[1].features, config.candidates)
    found = find_clusters(candidates.correspondences, config)
    if found is None:
        raise ValueError("the pictures must have something in common: no candidates support each other")
    args.out.mkdir(parents=True, exist_ok=True)
    for name, figure in (
        ("features", draw_features(pair, described)),
        ("candidates", draw_candidates(pair, described, candidates)),
        ("graph", draw_graph(pair, described, candidates[found.rows], found.graph)),
        ("clusters", draw_clusters(pair, described, candidates, found, config.objects.min_matches)),
        ("objects", draw_objects(pair, match_pictures(*pair, config))),
    ):
        figure.savefig(args.out / f"{name}.jpg", dpi=110, pil_kwargs={"quality": 85})
        print(args.out / f"{name}.jpg")


def draw_features(pair: Pair, described: Described) -> Figure:
    """Draw some features of both pictures: ellipses of MSER regions, and circles of key points."""
    figure, axes = _panels(pair)
    counts = np.zeros(len(KINDS), int)
    for axis, picture in zip(axes, described, strict=True):
        for kind, edge in enumerate(KIND_COLOURS):
            own = picture.features[picture.features.kind == kind]
            counts[kind] += len(own)
            every = max(len(own) // MOST_FEATURES, 1)
            axis.add_collection(_ellipses(own[::every], picture.step, edge, axis))
    figure.suptitle(f"Features: {counts[0]} MSER regions (orange), {counts[1]} key points (blue), some drawn")
    return figure


def draw_candidates(pair: Pair, described: Described, candidates: Candidates) -> Figure:
    """Draw lines between the ends of some candidates, spread evenly over the list."""
    figure, axes = _panels(pair)
    rows = np.linspace(0, len(candidates) - 1, min(MOST_LINES, len(candidates))).astype(int)
    points = _ends(candidates, described)
    for axis, xy in zip(axes, points, strict=True):
        axis.scatter(*xy.T, s=2, color="#F0E442", lw=0)
    _connect(figure, axes, points[0][rows], points[1][rows], ["#F0E442"] * len(rows))
    figure.suptitle(
        f"Candidates: the {len(candidates)} pairs of the most similar descriptors; lines for {len(rows)}"
    )
    return figure


def draw_graph(pair: Pair, described: Described, candidates: Candidates, graph: AffinityGraph) -> Figure:
    """Draw, in both pictures, the edges of some weight between candidates that others support."""
    figure, axes = _panels(pair)
    source = np.repeat(np.arange(len(candidates)), np.diff(graph.indptr))
    order = np.lexsort((-graph.weights, source))
    rank = np.arange(len(source)) - graph.indptr[source[order]]
    drawn = order[(rank < HEAVIEST) & (graph.weights[order] >= LEAST_WEIGHT)]
    for axis, xy in zip(axes, _ends(candidates, described), strict=True):
        segments = np.stack([xy[source[drawn]], xy[graph.indices[drawn]]], axis=1)
        axis.add_collection(LineCollection(list(segments), colors="#F0E442", lw=0.6))
    weighty = int((graph.weights >= LEAST_WEIGHT).sum())
    figure.suptitle(
        f"Graph: {weighty} of {len(source)} edges weigh {LEAST_WEIGHT:g} or more;"
        f" drawn: the {HEAVIEST} heaviest of a candidate"
    )
    return figure


def draw_clusters(
    pair: Pair, described: Described, candidates: Candidates, found: Round, least: int
) -> Figure:
    """Draw the clusters with at least as many candidates as an object needs, before anything is removed."""
    figure, axes = _panels(pair)
    labels = np.full(len(candidates), -1, np.int64)
    labels[found.rows] = found.labels
    sizes = np.bincount(found.labels)
    large = np.argsort(-sizes, kind="stable")[: int((sizes >= least).sum())]
    for axis, xy in zip(axes, _ends(candidates, described), strict=True):
        rest = ~np.isin(labels, large)
        axis.scatter(*xy[rest].T, s=1.5, color="#b0b0b0", lw=0)
        for rank, label in enumerate(large):
            axis.scatter(*xy[labels == label].T, s=6, color=_tint(rank), lw=0)
    figure.suptitle(f"Clusters: {len(large)} have {least} candidates or more, a colour each; others in grey")
    return figure


def draw_objects(pair: Pair, result: MatchResult) -> Figure:
    """Draw the outlines and matches of the objects."""
    figure, axes = _panels(pair)
    for found in result.objects:
        own = result.cluster == found.id
        for axis, xy, outline in zip(
            axes, (result.xy0, result.xy1), (found.outline0, found.outline1), strict=True
        ):
            axis.scatter(*xy[own].T, s=3, color=_tint(found.id), lw=0)
            axis.plot(*np.vstack([outline, outline[:1]]).T, color=_tint(found.id), lw=2)
    figure.suptitle(f"Objects: {len(result.objects)}, of {(result.cluster >= 0).sum()} matches")
    return figure


def _panels(pair: Pair) -> tuple[Figure, list[Axes]]:
    tallest = max(picture.rgb.shape[0] / picture.rgb.shape[1] for picture in pair)
    figure = Figure(figsize=(10, 5 * tallest + 0.5), layout="constrained")
    axes = list(figure.subplots(1, 2))
    for axis, picture in zip(axes, pair, strict=True):
        axis.imshow(picture.rgb // 2)  # darker, so that what is drawn stands out
        axis.set_axis_off()
        axis.autoscale(False)
    return figure, axes


def _ends(candidates: Candidates, described: Described) -> list[NDArray[np.float64]]:
    points = candidates.xy0, candidates.xy1
    return [to_picture(xy, picture.step) for xy, picture in zip(points, described, strict=True)]


def _ellipses(features: Features, step: NDArray, edge: str, axis: Axes) -> EllipseCollection:
    frames = features.frames * step[:, None]
    axes, lengths, _ = np.linalg.svd(frames)
    angles = np.degrees(np.arctan2(axes[:, 1, 0], axes[:, 0, 0]))
    return EllipseCollection(
        2 * lengths[:, 0],
        2 * lengths[:, 1],
        angles,
        units="xy",
        offsets=to_picture(features.xy, step),
        transOffset=axis.transData,
        facecolors="none",
        edgecolors=edge,
        linewidths=0.6,
    )


def _connect(
    figure: Figure, axes: list[Axes], points0: NDArray, points1: NDArray, colours: list[str]
) -> None:
    """Draw lines from the left panel to the right one; the layout must already be final."""
    figure.draw_without_rendering()
    ends = [
        figure.transFigure.inverted().transform(axis.transData.transform(xy))
        for axis, xy in zip(axes, (points0, points1), strict=True)
    ]
    figure.set_layout_engine("none")
    lines = LineCollection(
        list(np.stack(ends, axis=1)), colors=colours, lw=0.4, alpha=0.5, transform=figure.transFigure
    )
    figure.add_artist(lines)


def _tint(number: int) -> tuple[float, ...]:
    return tuple(np.array(colour(number)) / 255)
