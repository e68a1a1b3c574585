import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from gdl_core._common.components import number_components


@pytest.mark.parametrize("n_links", [0, 20, 60, 90])
def test_components_equal_those_of_scipy(n_links):
    n = 60
    source, target = np.random.default_rng(n_links).integers(0, n, (2, n_links))
    links = coo_matrix((np.ones(n_links), (source, target)), shape=(n, n))
    assert np.array_equal(
        number_components(n, source, target), connected_components(links, directed=False)[1]
    )


def test_long_chain_is_one_component():
    items = np.random.default_rng(0).permutation(1000)
    assert (number_components(1000, items[:-1], items[1:]) == 0).all()
