"""Figures show the sizes, colours and scores of clusters."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_blobs

from gdl_core import GraphDegreeLinkage, connectivity_scores, plot_condensed, plot_dendrogram, plot_scores


@pytest.fixture(autouse=True)
def _no_windows():
    from matplotlib import pyplot as plt

    mpl.use("Agg")
    yield
    plt.close("all")


def test_dendrogram_labels_its_leaves_with_their_sizes():
    model = GraphDegreeLinkage().fit(make_blobs(200, centers=3, random_state=0)[0])
    ax = plot_dendrogram(model, n_leaves=12)
    texts = [t.get_text() for t in ax.get_xticklabels()]
    assert len(texts) == 12
    assert sum(int(t[1:-1]) if t.startswith("(") else 1 for t in texts) == 200
    assert plot_dendrogram(model, ax) is ax
    assert plot_dendrogram(GraphDegreeLinkage(1).fit([[0.0]])) is not None


@pytest.mark.parametrize("plot", [plot_dendrogram, plot_condensed, plot_scores])
def test_new_figure_has_room_for_its_labels(plot):
    """The sizes of large branches are turned, so they need more room."""
    model = GraphDegreeLinkage().fit(make_blobs(20_000, centers=3, random_state=0)[0][::4])
    ax = plot(model)
    figure = ax.figure
    figure.canvas.draw()
    for label in (ax.xaxis.label, ax.yaxis.label):
        box = label.get_window_extent()
        assert min(box.x0, box.y0) >= 0
        assert box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1


def test_condensed_plot_draws_large_branches_in_the_colours_of_clusters():
    x, _ = make_blobs([100, 60, 40], centers=[[0, 0], [9, 0], [4, 8]], random_state=0)
    model = GraphDegreeLinkage().fit(x)
    ax = plot_condensed(model, min_size=25)
    boxes = [area.get_paths()[0].get_extents() for area in ax.collections]
    colors = [tuple(area.get_facecolor()[0]) for area in ax.collections]
    assert max(box.x1 for box in boxes) == 200
    assert boxes[0].width == 200  # the root, grey
    grey = tuple(mpl.colors.to_rgba("0.8"))
    ends = {round(box.width) for box, color in zip(boxes, colors, strict=True) if color != grey}
    assert {100, 60, 40} <= ends
    assert len(set(colors) - {grey}) == 3
    for a, b in itertools.pairwise(boxes):  # none over another
        assert a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0
    assert plot_condensed(model, ax) is ax
    assert len(plot_condensed(GraphDegreeLinkage(1).fit([[0.0]])).collections) == 1


def test_score_plot_draws_scores_in_descending_order():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) + 30, rng.uniform(60, 300, (20, 2))]
    )
    model = GraphDegreeLinkage(5, n_neighbors=10, min_cluster_size=1).fit(x)
    ax = plot_scores(model)
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, sorted(connectivity_scores(model.graph_, model.labels_))[::-1])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["above the largest gap", "below"]
    assert plot_scores(GraphDegreeLinkage(1).fit(x[:80])).get_legend() is None
