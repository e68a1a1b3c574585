"""Pictures of one trial: the pair, its candidates with their truth, a detection (the paper's Fig. 5), and the
connectivity scores of its clusters with the cut (the supplement's figure)."""

from pathlib import Path

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

import gdl_core
from eval.methods import composite_config, label_candidates
from eval.metrics import count_objects, score_matches
from eval.trials import LabelledCandidates
from matching.clustering import by_falling_score, cluster_correspondences, scoring_graph, select_objects
from matching.geometry import acc_neighbors
from synth.composite import CompositePair

TRUE, FALSE = "#F0E442", "#D55E00"  # Okabe and Ito: yellow as in the paper, vermilion for its red
CLUSTERS = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00", "#FFFFFF")


def draw_detection(pair: CompositePair, trial: LabelledCandidates, method: str, path: Path) -> None:
    """Three rows: the pair; its candidates, true ones yellow; what the method keeps, a colour a cluster."""
    labels = label_candidates(trial.candidates, (method,))[method].labels
    true = trial.instance >= 0
    score = score_matches(labels >= 0, true)
    objects = count_objects(labels, trial.instance, pair.n_instances)
    figure = Figure(figsize=(8, 12.6), layout="constrained")
    axes = figure.subplots(3, 1)
    both = np.hstack([pair.image0, pair.image1])
    s = pair.settings
    titles = (
        f"(a) A pair, M = {s['n_common']}, σₙ = {s['sigma']:g} px, seed {s['seed']}",
        f"(b) Candidates: {true.sum()} true (yellow), {(~true).sum()} false (red)",
        f"(c) {method}: {(labels >= 0).sum()} kept, {(true & (labels >= 0)).sum()} true, F = {score.f:.3f}; "
        f"objects {objects.found} of {objects.total} in {objects.clusters} clusters",
    )
    for axis, title in zip(axes, titles, strict=True):
        axis.imshow(both)
        axis.set_title(title, fontsize=11)
        axis.set_axis_off()
    colours = np.where(true, TRUE, FALSE)
    drawn = np.argsort(true, kind="stable")  # the true ones on top
    _lines(axes[1], trial, drawn, colours[drawn], pair.image0.shape[1])
    kept = np.flatnonzero(labels >= 0)
    _lines(axes[2], trial, kept, [CLUSTERS[labels[i] % len(CLUSTERS)] for i in kept], pair.image0.shape[1])
    _save(figure, path)


def _lines(axis, trial: LabelledCandidates, index: NDArray, colours, width: int) -> None:
    c = trial.candidates[index]
    segments = np.stack([c.xy0, c.xy1 + np.array([width, 0])], axis=1)
    axis.add_collection(LineCollection(segments, colors=colours, linewidths=0.4, alpha=0.6))


def cluster_scores(
    trial: LabelledCandidates,
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
    """Of AGDL's n_T clusters, by falling connectivity score: the score, whether it is kept, the share of true
    matches. Without the stages that make clusters whole."""
    config = composite_config().clustering
    k = min(config.n_neighbors, len(trial.candidates) - 1)
    knn = acc_neighbors(trial.candidates, k, slope=config.gap_slope)
    labels = cluster_correspondences(knn, config)
    scores = gdl_core.connectivity_scores(scoring_graph(trial.candidates, knn, config), labels)
    labels, scores = by_falling_score(labels, scores, np.ones(len(scores), bool))
    kept = select_objects(scores, np.bincount(labels, minlength=len(scores)), config)
    share = [(trial.instance[labels == k] >= 0).mean() for k in range(len(scores))]
    return scores, kept, np.array(share)


def draw_scores(trial: LabelledCandidates, path: Path) -> None:
    """The sorted connectivity scores; filled where most of the cluster's matches are true; the cut dashed."""
    scores, kept, share = cluster_scores(trial)
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axis = figure.subplots()
    rank = np.arange(1, len(scores) + 1)
    axis.plot(rank, scores, color="#777777", lw=1, zorder=1)
    for mostly, label, face in (
        (share >= 0.5, "mostly true", "#0072B2"),
        (share < 0.5, "mostly false", "white"),
    ):
        axis.scatter(rank[mostly], scores[mostly], s=22, c=face, edgecolors="#0072B2", label=label, zorder=2)
    if kept.any() and not kept.all():
        middle = (scores[kept].min() + scores[~kept].max()) / 2
        axis.axhline(middle, color="#D55E00", ls="--", label="cut")
    axis.set(xlabel="cluster, by falling score", ylabel="connectivity score")
    axis.legend(frameon=False)
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    figure.savefig(beside, format="png", dpi=130)
    beside.replace(path)
