"""One digest of everything that the machine code of a kernel depends on.

A kernel is compiled from its code, the `inner` functions that it calls, and the values that this code names:
constants, default arguments, variables of an enclosing function, attributes of modules. The digest covers all
of them. If the content of any of these is unknown, there is no digest.
"""

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

FOREIGN = {"builtins", "cmath", "llvmlite", "math", "numba", "numpy", "operator", "random", "typing"}
"""Modules that Numba handles by itself; its version stands for them."""

NUMBERS = bool, int, float, complex, np.generic, np.dtype


class Declared(NamedTuple):
    """How a function is compiled: as a kernel or a part of kernels, and the options of Numba."""

    is_kernel: bool
    options: dict[str, Any]


declared: dict[Any, Declared] = {}  # how each function is compiled


class CallsKernelError(TypeError):
    """A kernel calls another kernel, which the cache can't link with."""


def digest_parts(kernel: Any) -> str:
    """Compute a digest of all that a kernel is compiled from.

    Parameters
    ----------
    kernel : callable
        The function, not compiled.

    Returns
    -------
    str
        The SHA-256.

    Raises
    ------
    CallsKernelError
        One of the functions is a kernel itself.
    TypeError
        One of the values is of a kind whose content is not known.
    """
    digest = hashlib.sha256()
    todo, seen = [kernel], {kernel}
    for function in todo:  # grows during the loop
        try:
            for text in _list_contents(function, todo, seen):
                digest.update(text)
        except CallsKernelError:
            raise
        except TypeError as error:
            raise TypeError(f"{function.__module__}.{function.__qualname__}: {error}") from None
    return digest.hexdigest()


def _list_contents(function: Any, todo: list[Any], seen: set[Any]) -> Iterator[bytes]:
    """Encode a function, and append the functions that it calls to ``todo``."""
    codes = [*_list_codes(function.__code__)]
    looked_up = frozenset(name for code in codes for name in code.co_names)
    encode = partial(_encode, known=_Known(partial(_note, function, todo, seen), looked_up))
    how = declared.get(function)
    yield encode(sorted(how.options.items())) if how else b"plain"
    yield encode((function.__defaults__, tuple(sorted((function.__kwdefaults__ or {}).items()))))
    yield encode(tuple(cell.cell_contents for cell in function.__closure__ or ()))
    for code in codes:
        constants = tuple(value for value in code.co_consts if not isinstance(value, CodeType))
        names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        numbers = code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags
        yield encode((code.co_code, code.co_exceptiontable, names, numbers, constants))
        # more than the globals that are used: co_names also holds names of attributes
        for name in (name for name in code.co_names if name in function.__globals__):
            yield encode((name, function.__globals__[name]))


def _note(caller: Any, todo: list[Any], seen: set[Any], called: Any) -> None:
    if declared[called].is_kernel:
        name = called.__name__
        raise CallsKernelError(f"{caller.__name__} calls the kernel {name}, which must be an inner function")
    if called not in seen:
        seen.add(called)
        todo.append(called)


def _list_codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of its comprehensions."""
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _list_codes(value)


class _Known(NamedTuple):
    """The context for encoding a value of a function: a callable that notes functions, the names of
    attributes that the function may look up, and the modules on the way to the value.
    """

    note: Callable[[Any], None]
    names: frozenset[str]
    modules: tuple[ModuleType, ...] = ()


def _encode(value: Any, known: _Known) -> bytes:
    """Encode a value so that no other value gives the same bytes, and note the functions in it."""
    kind = type(value).__name__
    if value is None or value is ... or isinstance(value, NUMBERS):
        return _frame(kind, repr(value).encode())
    if isinstance(value, (str, bytes)):
        return _frame(kind, value if isinstance(value, bytes) else value.encode())
    if isinstance(value, (tuple, list)):
        fields = repr(getattr(value, "_fields", ())).encode()
        return _frame(kind, fields, *(_encode(v, known) for v in value))
    if isinstance(value, (dict, frozenset, set)):
        items = value.items() if isinstance(value, dict) else value
        return _frame(kind, *sorted(_encode(v, known) for v in items))
    if isinstance(value, slice):
        return _frame(kind, _encode((value.start, value.stop, value.step), known))
    if type(value) is np.ndarray and not value.dtype.hasobject:
        order = value.flags.c_contiguous, value.flags.f_contiguous, value.flags.writeable
        return _frame(kind, repr((value.dtype.descr, value.shape, order)).encode(), value.tobytes())
    return _encode_name(value, known)


def _encode_name(value: Any, known: _Known) -> bytes:
    """Encode a value by its name instead of its content: a function, a class, or a module and the attributes
    that may be looked up in it.
    """
    function = getattr(value, "py_func", value)
    if isinstance(function, FunctionType) and function in declared:
        known.note(function)
        return _frame("function", f"{function.__module__}.{function.__qualname__}".encode())
    if function is not value and not _is_foreign(function.__module__):
        raise TypeError(f"it calls {value!r}, which must be an inner function")
    if isinstance(value, ModuleType):
        found: list[Any] = []
        if not _is_foreign(value.__name__) and value not in known.modules:
            known = known._replace(modules=(*known.modules, value))
            found = [(name, getattr(value, name)) for name in sorted(known.names) if hasattr(value, name)]
        return _frame("module", value.__name__.encode(), _encode(found, known))
    named = isinstance(value, (type, BuiltinFunctionType, np.ufunc, FunctionType))
    home = getattr(value, "__module__", None) or ("numpy" if isinstance(value, np.ufunc) else "")
    if (named and _is_foreign(home)) or type(value).__module__.partition(".")[0] == "numba":
        return _frame("foreign", f"{home}.{getattr(value, '__qualname__', repr(value))}".encode())
    if isinstance(value, type) and issubclass(value, BaseException):
        return _frame("error", f"{home}.{value.__qualname__}".encode())
    raise TypeError(f"its compiled code may depend on {value!r}, whose content is not known")


def _is_foreign(module: str) -> bool:
    return module.partition(".")[0] in FOREIGN


def _frame(kind: str, *parts: bytes) -> bytes:
    """Join parts so that no other parts give the same bytes."""
    return b"".join([f"{kind} {' '.join(str(len(part)) for part in parts)}:".encode(), *parts])
