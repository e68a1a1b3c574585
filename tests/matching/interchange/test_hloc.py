"""hloc's files, written with h5py as hloc writes them."""

import numpy as np
import pytest

from matching import InputError, read_matches
from matching.interchange.files import match_file

h5py = pytest.importorskip("h5py")

NAMES = "db/left/1.png", "query/2.png"
N = 50, 40
GROUP = "db-left-1.png/query-2.png"
RNG = np.random.default_rng(0)
KEYPOINTS = [RNG.uniform(0, 500, (n, 2)).astype(np.float16) for n in N]
PARTNER = np.full(N[0], -1, np.int16)
PARTNER[[3, 9, 30]] = 7, 0, 39
SCORES = np.where(PARTNER >= 0, 0.75, 0).astype(np.float16)


def write(path, content):
    with h5py.File(path, "w", libver="latest") as file:
        for name, array in content.items():
            file[name] = array
    return path


def features(folder, **more):
    content = {}
    for name, xy in zip(NAMES, KEYPOINTS, strict=True):
        content |= {f"{name}/keypoints": xy, f"{name}/descriptors": np.zeros((4, len(xy)), np.float16)}
        content |= {f"{name}/image_size": np.array([640, 480])}
        content |= {f"{name}/{key}": value[: len(xy)] for key, value in more.items()}
    return write(folder / "features.h5", content)


def matches(folder, group=GROUP, partner=PARTNER):
    return write(
        folder / "matches.h5",
        {f"{group}/matches0": partner, f"{group}/matching_scores0": SCORES[: len(partner)]},
    )


@pytest.mark.parametrize(
    "group", ["db-left-1.png/query-2.png", "db-left-1.png_query-2.png"], ids=["new", "old"]
)
def test_sparse_pair_is_read(tmp_path, group):
    [pair] = read_matches(matches(tmp_path, group), features=features(tmp_path))
    assert pair.names == NAMES
    assert np.array_equal(pair.indices, [[3, 7], [9, 0], [30, 39]])
    # (0, 0) is the centre of the top-left pixel in hloc, too
    assert np.array_equal(pair.xy0, KEYPOINTS[0][[3, 9, 30]].astype(float))
    assert np.array_equal(pair.xy1, KEYPOINTS[1][[7, 0, 39]].astype(float))
    assert np.allclose(pair.score, 0.25)
    assert pair.sizes == ((480, 640), (480, 640))
    assert pair.as_stored
    assert pair.frames0 is None


def test_names_may_be_in_either_order(tmp_path):
    partner = np.full(N[1], -1, np.int32)
    partner[39] = 49
    path = matches(tmp_path, "query-2.png/db-left-1.png", partner)
    [pair] = read_matches(path, features=features(tmp_path))
    assert pair.names == NAMES[::-1]
    assert np.array_equal(pair.xy1, KEYPOINTS[0][[49]].astype(float))


def test_scales_and_orientations_give_frames(tmp_path):
    scale, degrees = RNG.uniform(1, 4, 50), RNG.uniform(-180, 180, 50)
    [pair] = read_matches(matches(tmp_path), features=features(tmp_path, scales=scale, oris=degrees))
    assert np.allclose(np.sqrt(np.linalg.det(pair.frames0)), scale[[3, 9, 30]])
    turned = np.degrees(np.arctan2(pair.frames1[:, 1, 0], pair.frames1[:, 0, 0]))
    assert np.allclose(turned, degrees[[7, 0, 39]])


def dense(folder, n=60):
    xy = [RNG.uniform(0, 500, (n, 2)).astype(np.float32) for _ in range(2)]
    group = "a.png/b.png"
    content = {f"{group}/keypoints{k}": xy[k] for k in range(2)}
    return write(folder / "dense.h5", content | {f"{group}/scores": np.linspace(0, 1, n)}), xy


def test_dense_pair_needs_no_features(tmp_path):
    path, xy = dense(tmp_path)
    [pair] = read_matches(path)
    assert pair.names == ("a.png", "b.png")
    assert np.array_equal(pair.xy0, xy[0])
    assert np.array_equal(pair.xy1, xy[1])
    assert np.allclose(pair.score, 1 - np.linspace(0, 1, 60))
    assert pair.indices is None


