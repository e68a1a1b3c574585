import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.matching.metrics import ObjectCount, count_objects, f_score, score_matches


def test_f_score_of_the_papers_example():
    assert round(f_score(532, 552, 533), 3) == 0.981


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_f_score_is_the_harmonic_mean(right, wrong, missed):
    f = f_score(right, right + wrong, right + missed)
    if right:
        precision, recall = right / (right + wrong), right / (right + missed)
        assert f == pytest.approx(2 * precision * recall / (precision + recall))
    else:
        assert f == 0


@pytest.mark.parametrize("counts", [(3, 2, 5), (3, 5, 2), (-1, 2, 2)])
def test_impossible_counts(counts):
    with pytest.raises(ValueError, match="n_true_kept must be in"):
        f_score(*counts)


def test_a_perfect_matcher_scores_one_and_keeping_everything_scores_the_base_rate():
    true = np.arange(200) < 30
    perfect, everything = score_matches(true, true), score_matches(np.ones(200, bool), true)
    assert (perfect.precision, perfect.recall, perfect.f) == (1, 1, 1)
    assert (everything.precision, everything.recall) == (0.15, 1)
    assert everything.f == pytest.approx(2 * 0.15 / 1.15)


def test_keeping_nothing_scores_zero():
    score = score_matches(np.zeros(5, bool), np.ones(5, bool))
    assert (score.precision, score.recall, score.f) == (0, 0, 0)


def clusters(*parts):
    """Each part: (cluster, instance, number of matches)."""
    return (np.repeat([p[k] for p in parts], [p[2] for p in parts]) for k in (0, 1))


def test_objects_whole_split_and_missed():
    cluster, instance = clusters((0, 0, 20), (1, 0, 10), (2, 1, 12), (-1, 2, 30), (-1, -1, 100))
    count = count_objects(cluster, instance, 3)
    assert count == ObjectCount(total=3, found=2, clusters=3, mixed=0)
    assert count.clusters_per_object == 1.5


def test_mixed_clusters():
    over_two, mostly_false, clean = [(0, 0, 40), (0, 1, 10)], [(1, 2, 4), (1, -1, 6)], [(2, 3, 9), (2, 0, 1)]
    assert count_objects(*clusters(*over_two), 4) == ObjectCount(4, 1, 1, 1)
    assert count_objects(*clusters(*mostly_false), 4) == ObjectCount(4, 0, 0, 1)
    assert count_objects(*clusters(*clean), 4) == ObjectCount(4, 1, 1, 0)


def test_small_clusters_do_not_count():
    assert count_objects(*clusters((0, 0, 7), (1, -1, 7)), 1) == ObjectCount(1, 0, 0, 0)


def test_nothing_kept_nothing_found():
    count = count_objects(np.full(4, -1), np.zeros(4, int), 2)
    assert count == ObjectCount(2, 0, 0, 0) and np.isnan(count.clusters_per_object)
