import gzip
import struct

import numpy as np
import pytest

from eval.images import datasets
from eval.images.lbp import N_PATTERNS, chi_square_distances, lbp_histograms


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (12, 32, 32), dtype=np.uint8)
    np.savez(tmp_path / "coil20.npz", X=images, y=np.repeat([3, 7, 9], 4))
    np.savez(tmp_path / "yaleb.npz", X=images, y=np.repeat([1, 2], 6))
    return tmp_path


@pytest.mark.parametrize(("name", "n", "k", "d"), [("digits", 1797, 10, 64), ("textures", 1024, 4, 59)])
def test_shipped_sets_need_nothing(name, n, k, d):
    found = datasets.load(name)
    features = found.features()
    assert (len(found), found.n_clusters, features.shape) == (n, k, (n, d)) and features.dtype == np.float32
    assert set(found.labels.tolist()) == set(range(k))


def test_a_folder_and_one_that_has_clustering_in_it(folder, tmp_path_factory, monkeypatch):
    above = tmp_path_factory.mktemp("above")
    (above / "clustering").symlink_to(folder)
    assert datasets.find_folder(folder) == folder and datasets.find_folder(above) == above / "clustering"
    monkeypatch.setenv(datasets.FOLDER, str(above))
    assert datasets.available(datasets.find_folder(None)) == ("coil20", "yaleb")
    monkeypatch.delenv(datasets.FOLDER)
    assert datasets.find_folder(None) is None and datasets.available(None) == datasets.SHIPPED


def test_pixels_for_objects_and_patterns_for_faces(folder):
    objects, faces = datasets.load("coil20", folder), datasets.load("yaleb", folder)
    assert objects.labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4 and objects.metric == "euclidean"
    np.testing.assert_allclose(objects.features()[3], objects.images[3].ravel() / 255, rtol=1e-6)
    assert faces.metric == "chi2" and faces.features().shape == (12, 16 * 16 * N_PATTERNS)
    assert (faces.features().sum(axis=1) == 32 * 32).all()


def test_noise_is_drawn_from_its_seed(folder):
    plain = datasets.load("coil20", folder)
    noisy = plain.with_noise(40, 1)
    difference = noisy.images - plain.images
    assert abs(difference.std() - 40) < 1 and abs(difference.mean()) < 1
    assert np.array_equal(noisy.images, plain.with_noise(40, 1).images)
    assert len({plain.digest(), noisy.digest(), plain.with_noise(40, 2).digest()}) == 3
    assert plain.with_noise(0, 1) is plain


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("frgc", "set frgc is not available: FRGC"),
        ("coil200", "set must be one of digits.*got coil200"),
        ("usps9298", "usps9298 needs a folder with usps9298.npz"),
        ("mnist_test", "mnist_test needs a download: add --fetch mnist_test"),
    ],
)
def test_names_that_cannot_be_read(folder, name, message):
    with pytest.raises(ValueError, match=message):
        datasets.check_name(name, folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not a zip", "coil20.npz must be an .npz file with arrays X and y"),
        ({"X": np.zeros((3, 4, 4))}, "must be an .npz file with arrays X and y"),
        ({"X": np.zeros((3, 4, 4)), "y": np.zeros(2)}, r"must hold X \(n, h, w\) and y \(n,\)"),
        ({"X": np.array([[["a"]]] * 3), "y": np.zeros(3)}, "must hold grey levels in X, got <U1"),
        ({"X": np.full((3, 4, 4), np.nan), "y": np.zeros(3)}, "must hold finite grey levels in X, got nan"),
    ],
)
def test_bad_files(tmp_path, content, message):
    path = tmp_path / "coil20.npz"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.savez(path, **content)
    with pytest.raises(ValueError, match=message):
        datasets.load("coil20", tmp_path)


def test_a_folder_without_any_set(tmp_path):
    with pytest.raises(ValueError, match=r"must be a folder with one of coil20.npz"):
        datasets.find_folder(tmp_path)


def test_mnist_is_fetched_by_checksum_and_unpacked(tmp_path, monkeypatch):
    pooch = pytest.importorskip("pooch")
    images = np.arange(5 * 2 * 3, dtype=np.uint8).reshape(5, 2, 3)
    labels = np.array([1, 0, 2, 1, 0], np.uint8)
    content = {
        "t10k-images-idx3-ubyte.gz": struct.pack(">iiii", 2051, 5, 2, 3) + images.tobytes(),
        "t10k-labels-idx1-ubyte.gz": struct.pack(">ii", 2049, 5) + labels.tobytes(),
    }
    asked = {}

    def retrieve(url, known_hash):
        name = url.rsplit("/", 1)[1]
        asked[name] = known_hash
        path = tmp_path / name
        path.write_bytes(gzip.compress(content[name]))
        return str(path)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    found = datasets.load("mnist_test")
    assert np.array_equal(found.images, images) and found.labels.tolist() == labels.tolist()
    assert asked == {name: f"sha256:{sha}" for name, sha in datasets.MNIST_FILES.items()}


def test_chi_square_by_hand_and_against_its_definition():
    f = np.array([[1, 0, 3], [3, 0, 1], [0, 0, 4]], np.float32)
    expected = [[0, 2, 8 / 7], [2, 0, 24 / 5], [8 / 7, 24 / 5, 0]]
    np.testing.assert_allclose(chi_square_distances(f), expected, rtol=1e-6)
    f = np.random.default_rng(0).integers(0, 5, (20, 30)).astype(np.float32)
    a, b = f[:, None], f[None]
    total = np.where(a + b > 0, a + b, 1)
    np.testing.assert_allclose(chi_square_distances(f), ((a - b) ** 2 / total).sum(-1), rtol=1e-5)


def test_a_histogram_counts_the_patterns_of_its_own_block():
    images = np.zeros((1, 8, 8), np.uint8)
    images[0, :4, :4] = np.random.default_rng(1).integers(0, 255, (4, 4))
    blocks = lbp_histograms(images, n_blocks=2).reshape(2, 2, N_PATTERNS)
    assert (blocks.sum(axis=2) == 16).all()
    assert blocks[1, 1].max() == 16 and blocks[0, 0].max() < 16  # one pattern where all is flat
    with pytest.raises(ValueError, match="n_blocks must be at most 8, got 9"):
        lbp_histograms(images, n_blocks=9)
