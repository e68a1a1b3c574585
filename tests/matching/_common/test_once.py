import pickle
from dataclasses import dataclass, replace

import pytest

from matching._common.once import Later, deferred, once


class Counted:
    def __init__(self):
        self.n = 0

    @once
    def value(self):
        """The value."""
        self.n += 1
        return [self.n]


def test_value_is_computed_once_for_each_instance():
    first, second = Counted(), Counted()
    assert first.n == 0
    assert first.value is first.value
    assert (first.value, first.n, second.n) == ([1], 1, 0)
    assert second.value is not first.value
    assert second.n == 1


def test_value_is_kept_under_its_name():
    one = Counted()
    assert "value" not in vars(one)
    value = one.value
    assert vars(one)["value"] is value


def test_class_tells_what_it_computes():
    assert isinstance(Counted.value, once)
    assert Counted.value.__doc__ == "The value."


@dataclass(frozen=True)
class Record:
    number: int
    parts: deferred[tuple[int, ...]] = deferred()  # noqa: RUF009
    rest: deferred[str] = deferred("none")  # noqa: RUF009


@pytest.fixture
def later():
    """Parts that are computed later, and how often they were."""
    calls = []

    def compute():
        calls.append(1)
        return 1, 2

    return Later(compute), calls


def test_deferred_value_is_computed_when_it_is_read_and_kept(later):
    value, calls = later
    record = Record(5, value)
    assert (record.number, record.rest, len(calls)) == (5, "none", 0)
    assert record.parts is record.parts
    assert (record.parts, len(calls)) == ((1, 2), 1)
    assert Record(5, (3,), "all") == Record(5, Later(lambda: (3,)), "all")


def test_field_without_a_default_must_be_given():
    with pytest.raises(TypeError, match="parts"):
        Record(5)


def test_replaced_record_has_the_value(later):
    value, _ = later
    assert replace(Record(5, value), number=7) == Record(7, (1, 2))


def test_record_is_read_before_it_is_pickled(later):
    value, calls = later
    record = Record(5, value)
    assert pickle.loads(pickle.dumps(record)) == record
    assert len(calls) == 1
