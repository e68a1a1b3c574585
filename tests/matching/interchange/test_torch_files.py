"""Files of torch.save, written by hand as PyTorch writes them, and by PyTorch where it is installed."""

import io
import pickle
import struct
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

from matching import InputError, read_matches

NAMES = {"f8": "Double", "f4": "Float", "f2": "Half", "i8": "Long", "i4": "Int", "u1": "Byte", "?": "Bool"}
XY0 = np.arange(20.0).reshape(10, 2)
XY1 = XY0[::-1] * 2


class Global:
    """A name that a pickle writes without looking it up."""

    def __init__(self, module, name):
        self.name = module, name

    def __reduce__(self):
        raise AssertionError("written by `Writer`")


class Tensor:
    def __init__(self, array, strides=None):
        self.array, self.strides = array, strides


class Writer(pickle._Pickler):
    """Writes tensors as torch.save does: a call with a storage by its persistent name."""

    def __init__(self, file, storages):
        super().__init__(file, 2)
        self.storages = storages

    def persistent_id(self, item):
        return None

    def save(self, item, save_persistent_id=True):
        if isinstance(item, Global):
            module, name = item.name
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        elif isinstance(item, Tensor):
            array = item.array
            self.storages.append(np.ascontiguousarray(array).tobytes())
            kind = Global("torch", f"{NAMES[array.dtype.str.lstrip('<|').replace('b1', '?')]}Storage")
            strides = item.strides or tuple(s // array.itemsize for s in np.ascontiguousarray(array).strides)
            self.save(Global("torch._utils", "_rebuild_tensor_v2"))
            self.write(pickle.MARK)
            self.save(("storage", kind, str(len(self.storages) - 1), "cpu", array.size))
            self.write(pickle.BINPERSID)
            for value in (0, array.shape, strides, False, OrderedDict()):
                self.save(value)
            self.write(pickle.TUPLE + pickle.REDUCE)
        else:
            super().save(item, save_persistent_id)


def save(content, path, compression=zipfile.ZIP_STORED):
    file, storages = io.BytesIO(), []
    Writer(file, storages).dump(content)
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr(f"{path.stem}/data.pkl", file.getvalue())
        archive.writestr(f"{path.stem}/byteorder", "little")
        for k, data in enumerate(storages):
            archive.writestr(f"{path.stem}/data/{k}", data)
        archive.writestr(f"{path.stem}/version", "3\n")
    return path


@pytest.mark.parametrize("kind", NAMES)
def test_tensors_of_each_kind(tmp_path, kind):
    if kind == "?":
        xy0, xy1 = XY0 > 5, XY1 > 5
    else:
        xy0, xy1 = XY0.astype(kind), XY1.astype(kind)
    [pair] = read_matches(save({"mkpts0_f": Tensor(xy0), "mkpts1_f": Tensor(xy1)}, tmp_path / "m.pt"))
    assert np.array_equal(pair.xy0, xy0)
    assert np.array_equal(pair.xy1, xy1)


def test_what_lightglue_gives(tmp_path):
    """A batch of one pair, with what is no tensor in it."""
    matches = np.array([[0, 9], [3, 1]])
    content = OrderedDict(
        keypoints0=Tensor(XY0[None].astype("f4")),
        keypoints1=Tensor(XY1[None].astype("f4")),
        matches=[Tensor(matches)],
        scores=[Tensor(np.array([0.5, 1.0], "f4"))],
        stop=9,
    )
    [pair] = read_matches(save(content, tmp_path / "m.pth"))
    assert np.array_equal(pair.xy0, XY0[[0, 3]])
    assert np.array_equal(pair.xy1, XY1[[9, 1]])
    assert np.array_equal(pair.score, [0.5, 0])


def test_transposed_tensors(tmp_path):
    turned = Tensor(np.ascontiguousarray(XY0.T), (1, 10))
    turned.array = np.ascontiguousarray(XY0.T).reshape(10, 2)
    [pair] = read_matches(save({"xy0": turned, "xy1": Tensor(XY1)}, tmp_path / "m.pt"))
    assert np.array_equal(pair.xy0, XY0)


def test_pytorchs_own_file(tmp_path):
    torch = pytest.importorskip("torch")
    content = {"keypoints0": torch.tensor(XY0).T.contiguous().T, "keypoints1": torch.tensor(XY1).bfloat16()}
    torch.save(content, tmp_path / "m.pt")
    [pair] = read_matches(tmp_path / "m.pt")
    assert np.array_equal(pair.xy0, XY0)
    assert np.array_equal(pair.xy1, XY1)


def test_nothing_in_a_file_is_run(tmp_path):
    run = tmp_path / "run"
    data = b"cos\nsystem\n(X" + struct.pack("<I", len(f"touch {run}")) + f"touch {run}".encode() + b"tR."
    with zipfile.ZipFile(tmp_path / "m.pt", "w") as archive:
        archive.writestr("m/data.pkl", data)
    with pytest.raises(InputError, match="must hold only tensors, but holds os"):
        read_matches(tmp_path / "m.pt")
    assert not run.exists()


def test_what_is_no_file_of_tensors(tmp_path):
    points = {"xy0": Tensor(XY0), "xy1": Tensor(XY1)}
    far = {"xy0": Tensor(XY0, (2, 10**6)), "xy1": Tensor(XY1)}
    for reason, path in (
        ("was not written by torch.save", save(points, tmp_path / "packed.pt", zipfile.ZIP_DEFLATED)),
        ("is damaged, or is not a file of torch.save", save(far, tmp_path / "far.pt")),
        ("must be a dictionary of matches", save("text", tmp_path / "text.pt")),
    ):
        with pytest.raises(InputError, match=reason):
            read_matches(path)
    (tmp_path / "old.pt").write_bytes(b"\x80\x02\x8a")  # of PyTorch before 1.6
    with pytest.raises(InputError, match="is damaged, or is not a file of"):
        read_matches(tmp_path / "old.pt")
