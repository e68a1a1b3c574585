import math

import numpy as np

from gdl_core._common.exponential import BLOCK_SIZE, exp_of_negative


def test_error_is_at_most_one_unit_in_the_last_place():
    x = -np.random.default_rng(0).gamma(0.5, 20, 2 * BLOCK_SIZE + 7)
    exact = np.exp(x.astype(np.longdouble))
    assert (np.abs(exp_of_negative(x) - exact) <= np.spacing(exact.astype(float))).all()


def test_limits_are_exact():
    found = exp_of_negative(np.array([0.0, -0.0, -5e-324, -1e-17, -745.0, -746.0, -1e300, -np.inf]))
    assert found.tolist() == [1.0, 1.0, 1.0, 1.0, math.exp(-745.0), 0.0, 0.0, 0.0]
    assert exp_of_negative(np.empty(0)).tolist() == []
