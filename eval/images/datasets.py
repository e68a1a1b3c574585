"""The image sets of the clustering experiments, each with the paper's feature and distance.

Objects and digits: pixels in [0, 1] and Euclidean distance. Faces: histograms of uniform local binary
patterns (`eval.images.lbp`) and chi-square distance. Sets come from a folder (`<name>.npz` with `X` (n, h, w)
uint8 and `y` (n,)), from packages that ship them, or, on request, from their public address.
"""

import gzip
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import skimage.data
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from eval.common.tables import read_arrays
from eval.images.lbp import lbp_histograms

FOLDER = "GDL_DATA"  # the variable that names the folder with clustering/
IN_FOLDER = {"coil20": 20, "coil100": 100, "usps9298": 10, "mnist_test": 10, "yaleb": 38}  # classes
SHIPPED = ("digits", "textures")
NOT_TO_BE_HAD = {"frgc": "FRGC ver2.0 is available only under a licence, not publicly"}
FACES = ("yaleb",)
_MNIST = "https://storage.googleapis.com/cvdf-datasets/mnist/"
MNIST_FILES = {  # SHA-256
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
FETCHED = ("mnist_test", "olivetti")


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images with their classes.

    Attributes
    ----------
    name : str
    images : (n, h, w) float32
        Grey levels, 0 to 255; with added noise, values can lie outside this range.
    labels : (n,) int64
        The true classes, 0, 1, ...
    metric : str
        "euclidean" on pixels or "chi2" on histograms of local binary patterns.
    n_blocks : int
        Blocks along each side, each with its own histogram.
    """

    name: str
    images: NDArray[np.float32]
    labels: NDArray[np.int64]
    metric: str = "euclidean"
    n_blocks: int = 16

    def __len__(self) -> int:
        return len(self.images)

    @property
    def n_clusters(self) -> int:
        return int(self.labels.max()) + 1

    def features(self) -> NDArray[np.float32]:
        """(n, d) float32: pixels in units of 255, or counts of patterns in each block."""
        if self.metric == "chi2":
            return lbp_histograms(self.images, self.n_blocks)
        return self.images.reshape(len(self), -1) / np.float32(255)

    def with_noise(self, sigma: float, seed: int, repeat: int = 1) -> "ImageSet":
        """Independent Gaussian noise N(0, sigma^2), in grey levels, on every pixel; not clipped.

        Each pixel is first repeated `repeat` times along both sides. The images look the same, but have as
        many pixels as larger ones, each with independent noise.
        """
        if sigma == 0:
            return self
        images = self.images.repeat(repeat, axis=1).repeat(repeat, axis=2)
        noise = np.random.default_rng(seed).standard_normal(images.shape, dtype=np.float32)
        return replace(self, images=images + np.float32(sigma) * noise)

    def digest(self) -> str:
        """A digest that identifies the data."""
        parts = hashlib.sha256(repr((self.metric, self.n_blocks, self.images.shape)).encode())
        parts.update(np.ascontiguousarray(self.images).tobytes() + self.labels.tobytes())
        return parts.hexdigest()[:16]


def find_folder(data: str | os.PathLike | None) -> Path | None:
    """The folder of the .npz files: `data` or the variable GDL_DATA, or `clustering` in it; None if neither
    is given.

    Raises ValueError if the named folder holds none of the known sets.
    """
    named = data or os.environ.get(FOLDER)
    if not named:
        return None
    for folder in (Path(named), Path(named) / "clustering"):
        if any((folder / f"{name}.npz").is_file() for name in IN_FOLDER):
            return folder
    files = ", ".join(f"{name}.npz" for name in IN_FOLDER)
    raise ValueError(f"{named} must be a folder with one of {files}, or have them in clustering/")


def available(folder: Path | None) -> tuple[str, ...]:
    """The sets that can be read without a download: those of the folder, or those that are shipped."""
    if folder is None:
        return SHIPPED
    return tuple(name for name in IN_FOLDER if (folder / f"{name}.npz").is_file())


def check_name(name: str, folder: Path | None, fetch: Sequence[str] = ()) -> None:
    """Raise ValueError for a set that `load` could not read, or would have to download although `fetch`
    lacks it.
    """
    if name in NOT_TO_BE_HAD:
        raise ValueError(f"set {name} is not available: {NOT_TO_BE_HAD[name]}")
    known = (*SHIPPED, *IN_FOLDER, *FETCHED)
    if name not in known:
        raise ValueError(f"set must be one of {', '.join(dict.fromkeys(known))}, got {name}")
    if name in SHIPPED or (folder is not None and (folder / f"{name}.npz").is_file()):
        return
    if name not in FETCHED:
        raise ValueError(f"{name} needs a folder with {name}.npz: set --data or the variable {FOLDER}")
    if name not in fetch:
        raise ValueError(f"{name} needs a download: add --fetch {name}")


def load(name: str, folder: Path | None = None) -> ImageSet:
    """One set by name: shipped, from the folder, or downloaded. Raises ValueError for bad files and names."""
    if name in _SHIPPED_LOADERS:
        return _SHIPPED_LOADERS[name]()
    if name in _FETCHERS and (folder is None or not (folder / f"{name}.npz").is_file()):
        return _FETCHERS[name]()
    check_name(name, folder)
    images, labels = _read(folder / f"{name}.npz")
    return _image_set(name, images, labels, "chi2" if name in FACES else "euclidean")


def _image_set(name, images, labels, metric="euclidean", n_blocks=16):
    classes = np.unique(labels, return_inverse=True)[1]
    return ImageSet(name, np.asarray(images, np.float32), classes.astype(np.int64), metric, n_blocks)


def _read(path: Path) -> tuple[NDArray, NDArray]:
    images, labels = read_arrays(path, ("X", "y"))
    if images.ndim != 3 or labels.shape != images.shape[:1] or len(images) < 2:
        raise ValueError(
            f"{path} must hold X (n, h, w) and y (n,), n >= 2, got {images.shape} and {labels.shape}"
        )
    if images.dtype.kind not in "buif":
        raise ValueError(f"{path} must hold grey levels in X, got {images.dtype}")
    if not np.isfinite(images).all():
        raise ValueError(f"{path} must hold finite grey levels in X, got {images[~np.isfinite(images)][0]}")
    return images, labels


def _digits() -> ImageSet:
    """Scikit-learn's 1,797 digits of 8 x 8 pixels."""
    bunch = load_digits()
    return _image_set("digits", bunch.images * (255 / 16), bunch.target)


def _textures(side: int = 32) -> ImageSet:
    """256 patches of each of four photographs of surfaces that scikit-image ships, to be told apart by their
    patterns.
    """
    makers: tuple[Callable[[], NDArray], ...] = (
        skimage.data.brick,
        skimage.data.grass,
        skimage.data.gravel,
        skimage.data.moon,
    )
    patches = [_tiles(make()[:512, :512], side) for make in makers]
    labels = np.repeat(np.arange(len(patches)), [len(p) for p in patches])
    return _image_set("textures", np.concatenate(patches), labels, "chi2", n_blocks=1)


def _tiles(picture: NDArray, side: int) -> NDArray:
    rows, columns = (size // side for size in picture.shape)
    cut = picture[: rows * side, : columns * side].reshape(rows, side, columns, side)
    return cut.swapaxes(1, 2).reshape(-1, side, side)


def _fetch_mnist() -> ImageSet:
    import pooch

    images, labels = (
        gzip.decompress(Path(pooch.retrieve(_MNIST + name, f"sha256:{sha}")).read_bytes())
        for name, sha in MNIST_FILES.items()
    )
    return _image_set("mnist_test", *decode_mnist(images, labels))


def decode_mnist(images: bytes, labels: bytes) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """(n, h, w) and (n,) of the two unpacked IDX files, whose headers have 16 and 8 bytes."""
    n, h, w = np.frombuffer(images, ">i4", 3, offset=4)
    return np.frombuffer(images, np.uint8, offset=16).reshape(n, h, w), np.frombuffer(
        labels, np.uint8, offset=8
    )


def _fetch_olivetti() -> ImageSet:
    from sklearn.datasets import fetch_olivetti_faces

    bunch = fetch_olivetti_faces()  # checks a SHA-256 of its own
    return _image_set("olivetti", bunch.images * 255, bunch.target, "chi2")


_SHIPPED_LOADERS = {"digits": _digits, "textures": _textures}
_FETCHERS = {"mnist_test": _fetch_mnist, "olivetti": _fetch_olivetti}
