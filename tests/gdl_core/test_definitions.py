"""The paper's definitions, theorem, lemma and update formula, on random graphs."""

import numpy as np
import pytest
from definitions import (
    affinity,
    affinity_matrix_form,
    directed_affinity,
    indegree,
    outdegree,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st


@st.composite
def three_clusters(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(3, 14))
    w = rng.random((n, n)) * (rng.random((n, n)) < draw(st.floats(0.1, 1)))
    np.fill_diagonal(w, 0)
    labels = rng.integers(0, 3, n)
    assume(len(set(labels.tolist())) == 3)
    return w, *(np.flatnonzero(labels == c) for c in range(3))


def test_affinities_equal_a_hand_computed_example():
    w = np.zeros((4, 4))
    w[0, 2], w[1, 2], w[2, 0], w[2, 1], w[3, 0] = 0.5, 0.25, 1.0, 0.5, 0.125
    a, b = [0, 1], [2, 3]
    assert indegree(w, 2, a) == 0.375
    assert outdegree(w, 2, a) == 0.75
    assert directed_affinity(w, b, a) == 0.375 * 0.75  # vertex 3 has no edge from a
    # from a to b: vertex 0 has in (1 + 1/8) / 2, out 1/4; vertex 1 in 1/4, out 1/8
    assert directed_affinity(w, a, b) == 0.5625 * 0.25 + 0.25 * 0.125
    assert affinity(w, a, b) == affinity_matrix_form(w, a, b) == 0.28125 + 0.171875


@given(three_clusters())
@settings(max_examples=60, deadline=None)
def test_theorem_1_holds(problem):
    w, a, b, _ = problem
    assert affinity_matrix_form(w, a, b) == pytest.approx(affinity(w, a, b), rel=1e-12, abs=1e-300)
    assert affinity(w, a, b) == pytest.approx(affinity(w, b, a), rel=1e-12, abs=1e-300)


@given(three_clusters())
@settings(max_examples=60, deadline=None)
def test_lemma_1_holds(problem):
    w, a, b, _ = problem
    one = np.ones(len(a))
    matrix_form = one @ w[np.ix_(a, b)] @ w[np.ix_(b, a)] @ one / len(a) ** 2
    assert directed_affinity(w, b, a) == pytest.approx(matrix_form, rel=1e-12, abs=1e-300)


@given(three_clusters())
@settings(max_examples=60, deadline=None)
def test_update_formula_of_equation_9_holds(problem):
    w, a, b, c = problem
    ab = np.concatenate([a, b])
    expected = directed_affinity(w, a, c) + directed_affinity(w, b, c)
    assert directed_affinity(w, ab, c) == pytest.approx(expected, rel=1e-12, abs=1e-300)
