"""The examples of docs/matches-from-anywhere.md, run as they stand there."""

import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from PIL import Image

from matching.cli.demo import make_demo_pair
from matching.cli.main import main

TEXT = Path(__file__).resolve().parents[3].joinpath("docs", "matches-from-anywhere.md").read_text("utf-8")
SIZE = 500, 300  # width, height


def examples(section, language="python"):
    """The code of a section."""
    [text] = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", TEXT, re.S | re.M)
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.S | re.M)


def run_commands(section, n=None):
    for command in examples(section, "bash")[:n]:
        words = shlex.split(command)
        assert words[0] == "gdl-match"
        assert main([*words[1:], "--quiet", "--no-figure"]) == 0


def two_objects():
    """Points of two objects, 60 each, and 40 outliers, in both pictures."""
    rng = np.random.default_rng(0)
    first, second = rng.uniform([10, 10], [200, 140], (60, 2)), rng.uniform([260, 150], [480, 290], (60, 2))
    turned = (second - [370, 220]) @ [[0.94, 0.34], [-0.34, 0.94]] + [140, 200]
    xy0 = np.vstack([first, second, rng.uniform([0, 0], SIZE, (40, 2))])
    xy1 = np.vstack([first + np.array([240, 20]), turned, rng.uniform([0, 0], SIZE, (40, 2))])
    return xy0.astype(np.float32), xy1.astype(np.float32)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_opencv_recipe_runs(folder, capsys):
    for name, picture in zip(("a.png", "b.png"), make_demo_pair(), strict=True):
        Image.fromarray(picture).save(name)
    values = {}
    [code] = examples("OpenCV")
    exec(code, values)
    assert len(values["result"].cluster) == 2 * len(values["good"])
    assert len(values["result"].objects) == 4  # as the demo has
    assert len(capsys.readouterr().out.splitlines()) == 4


@pytest.mark.slow
def test_recipe_of_opencv_with_aliked_and_lightglue_runs_with_stand_ins(folder, monkeypatch, capsys):
    """SIFT and its nearest neighbours stand in for the networks, whose weights nobody ships."""
    sift = cv2.SIFT_create(2000)
    seen = []

    class Matcher:
        def setPairInfo(self, points0, points1, size0, size1):
            seen.extend([points0, points1, size0, size1])

        def match(self, descriptors0, descriptors1):
            return cv2.BFMatcher(crossCheck=True).match(descriptors0, descriptors1)

    networks = {"ALIKED": sift, "LightGlueMatcher": Matcher()}
    for name, network in networks.items():
        stand_in = SimpleNamespace(create=lambda file, network=network: network)
        monkeypatch.setattr(cv2, name, stand_in, raising=False)
    images = make_demo_pair()
    for name, picture in zip(("a.png", "b.png"), images, strict=True):
        Image.fromarray(picture).save(name)
    values = {}
    [code] = examples("OpenCV's ALIKED and LightGlue")
    exec(code, values)
    assert [points.shape[1:] for points in seen[:2]] == [(2,)] * 2
    assert {points.dtype for points in seen[:2]} == {np.dtype(np.float32)}
    assert seen[2:] == [picture.shape[1::-1] for picture in images]
    assert len(values["result"].objects) >= 2
    assert len(capsys.readouterr().out.splitlines()) == len(values["result"].objects)


@pytest.mark.skipif(not hasattr(cv2, "LightGlueMatcher"), reason="this OpenCV has no LightGlue")
def test_opencv_has_the_names_of_its_recipe():
    assert cv2.ALIKED.create.__doc__.startswith("create(modelPath[")
    assert cv2.LightGlueMatcher.create.__doc__.startswith("create(modelPath[")
    arguments = "setPairInfo(queryKpts, trainKpts[, queryImageSize[, trainImageSize"
    assert cv2.LightGlueMatcher.setPairInfo.__doc__.startswith(arguments)


@pytest.mark.slow
def test_localization_recipe_runs(folder):
    [commands] = examples("hloc", "bash")[1:]
    for name, pictures in zip(("map", "query"), make_demo_pair(), strict=False):
        Path("images", name).mkdir(parents=True)
        Image.fromarray(np.asarray(pictures)).save(f"images/{name}/1.png")
    for command in commands.strip().splitlines():
        assert main([*shlex.split(command)[1:], "--cache", "cache", "--quiet"]) == 0
    assert Path("pairs-loc.txt").read_text("utf-8") == "query/1.png map/1.png\n"


def test_hloc_recipe_runs(folder):
    h5py = pytest.importorskip("h5py")
    Path("outputs").mkdir()
    with h5py.File("outputs/features.h5", "w") as features, h5py.File("outputs/matches.h5", "w") as matches:
        for name, xy in zip(("left/1.png", "right/1.png"), two_objects(), strict=True):
            features[f"{name}/keypoints"], features[f"{name}/image_size"] = xy.astype(np.float16), SIZE
            Path("images", name).parent.mkdir(parents=True)
            Image.new("RGB", SIZE).save(f"images/{name}")
        group = matches.create_group("left-1.png/right-1.png")
        group["matches0"] = np.arange(160, dtype=np.int16)
        group["matching_scores0"] = np.ones(160, np.float16)
    run_commands("hloc", 1)
    values = {}
    [code] = examples("hloc")
    exec(code, values)
    assert 50 <= (values["first"] >= 0).sum() < 80 < (values["matches0"] >= 0).sum()


def test_colmap_recipe_runs(folder):
    pycolmap = pytest.importorskip("pycolmap")
    with pycolmap.Database.open("database.db") as database:
        camera = database.write_camera(pycolmap.Camera.create_from_model_name(1, "SIMPLE_RADIAL", 500, *SIZE))
        Path("images").mkdir()
        for number, xy in enumerate(two_objects(), 1):
            database.write_image(pycolmap.Image(name=f"{number}.png", camera_id=camera))
            database.write_keypoints(number, xy + np.float32(0.5))
            Image.new("RGB", SIZE).save(f"images/{number}.png")
        database.write_matches(1, 2, np.repeat(np.arange(160, dtype=np.uint32)[:, None], 2, axis=1))
    run_commands("COLMAP")
    [code] = examples("COLMAP")
    exec(code, {})
    with closing(sqlite3.connect("groups/groups.db")) as groups:
        assert groups.execute("SELECT config FROM two_view_geometries").fetchall() == [(4,)]
    with pycolmap.Database.open("groups/groups.db") as database:
        assert 50 <= len(database.read_two_view_geometry(1, 2).inlier_matches) < 80


def test_tables_recipe_runs(folder):
    np.savetxt("matches.csv", np.hstack(two_objects()), delimiter=",")
    for name in ("a.png", "b.png"):
        Image.new("RGB", SIZE).save(name)
    run_commands("Tables and archives")
    assert Path("groups/matches.html").exists()
