import numpy as np

from matching._common.components import find_components


def test_linked_items_have_the_same_number():
    assert find_components(5, np.array([[3, 0], [0, 3], [4, 1]])).tolist() == [0, 1, 2, 0, 1]
    assert find_components(2, np.empty((0, 2))).tolist() == [0, 1]
    assert find_components(0, np.empty((0, 2))).shape == (0,)
