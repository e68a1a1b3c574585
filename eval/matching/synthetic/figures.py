"""Pictures of one trial, one for each stage: the pair and a detection (the paper's Fig. 5), the graph of its
candidates, the clusters before and after outliers leave, and the connectivity scores with the largest gap
(the supplement's figure)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from eval.matching.metrics import count_objects, score_matches
from eval.matching.synthetic.methods import label_candidates
from eval.matching.synthetic.trials import Trial
from gdl_core import AffinityGraph
from matching import MatchConfig
from matching.grouping import clustering
from matching.grouping.stages import find_clusters
from synth.composite import CompositePair

TRUE, FALSE = "#F0E442", "#D55E00"  # Okabe and Ito: yellow as in the paper, vermilion for its red
BETWEEN = "#CC79A7"  # edges from a true match to a false one, or to another object
CLUSTERS = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00", "#FFFFFF")
LEAST_DRAWN = 0.05  # weight of an edge that is drawn


@dataclass(frozen=True, eq=False)
class Stages:
    """The first round of the grouping of a trial's m candidates, up to where objects are chosen.

    graph : AffinityGraph, the weights of the edges
    clusters : (m,) int64, all that merging leaves, by descending size; -1 for candidates without support
    members : (m,) int64, the same without small clusters and members of small degree (-1)
    scores : (n,) float64 connectivity scores of the remaining clusters, descending
    kept : (n,) bool, whether a score is above the largest gap
    share : (n,) float64, share of true matches
    """

    graph: AffinityGraph
    clusters: NDArray[np.int64]
    members: NDArray[np.int64]
    scores: NDArray[np.float64]
    kept: NDArray[np.bool_]
    share: NDArray[np.float64]


def stages(trial: Trial) -> Stages:
    """Run the stages without the smooth map and suppression, which change only objects."""
    config = MatchConfig()
    c = trial.candidates
    correspondences = c.correspondences
    found = find_clusters(correspondences, config)
    assert found is not None, "a trial has enough true matches"
    clusters = np.full(len(correspondences), -1, np.int64)
    clusters[found.rows] = np.argsort(np.argsort(-np.bincount(found.labels), kind="stable"))[found.labels]
    graph, k = _among_all(found.graph, found.rows, len(correspondences)), found.knn.n_neighbors
    members = clustering.drop_outliers(graph, clusters, config.clustering.min_degree * k)
    sizes = np.bincount(members[members >= 0], minlength=1)
    members[sizes[members] < config.objects.min_matches] = -1
    parts = [np.flatnonzero(members == k) for k in np.unique(members[members >= 0])]
    scores = clustering.cluster_scores(graph, parts, k)
    order = np.argsort(-scores, kind="stable")
    kept = clustering.find_above_largest_gap(scores[order])
    share = np.array([(trial.instance[parts[k]] >= 0).mean() for k in order])
    return Stages(graph, clusters, members, scores[order], kept, share)


def _among_all(graph: AffinityGraph, rows: NDArray[np.int64], m: int) -> AffinityGraph:
    """The graph of some rows as a graph of all m, in which the others have no edges."""
    n_edges = np.zeros(m, np.int64)
    n_edges[rows] = np.diff(graph.indptr)
    return AffinityGraph(np.append(0, np.cumsum(n_edges)), rows[graph.indices], graph.weights)


def draw_detection(pair: CompositePair, trial: Trial, method: str, path: Path) -> None:
    """Three rows: the pair; its candidates, true ones yellow; what the method keeps, coloured by cluster."""
    found = label_candidates(trial.candidates, trial.pool, (method,))[method].labels
    labels = found[: len(trial.instance)]
    true = trial.instance >= 0
    score = score_matches(labels >= 0, true)
    objects = count_objects(labels, trial.instance, pair.n_instances)
    figure = Figure(figsize=(8, 12.6), layout="constrained")
    axes = figure.subplots(3, 1)
    s = pair.settings
    titles = (
        f"(a) A pair, M = {s['n_common']}, σₙ = {s['sigma']:g} px, seed {s['seed']}",
        f"(b) Candidates: {true.sum()} true (yellow), {(~true).sum()} false (red)",
        f"(c) {method}: {(labels >= 0).sum()} kept, {(true & (labels >= 0)).sum()} true, F = {score.f:.3f}; "
        f"objects {objects.found} of {objects.total} in {objects.clusters} clusters",
    )
    for axis, title in zip(axes, titles, strict=True):
        _show(axis, np.hstack([pair.image0, pair.image1]), title)
    colours = np.where(true, TRUE, FALSE)
    drawn = np.argsort(true, kind="stable")  # the true ones on top
    _matches(axes[1], trial, drawn, colours[drawn], pair)
    kept = np.flatnonzero(labels >= 0)
    _matches(axes[2], trial, kept, _colours(labels[kept]), pair)
    _save(figure, path)


def draw_graph(pair: CompositePair, trial: Trial, found: Stages, path: Path) -> None:
    """The edges between candidates in either image, coloured by what they join."""
    graph, instance = found.graph, trial.instance
    source, target = np.repeat(np.arange(len(instance)), np.diff(graph.indptr)), graph.indices
    drawn = np.flatnonzero(graph.weights >= LEAST_DRAWN)
    drawn = drawn[np.argsort(graph.weights[drawn], kind="stable")]
    ends = instance[source[drawn]], instance[target[drawn]]
    inside, outside = (ends[0] == ends[1]) & (ends[0] >= 0), (ends[0] < 0) & (ends[1] < 0)
    colours = np.select([inside, outside], [TRUE, FALSE], BETWEEN)
    figure = Figure(figsize=(10, 5.6), layout="constrained")
    axes = figure.subplots(1, 2)
    figure.suptitle(
        f"{len(drawn)} of {len(source)} edges weigh {LEAST_DRAWN:g} or more: {inside.sum()} in one object "
        f"(yellow),\n{outside.sum()} between false matches (red), {(~inside & ~outside).sum()} others (pink)",
        fontsize=11,
    )
    points = trial.candidates.xy0, trial.candidates.xy1
    for axis, image, xy in zip(axes, (pair.image0, pair.image1), points, strict=True):
        _show(axis, image, "")
        segments = np.stack([xy[source[drawn]], xy[target[drawn]]], axis=1)
        widths = 0.6 * graph.weights[drawn]
        axis.add_collection(LineCollection(segments, colors=colours, linewidths=widths, alpha=0.6))
    _save(figure, path)


def draw_clusters(pair: CompositePair, trial: Trial, found: Stages, path: Path) -> None:
    """Clusters of at least as many matches as an object has, before and after outliers leave."""
    least = MatchConfig().objects.min_matches
    n_large = np.count_nonzero(np.bincount(found.clusters[found.clusters >= 0]) >= least)
    large = np.flatnonzero((found.clusters >= 0) & (found.clusters < n_large))
    left = np.flatnonzero(found.members >= 0)
    figure = Figure(figsize=(8, 8.6), layout="constrained")
    rows = (
        (found.clusters, large, f"(a) Clusters of {least} or more"),
        (found.members, left, "(b) Without members of small degree"),
    )
    for axis, (labels, index, title) in zip(figure.subplots(2, 1), rows, strict=True):
        true = (trial.instance[index] >= 0).sum()
        title += f": {len(np.unique(labels[index]))}, of {len(index)} matches, {true} true"
        _show(axis, np.hstack([pair.image0, pair.image1]), title)
        _matches(axis, trial, index, _colours(labels[index]), pair)
    _save(figure, path)


def draw_scores(found: Stages, path: Path) -> None:
    """The connectivity scores, descending; filled if most of the cluster's matches are true; the largest gap
    dashed.
    """
    scores, kept = found.scores, found.kept
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axis = figure.subplots()
    rank = np.arange(1, len(scores) + 1)
    axis.plot(rank, scores, color="#777777", lw=1, zorder=1)
    for mostly, label, face in (
        (found.share >= 0.5, "mostly true", "#0072B2"),
        (found.share < 0.5, "mostly false", "white"),
    ):
        axis.scatter(rank[mostly], scores[mostly], s=22, c=face, edgecolors="#0072B2", label=label, zorder=2)
    if kept.any():  # the gap below the lowest score, down to 0, counts as well
        below = scores[~kept].max(initial=0.0)
        axis.axhline((scores[kept].min() + below) / 2, color="#D55E00", ls="--", label="largest gap")
    axis.set(xlabel="cluster, by descending score", ylabel="connectivity score", ylim=(0, 1), xticks=rank)
    axis.legend(frameon=False)
    _save(figure, path)


def _show(axis, image: NDArray, title: str) -> None:
    axis.imshow(image)
    axis.set_title(title, fontsize=11)
    axis.set_axis_off()


def _matches(axis, trial: Trial, index: NDArray, colours, pair: CompositePair) -> None:
    c, right = trial.candidates[index], np.array([pair.image0.shape[1], 0])
    segments = np.stack([c.xy0, c.xy1 + right], axis=1)
    axis.add_collection(LineCollection(segments, colors=colours, linewidths=0.4, alpha=0.6))


def _colours(labels: NDArray) -> list[str]:
    return [CLUSTERS[k % len(CLUSTERS)] for k in labels]


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    figure.savefig(beside, format="png", dpi=130)
    beside.replace(path)
