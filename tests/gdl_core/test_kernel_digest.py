"""The digest of a kernel: what changes it, and what it refuses."""

import importlib
from pathlib import Path

import pytest

from gdl_core._common.kernel_digest import CallsKernelError, declared, digest_parts

ROOT = Path(__file__).parents[2]


def _kernels():
    for package in ("gdl_core", "matching", "eval", "synth"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if "njit" in path.read_text(encoding="utf-8"):
                importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    own = ("gdl_core.", "matching.", "eval.", "synth.")
    return [f for f, how in declared.items() if how.is_kernel and f.__module__.startswith(own)]


def test_each_kernel_has_a_digest_and_none_calls_another_one():
    kernels = _kernels()
    assert len(kernels) > 30
    assert len({digest_parts(kernel) for kernel in kernels}) == len(kernels)


def test_a_kernel_that_calls_another_one_is_refused():
    from gdl_core._common.jit import inner, njit

    scope = {"njit": njit, "inner": inner, "__name__": "test"}
    exec("@njit\ndef one(x): return x\n@inner\ndef two(x): return one(x)\ndef three(x): return two(x)", scope)
    with pytest.raises(CallsKernelError, match="two calls the kernel one, which must be an inner function"):
        digest_parts(scope["three"])
    with pytest.raises(CallsKernelError):
        njit(scope["three"])(1)


def test_digests_do_not_depend_on_where_code_lies_in_memory():
    scopes = [{"__name__": "test"}, {"__name__": "test"}]
    for scope in scopes:
        exec("def total(x): return sum([abs(v) for v in x])", scope)
    first, second = (digest_parts(scope["total"]) for scope in scopes)
    assert first == second


SOURCE = """
import collections, types, numpy as np
from gdl_core._common.jit import inner
other = types.ModuleType("other")
exec("SIZE = 2", vars(other))
other.below = types.ModuleType("below")
exec("DEPTH = 2", vars(other.below))
POINT = collections.namedtuple("Point", "a b")(1, 2)
TABLE = np.arange(3.0)
PAIR = (1, -0.0)
@inner(inline="never")
def half(x, by=2): return x / by
def make(step, given=other):
    def kernel(x, start=0, *, stop=9):
        try: return half(x) +\\
            TABLE[start] + PAIR[0] + other.SIZE + step + (x in {1, 2}) + sum([v for v in (3, 4)]) +\
            other.below.DEPTH + given.below.DEPTH + POINT.a
        except Exception: return 5
    return kernel
kernel = make(1)
"""


def _digest(source):
    scope = {"__name__": "test"}
    exec(source, scope)
    return digest_parts(scope["kernel"])


CHANGES = {
    "an array": ("arange(3.0)", "arange(3.0) + 1e-16 * np.eye(3)[0]"),
    "the type of an array": ("arange(3.0)", "arange(3.0, dtype='f4')"),
    "the shape of an array": ("arange(3.0)", "arange(3.0)[:, None]"),
    "a number": ("PAIR = (1", "PAIR = (2"),
    "its type": ("PAIR = (1", "PAIR = (True"),
    "its sign": ("-0.0", "0.0"),
    "an option": ('inline="never"', 'inline="always"'),
    "a default argument": ("start=0", "start=1"),
    "one of an inner function": ("by=2", "by=3"),
    "one with a name": ("stop=9", "stop=8"),
    "a variable of a closure": ("make(1)", "make(2)"),
    "a name through a module": ("SIZE = 2", "SIZE = 3"),
    "a name through two modules": ("DEPTH = 2", "DEPTH = 3"),
    "names of a tuple": ('"a b"', '"b a"'),
    "a set": ("{1, 2}", "{1, 3}"),
    "a comprehension": ("(3, 4)", "(3, 5)"),
    "an exception that is caught": ("except Exception", "except ValueError"),
    "what an error gives": ("return 5", "return 6"),
}


@pytest.mark.parametrize(("old", "new"), CHANGES.values(), ids=CHANGES)
def test_a_digest_holds(old, new):
    assert SOURCE.count(old) == 1
    assert _digest(SOURCE) == _digest(SOURCE) != _digest(SOURCE.replace(old, new))


@pytest.mark.parametrize("place", ["(x, other=other): return x", "(x, y=(other,)): return x + y[0]"])
def test_a_module_may_be_a_default_argument(place):
    module = "import types\nother = types.ModuleType('other')\nother.SIZE = 2"
    source = f"{module}\ndef kernel{place}.SIZE\ndel other"
    assert _digest(source) != _digest(source.replace("= 2", "= 3"))


@pytest.mark.parametrize(
    "value", ["object()", "np.array([None])", "lambda x: x", "types.SimpleNamespace(a=1)"]
)
def test_what_the_digest_cannot_hold_is_refused(value):
    with pytest.raises(TypeError, match="whose content is not known"):
        _digest(SOURCE.replace("PAIR = (1, -0.0)", f"PAIR = ({value}, 0)"))


def test_a_function_that_numba_compiles_on_its_own_is_refused():
    with pytest.raises(TypeError, match="which must be an inner function"):
        _digest(SOURCE.replace("@inner(inline=", "import numba\n@numba.njit(inline="))
