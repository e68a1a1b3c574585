from matching._common.once import once


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
