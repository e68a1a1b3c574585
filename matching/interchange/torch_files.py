"""Files of PyTorch: tensors in dictionaries and lists, as `torch.save` writes them; read without PyTorch.

Such a file is a zip archive: `data.pkl` builds the tensors, `data/0`, `data/1`, ... hold their numbers.
Because a pickle can run any code, this one may name nothing but the parts of tensors.
"""

import io
import math
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from matching._common.types import Array
from matching.errors import InputError
from matching.interchange.arrays import load_whole, matches_of
from matching.interchange.records import PairMatches
from matching.settings import LARGEST

KINDS = {
    "DoubleStorage": "f8",
    "FloatStorage": "f4",
    "HalfStorage": "f2",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}


def read_torch(path: Path) -> PairMatches:
    """Read the matches of a file that `torch.save` wrote."""
    return matches_of(path, load_whole(path, _load, "a file of torch.save"))


def _load(path: Path) -> Any:
    """The content of a file, with arrays in place of tensors."""
    with zipfile.ZipFile(path) as archive:
        [pickled] = [name for name in archive.namelist() if name.endswith("data.pkl")]
        top = pickled.removesuffix("data.pkl")
        packed = any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist())
        if packed or archive.getinfo(pickled).file_size > LARGEST:
            raise InputError(f"{path}: was not written by torch.save")
        order = "<"
        if f"{top}byteorder" in archive.namelist() and archive.read(f"{top}byteorder") == b"big":
            order = ">"
        return _Reader(path, archive, top, order).load()


class _Reader(pickle.Unpickler):
    """Reads a pickle that may name nothing but the parts of tensors."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, top: str, order: str) -> None:
        super().__init__(io.BytesIO(archive.read(f"{top}data.pkl")))
        self._path, self._archive, self._top, self._order = path, archive, top, order

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _make_tensor
        if module == "torch" and name in KINDS:
            return KINDS[name]
        raise InputError(f"{self._path}: must hold only tensors, but holds {module}.{name}")

    def persistent_load(self, pid: Any) -> Array:
        """The numbers of a storage: ("storage", kind, name, device, count)."""
        _, kind, name, *_ = pid
        data = self._archive.read(f"{self._top}data/{name}")
        if kind == "bfloat16":  # the upper half of a float32
            return (np.frombuffer(data, f"{self._order}u2").astype(np.uint32) << 16).view(np.float32)
        return np.frombuffer(data, np.dtype(kind).newbyteorder(self._order))


def _make_tensor(storage: Array, offset: int, shape: Any, strides: Any, *_: Any) -> Array:
    """Make the array of a tensor from a storage (n,)."""
    last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    if min((offset, *shape, *strides)) < 0 or math.prod(shape) > len(storage):
        raise ValueError("a tensor does not fit into its storage")
    if math.prod(shape) and last >= len(storage):
        raise ValueError("a tensor extends beyond its storage")
    steps = [step * storage.itemsize for step in strides]
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, steps).copy()
