"""What other programs read: with pycolmap and h5py where they are installed."""

import csv
import io
import json
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from matching import MatchResult
from matching.errors import InputError
from matching.objects.description import add_comparison, describe_object
from matching.objects.differences import Difference
from matching.objects.transforms import apply_transform
from matching.output.export_formats import FORMATS, check_formats, export_matches
from matching.pictures.decoding import TURNS
from matching.pictures.images import Picture

HOMOGRAPHY = np.array([[1.1, 0.2, 30], [-0.15, 0.9, 60], [4e-4, -2e-4, 1]])
SIZES = (300, 200), (500, 400)  # width, height


def pictures(orientations=(1, 1), paths=("a.png", "b.png")):
    """Two pictures as displayed."""
    return [
        Picture(np.zeros((h, w, 3), np.uint8), path=path and Path(path), orientation=o)
        for (w, h), path, o in zip(SIZES, paths, orientations, strict=True)
    ]


def result_of(xy0, xy1, cluster, transforms=None):
    objects = tuple(
        describe_object(k, xy0[cluster == k], xy1[cluster == k], 50.0) for k in range(cluster.max() + 1)
    )
    score = np.random.default_rng(1).uniform(0.1, 0.9, len(xy0))
    return MatchResult(xy0, xy1, cluster, score, objects)


def planted(n_objects=1, n=40, seed=0):
    """n matches of each object, objects moved apart, and 10 outliers."""
    rng = np.random.default_rng(seed)
    xy0 = rng.uniform(10, 190, (n * n_objects + 10, 2))
    xy1 = apply_transform(HOMOGRAPHY, xy0)
    cluster = np.append(np.repeat(np.arange(n_objects), n), np.full(10, -1))
    xy1 += np.maximum(cluster, 0)[:, None] * [25.0, 40.0]
    xy1[cluster < 0] = rng.uniform(0, 300, (10, 2))
    return result_of(xy0, xy1, cluster)


def nothing():
    none = np.empty((0, 2))
    return MatchResult(none, none, np.empty(0, np.int64), np.empty(0), ())


@pytest.fixture
def colmap(tmp_path):
    pycolmap = pytest.importorskip("pycolmap")

    def opened(*arguments):
        (tmp_path / "database.db").write_bytes(export_matches("colmap", *arguments)["database.db"])
        return pycolmap.Database.open(str(tmp_path / "database.db"))

    return opened


@pytest.fixture
def hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")

    def opened(*arguments):
        files = export_matches("hloc", *arguments)
        return [h5py.File(io.BytesIO(files[name])) for name in ("features.h5", "matches.h5")]

    return opened


def test_colmap_reads_images_keypoints_and_matches(colmap):
    result = planted()
    kept = result.cluster >= 0
    with colmap(pictures(), result) as database:
        assert [i.name for i in database.read_all_images()] == ["a.png", "b.png"]
        assert [(c.width, c.height) for c in database.read_all_cameras()] == list(SIZES)
        for camera, (w, h) in zip(database.read_all_cameras(), SIZES, strict=True):
            assert camera.model.name == "SIMPLE_RADIAL"
            assert np.allclose(camera.params, [1.2 * max(w, h), w / 2, h / 2, 0])
            assert not camera.has_prior_focal_length
        for number, xy in ((1, result.xy0), (2, result.xy1)):
            # the centre of the top-left pixel is (0, 0) here and (0.5, 0.5) there
            assert np.abs(database.read_keypoints(number) - (xy[kept] + 0.5)).max() < 1e-4
        pairs = np.repeat(np.arange(40)[:, None], 2, axis=1)
        assert np.array_equal(database.read_matches(1, 2), pairs)
        assert np.array_equal(database.read_two_view_geometry(1, 2).inlier_matches, pairs)


@pytest.mark.parametrize("orientations", [(1, 1), (6, 1), (3, 8)])
def test_the_homography_connects_the_keypoints(colmap, orientations):
    with colmap(pictures(orientations), planted()) as database:
        geometry = database.read_two_view_geometry(1, 2)
        keypoints = [database.read_keypoints(k)[:, :2].astype(float) for k in (1, 2)]
    assert int(geometry.config) == 4
    assert np.abs(apply_transform(geometry.H, keypoints[0]) - keypoints[1]).max() < 0.05
    assert geometry.F is None


