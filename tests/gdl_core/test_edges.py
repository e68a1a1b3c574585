import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from gdl_core._common.edges import find_wrong_edge, label_components
from gdl_core.graph import number_by_first


def random_edges(seed, n, most):
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, most + 1, n))])
    return indptr, rng.integers(0, n, indptr[-1]).astype(np.int32)


@pytest.mark.parametrize("seed", range(12))
def test_components_are_those_of_scipy(seed):
    n = 60
    indptr, indices = random_edges(seed, n, seed % 3 + 1)
    groups = np.random.default_rng(seed).permutation(np.arange(n) % (n - 3 * seed))
    joined = csr_matrix((np.ones(len(indices)), indices, indptr), shape=(n, n))
    for of_vertex in (np.arange(n), groups):  # groups: their members are joined one after the other
        order = np.argsort(of_vertex, kind="stable")
        same = of_vertex[order[1:]] == of_vertex[order[:-1]]
        links = csr_matrix((same.astype(float), (order[1:], order[:-1])), shape=(n, n))
        expected = connected_components(joined + links, connection="weak")[1]
        found = label_components(indptr, indices, of_vertex, of_vertex.max() + 1)
        assert np.array_equal(number_by_first(found), found)  # in the order of their first groups
        assert np.array_equal(number_by_first(found[of_vertex]), number_by_first(expected))


def test_the_first_wrong_edge_is_found():
    rows = [[1, 2], [0], [1, 0, 1], [3]]
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.concatenate(rows).astype(np.int32)
    assert find_wrong_edge(indptr, indices) == 5  # 2 -> 1 a second time
    assert find_wrong_edge(indptr[:3], indices[:3] % 2) == 1  # 0 -> 0
    assert find_wrong_edge(np.array([0, 1, 2]), np.array([1, 0], np.int32)) == -1
    assert find_wrong_edge(np.array([0]), np.empty(0, np.int32)) == -1
