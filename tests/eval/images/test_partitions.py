import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.images.partitions import agreement, clustering_error, nmi

PARTITIONS = st.lists(st.integers(0, 3), min_size=2, max_size=12)


def test_measures_of_a_hand_computed_case():
    # classes 3 + 3; clusters {1, 2}, {3, 4}, {5, 6}: H(truth) = ln 2, H(labels) = ln 3,
    # I = 2/6 ln 2 * 2 (pure clusters) + 2 * 1/6 ln 1 = 2/3 ln 2
    found = agreement([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2])
    assert found.nmi == pytest.approx(2 / 3 * np.log(2) / np.sqrt(np.log(2) * np.log(3)))
    assert found.ce == pytest.approx(2 / 6)  # clusters 0 and 2 are right, cluster 1 has no class
    # pairs together in both 2, expected 6 * 3 / 15 = 1.2, most (6 + 3) / 2 = 4.5
    assert found.ari == pytest.approx((2 - 1.2) / (4.5 - 1.2))
    assert found.n_clusters == 3


def test_noise_is_one_more_cluster_but_not_counted():
    found = agreement([0, 0, 1, 1], [-1, -1, 5, 5])
    assert (found.nmi, found.ce, found.n_clusters) == (1.0, 0.0, 1)


@given(PARTITIONS, st.randoms(use_true_random=False))
def test_error_is_the_least_over_all_maps(labels, random):
    from itertools import permutations

    truth = [random.randint(0, 3) for _ in labels]
    least = min(
        np.mean([p[c] != t for c, t in zip(labels, truth, strict=True)]) for p in permutations(range(4))
    )
    assert clustering_error(truth, labels) == pytest.approx(least)


@given(PARTITIONS)
def test_names_of_clusters_do_not_matter(labels):
    renamed = [7 - c for c in labels]
    assert clustering_error(labels, renamed) == 0
    assert nmi(labels, renamed) == pytest.approx(1.0)