def test_a_solid_object_is_uncalibrated(colmap):
    rng = np.random.default_rng(3)
    solid = rng.uniform(-1, 1, (80, 3)) + np.array([0, 0, 4])
    turn = np.array([[np.cos(0.3), 0, np.sin(0.3)], [0, 1, 0], [-np.sin(0.3), 0, np.cos(0.3)]])
    seen = [500 * p[:, :2] / p[:, 2:] + 200 for p in (solid, solid @ turn.T + [1, 0.1, 0])]
    with colmap(pictures(), result_of(*seen, np.zeros(80, np.int64))) as database:
        geometry = database.read_two_view_geometry(1, 2)
        x0, x1 = (np.column_stack([database.read_keypoints(k)[:, :2], np.ones(80)]) for k in (1, 2))
    assert int(geometry.config) == 3
    line = x0 @ geometry.F.T  # in image 1
    distance = np.abs((x1 * line).sum(axis=1)) / np.linalg.norm(line[:, :2], axis=1)
    assert np.median(distance) < 0.5


def test_result_without_objects_is_exported_without_matches(colmap, hdf5):
    with colmap(pictures(), nothing()) as database:
        assert database.num_images() == 2
        assert database.num_matches() == 0
        assert len(database.read_keypoints(1)) == 0
    features, matches = hdf5(pictures(), nothing())
    assert features["a.png/keypoints"].shape == (0, 2)
    assert matches["a.png/b.png/matches0"].shape == (0,)


def test_hloc_reads_keypoints_and_matches(hdf5):
    result = planted(2)
    kept = result.cluster >= 0
    features, matches = hdf5(pictures(), result)
    for name, xy, size in zip(("a.png", "b.png"), (result.xy0, result.xy1), SIZES, strict=True):
        keypoints = features[name]["keypoints"][()]
        assert keypoints.dtype == np.float32
        assert np.abs(keypoints - xy[kept]).max() < 1e-4
        assert tuple(features[name]["image_size"]) == size
    group = matches["a.png"]["b.png"]
    partner, score = group["matches0"][()], group["matching_scores0"][()]
    assert (partner.dtype, score.dtype) == (np.int16, np.float16)
    assert np.array_equal(partner, np.arange(80))
    cosine = 1 - result.score[kept] ** 2 / 2  # of unit descriptors
    assert np.abs(score - (1 + cosine) / 2).max() < 1e-3


@pytest.mark.parametrize("orientation", range(1, 9))
def test_keypoints_lie_in_the_file_as_stored(hdf5, orientation):
    result = planted()
    xy = np.rint(result.xy0)
    shown = np.arange(300 * 200).reshape(200, 300)
    inverse = {6: 8, 8: 6}.get(orientation, orientation)
    stored = TURNS.get(inverse, lambda a: a)(shown)
    (features, _) = hdf5(pictures((orientation, 1)), result_of(xy, result.xy1, result.cluster))
    assert tuple(features["a.png/image_size"]) == stored.shape[::-1]
    column, row = np.rint(features["a.png/keypoints"][()]).astype(int).T
    x, y = xy[result.cluster >= 0].astype(int).T
    assert np.array_equal(stored[row, column], shown[y, x])


def test_many_matches_are_written_with_wider_integers(hdf5):
    xy = np.random.default_rng(0).uniform(0, 200, (40_000, 2))
    many = MatchResult(xy, xy, np.zeros(40_000, np.int64), np.full(40_000, 0.5), ())
    assert hdf5(pictures(), many)[1]["a.png/b.png/matches0"][-1] == 39_999


def test_names_may_contain_folders(hdf5):
    features, matches = hdf5(pictures(paths=("x/left/1.png", "x/right/1.png")), planted())
    assert features["left/1.png/keypoints"].shape == features["right/1.png/keypoints"].shape
    assert matches["left-1.png/right-1.png/matches0"].shape == (40,)
    assert (
        export_matches("hloc", pictures(paths=("x/l/1.png", "x/2.png")), planted())["pairs.txt"]
        == b"l/1.png 2.png\n"
    )


