import numpy as np
import pytest
from planted import planted
from scipy import sparse

from eval.matching.rivals.graph_shift import affinity, shift


def density(w, x):
    return float(x @ (w @ x))


def test_affinity():
    d = np.array([[0.0, 10.0, 30.0], [10.0, 0.0, 24.0], [30.0, 24.0, 0.0]])
    w = affinity(d, beta=50, sigma_s=0.7).toarray()
    assert w == pytest.approx(
        np.array([[0, 50 - 10 / 0.49, 0], [50 - 10 / 0.49, 0, 50 - 24 / 0.49], [0, 1, 0]]), abs=0.03
    )
    assert w == pytest.approx(w.T)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.slow
def test_a_shift_ends_in_a_mode(seed):
    _, distances, _ = planted(n_inliers=(40, 40), n_outliers=30, seed=seed)
    w = affinity(distances, 50, 0.8)
    for start in range(0, len(distances), 7):
        x = shift(w, start)
        if x.sum() == 0:
            assert w[[start]].sum() == 0
            continue
        assert x.sum() == pytest.approx(1) and (x >= 0).all()
        wx, g = w @ x, density(w, x)
        assert wx[x > 1e-3].min() > 0.98 * g and wx.max() < 1.02 * g


def test_a_clique_is_its_own_mode():
    # vertices 0 to 4 with affinity 1 to each other: uniform weights, density 1 - 1/5; vertex 5 hangs on
    # vertex 0
    w = np.ones((6, 6)) - np.eye(6)
    w[5] = w[:, 5] = 0
    w[5, 0] = w[0, 5] = 0.9
    for start in range(6):
        x = shift(sparse.csr_array(w), start)
        assert x == pytest.approx(np.array([0.2] * 5 + [0]), abs=0.01)


def test_a_shift_never_lowers_the_density():
    _, distances, _ = planted(n_inliers=(30,), n_outliers=20, seed=4)
    w = affinity(distances, 50, 0.8)
    single_edges = w.max(axis=1).toarray().ravel() / 2  # the best pair that holds the start
    for start in range(0, 50, 5):
        assert density(w, shift(w, start)) >= 0.99 * single_edges[start] * (w[[start]].nnz > 0) * 0.5
