import numpy as np
import pytest
import scipy.sparse

from gdl_core._common.transpose import transpose


@pytest.mark.parametrize("n", [1, 5, 300])
def test_transpose_equals_the_transposed_matrix(n):
    matrix = scipy.sparse.random(n, n, 0.1, format="csr", random_state=0)
    matrix.sort_indices()
    start, source, edge = transpose(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32))
    transposed = matrix.T.tocsr()
    assert np.array_equal(start, transposed.indptr)
    assert np.array_equal(source, transposed.indices)
    assert np.array_equal(matrix.data[edge], transposed.data)