def test_csv_holds_the_matches_of_the_objects():
    result = planted(2)
    kept = result.cluster >= 0
    rows = list(
        csv.DictReader(io.StringIO(export_matches("csv", pictures(), result)["matches.csv"].decode()))
    )
    assert list(rows[0]) == ["object", "x0", "y0", "x1", "y1", "score"]
    table = np.array([[float(v) for v in row.values()] for row in rows])
    expected = np.column_stack([result.cluster, result.xy0, result.xy1, result.score])[kept]
    assert np.array_equal(table, expected)


def differing():
    """The second of two objects differs in a square around (50, 40) of the first picture."""
    result = planted(2)
    square = np.array([[40.0, 30.0], [60.0, 30.0], [60.0, 50.0], [40.0, 50.0]])
    difference = Difference(square, apply_transform(HOMOGRAPHY, square), 0.1, 20.0, 8.0)
    objects = result.objects[0], add_comparison(result.objects[1], False, [difference])
    return replace(result, objects=objects)


def test_differences_are_labels_of_both_pictures():
    coco = json.loads(export_matches("coco", pictures(), differing())["differences-coco.json"])
    assert [entry["name"] for entry in coco["categories"]] == ["difference"]
    assert [entry["file_name"] for entry in coco["images"]] == ["a.png", "b.png"]
    first, second = coco["annotations"]
    assert (first["image_id"], second["image_id"]) == (1, 2)
    assert first["track_id"] == second["track_id"]  # one difference
    assert first["bbox"] == [40.5, 30.5, 20, 20]
    assert 0.5 < first["score"] < 1
    archive = export_matches("labelme", pictures(), differing())["differences-labelme.zip"]
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        assert sorted(files.namelist()) == ["a.json", "b.json"]
        (shape,) = json.loads(files.read("b.json"))["shapes"]
        assert shape["label"] == "difference"
    assert (
        json.loads(export_matches("coco", pictures(), planted())["differences-coco.json"])["annotations"]
        == []
    )
    twins = pictures(paths=("a.png", "a.jpg"))
    with pytest.raises(InputError, match=r"a\.png and a\.jpg would have the same label file"):
        check_formats(["yolo"], twins)


def test_several_objects_are_multiple_geometries(colmap):
    with colmap(pictures(), planted(3)) as database:
        geometry = database.read_two_view_geometry(1, 2)
    assert (int(geometry.config), geometry.H, len(geometry.inlier_matches)) == (8, None, 120)


@pytest.mark.parametrize("name", FORMATS)
def test_equal_results_give_equal_bytes(name):
    if name == "hloc":
        pytest.importorskip("h5py")
    assert export_matches(name, pictures(), planted(2)) == export_matches(name, pictures(), planted(2))


@pytest.mark.parametrize("name", ["a b.png", "my pictures/a.png", "a\nb.png"])
def test_hloc_rejects_names_with_white_space(name):
    pytest.importorskip("h5py")
    with pytest.raises(InputError, match="can't hold a name with white space") as raised:
        check_formats(["csv", "hloc"], pictures(paths=(f"x/{name}", "x/b.png")))
    assert "\n" not in str(raised.value)
    check_formats(["colmap", "csv"], pictures(paths=(f"x/{name}", "x/b.png")))
    check_formats(["hloc"], pictures(paths=("my pictures/a.png", "my pictures/b.png")))  # what both are in


def test_names_that_are_not_utf8_are_rejected_early():
    bad = pictures(paths=("a.png", os.fsdecode(b"b\xff.png")))
    with pytest.raises(InputError, match=r"'b\\udcff.png': COLMAP and hloc need names in UTF-8"):
        check_formats(["colmap"], bad)
    check_formats(["csv"], bad)
    assert export_matches("csv", bad, planted())


def test_impossible_export_is_rejected(monkeypatch):
    same = pictures(paths=("a.png", "a.png"))
    with pytest.raises(InputError, match=r"a\.png: COLMAP and hloc can't match an image with itself"):
        export_matches("colmap", same, planted())
    assert export_matches("csv", same, planted())
    with pytest.raises(InputError, match=r"must be one of colmap, .*, got 'ply'"):
        check_formats(["ply"], pictures())
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(InputError, match=r"needs h5py: pip install h5py"):
        check_formats(["hloc"], pictures())
