import pytest

from matching.threads import default_threads, in_ranges


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 25])
def test_ranges_cover_everything_once(n, n_threads):
    seen = []
    in_ranges(lambda start, stop: seen.extend(range(start, stop)), n, n_threads, 8)
    assert sorted(seen) == list(range(n))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_errors_are_not_lost(n_threads):
    with pytest.raises(ZeroDivisionError):
        in_ranges(lambda start, stop: 1 // (start - 8), 20, n_threads, 8)


def test_at_least_one_thread():
    assert default_threads() >= 1