def test_aggregated_dense_pair_is_read(tmp_path):
    path, xy = dense(tmp_path)
    with h5py.File(path, "a") as file:
        file["a.png/b.png/matches0"] = np.array([1, -1, 0], np.int32)
        file["a.png/b.png/matching_scores0"] = np.array([0.5, 0, 0.5])
    keypoints = {"a.png/keypoints": xy[0][:3], "b.png/keypoints": xy[1][:2]}
    [pair] = read_matches(path, features=write(tmp_path / "features.h5", keypoints))
    assert np.array_equal(pair.xy1, xy[1][[1, 0]])
    [pair] = read_matches(path)
    assert len(pair) == 60


def test_written_groups_lack_outliers(tmp_path):
    file = match_file(matches(tmp_path), features(tmp_path))
    [(key, pair)] = file.pairs()
    (name, content), pairs = file.groups({key: (pair, np.array([1, -1, 0]))}).items()
    assert name == "groups.h5"
    assert pairs == ("pairs.txt", b"db/left/1.png query/2.png\n")
    assert file.groups({key: (pair, np.full(3, -1))})["pairs.txt"] == b""
    again = tmp_path / name
    content(again)
    with h5py.File(again) as written:
        group = written["db-left-1.png"]["query-2.png"]
        assert group["matches0"].dtype == np.int16
        assert group["matching_scores0"].dtype == np.float16
        assert np.flatnonzero(group["matches0"][()] != -1).tolist() == [3, 30]
        assert group["groups0"][[3, 9, 30]].tolist() == [1, -1, 0]
        assert group["matching_scores0"][[3, 9, 30]].tolist() == [0.75, 0, 0.75]
    [read] = read_matches(again, features=tmp_path / "features.h5")
    assert np.array_equal(read.indices, [[3, 7], [30, 39]])


def test_groups_of_dense_pair_are_written(tmp_path):
    path, xy = dense(tmp_path)
    file = match_file(path)
    [(key, pair)] = file.pairs()
    cluster = np.arange(60) % 4 - 1
    file.groups({key: (pair, cluster)})["groups.h5"](tmp_path / "groups.h5")
    with h5py.File(tmp_path / "groups.h5") as written:
        group = written["a.png/b.png"]
        assert np.array_equal(group["keypoints1"], xy[1][cluster >= 0])
        assert np.array_equal(group["groups"], cluster[cluster >= 0])
        assert len(group["scores"]) == 45


@pytest.mark.parametrize(
    ("change", "has_features", "message"),
    [
        ({}, False, "give hloc's file of features"),
        (
            {f"{GROUP}/matches0": np.full(50, 45)},
            True,
            "refers to keypoint 45 of image 1, .* only 40 keypoints",
        ),
        (
            {f"{GROUP}/matches0": np.arange(32_760, 32_800).astype(np.int16)},
            True,
            "was it written with 16 bits",
        ),
        ({f"{GROUP}/matches0": "text"}, True, "query-2.png: matches0: must be an array of numbers"),
        ({f"{GROUP}/matching_scores0": "text"}, True, "matching_scores0: must be an array of numbers"),
    ],
)
def test_matches_that_cannot_be_read_are_refused(tmp_path, change, has_features, message):
    path = matches(tmp_path)
    with h5py.File(path, "a") as file:
        for name, value in change.items():
            del file[name]
            file[name] = value
    with pytest.raises(InputError, match=message) as raised:
        read_matches(path, features=features(tmp_path) if has_features else None)
    assert "\n" not in str(raised.value)


def test_other_files_are_refused(tmp_path):
    other = write(tmp_path / "other.h5", {"x.png/keypoints": KEYPOINTS[0]})
    given = matches(tmp_path)
    (tmp_path / "text.h5").write_text("no HDF5")
    (tmp_path / "cut.h5").write_bytes(given.read_bytes()[:-300])
    for path, more, message in (
        (features(tmp_path), None, "holds features, not matches"),
        (given, other, "the features hold no keypoints of db-left-1.png"),
        (given, given, "holds no keypoints as hloc writes them"),
        (write(tmp_path / "e.h5", {"a": np.zeros(3)}), None, "holds no matches as hloc writes them"),
        (tmp_path / "text.h5", None, "text.h5: can't be read as HDF5"),
        (tmp_path / "cut.h5", tmp_path / "features.h5", "cut.h5: "),
    ):
        with pytest.raises(InputError, match=message):
            read_matches(path, features=more)
