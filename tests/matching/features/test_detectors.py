"""Registered detectors: the example of the documents, through every part of the program."""

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import skimage.data
from PIL import Image
from planting import crops, object_pair, true_shift

from matching import Detection, Detector, InputError, MatchConfig, find_repeats, match, register_detector
from matching.cli import main as cli
from matching.collection import FeatureCache, match_collection, plan_folder
from matching.collection.cache import entry_key
from matching.collection.kept_index import _store
from matching.features import detectors
from matching.features.extraction import extract_features

PAGE = Path(__file__).resolve().parents[3] / "docs" / "detectors.md"
REGIONS = ("mser", "sift", "orb")


@pytest.fixture
def example():
    """The file of the page."""
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)[0]


@pytest.fixture
def orb(example, monkeypatch):
    """The detector of the page, alone in the registry."""
    monkeypatch.setattr(detectors, "_REGISTRY", {})
    exec(compile(example, "orb.py", "exec"), {"__name__": "orb_of_the_page"})
    return detectors.list_registered_detectors()[0]


@pytest.mark.parametrize("regions", [("orb",), REGIONS])
def test_registered_detector_finds_objects(orb, regions):
    pair = object_pair()
    result = match(*pair, regions=regions, max_matches=500)
    assert len(result.objects) == 2
    kept = result.cluster >= 0
    assert np.median(np.linalg.norm(true_shift(result.xy0[kept]) - result.xy1[kept], axis=1)) < 1
    swapped = match(*pair[::-1], regions=regions, max_matches=500)
    assert np.array_equal(swapped.xy0, result.xy1)
    assert np.array_equal(swapped.cluster, result.cluster)


def test_features_of_registered_detectors_come_last(orb):
    grey = np.asarray(Image.fromarray(crops(200)["coffee"]).convert("L"))
    config = MatchConfig().features
    plain, more = (extract_features(grey, replace(config, regions=r)) for r in (REGIONS[:2], REGIONS))
    last = detectors.list_detectors().index("orb")
    assert set(more.kind) == {0, 1, last}
    assert np.array_equal(more[more.kind < 2].descriptors, plain.descriptors)
    found = orb.detect(grey)
    features = more[more.kind == last]
    assert np.array_equal(features.xy, found.xy)
    assert np.array_equal(features.frames, found.frames)


def test_unnamed_detector_changes_nothing(orb):
    pair = object_pair(100)
    result = match(*pair)
    detectors._REGISTRY.clear()
    assert np.array_equal(match(*pair).xy0, result.xy0)


def test_repeats_views_and_details_use_registered_detectors(orb):
    large, small = crops(240)["coffee"], crops(120)["coffee"]
    sheet = np.hstack([large, skimage.data.chelsea()[:240, :240], large])
    orb_alone = {"regions": ("orb",), "max_matches": 500}
    assert find_repeats(sheet, **orb_alone).objects
    scene = skimage.data.astronaut().copy()
    scene[300:420, 200:320] = small
    closer = match(large, scene, **orb_alone, working_pixels=90_000)
    assert closer.matched_at[1] == pytest.approx(scene.shape[0] * scene.shape[1] / 1e6)
    others = skimage.data.rocket()[:160, :160]
    assert not match(others, small, **orb_alone, view_synthesis=True).objects


def test_upright_features_get_directions(orb):
    def detect(grey):
        found = orb.detect(grey)
        radius = np.sqrt(np.linalg.det(found.frames))
        return replace(found, frames=radius[:, None, None] * np.eye(2))

    register_detector(Detector("upright", detect, window=2.0, n_orientations=2))
    left, right = object_pair()
    turned = np.ascontiguousarray(np.rot90(right))
    assert len(match(left, turned, regions=("upright",), max_matches=500).objects) == 2


def test_collections_use_registered_detectors_in_other_processes(orb, tmp_path):
    for k, image in enumerate(object_pair()):
        Image.fromarray(image).save(tmp_path / f"{k}.png")
    (tmp_path / "cache").mkdir()
    cache = FeatureCache(tmp_path / "cache", 10**9)
    config = MatchConfig().with_settings(regions=("orb",), max_matches=500)
    plan, db = plan_folder(tmp_path), tmp_path / "a.db"
    match_collection(plan, db, config, cache=cache, jobs=2)
    connection = sqlite3.connect(db)
    assert connection.execute("SELECT error FROM pairs").fetchall() == [(None,)]
    assert connection.execute("SELECT count(*) FROM objects").fetchall() == [(2,)]
    connection.close()


def test_index_refuses_registered_detectors_by_name(orb, tmp_path):
    config = MatchConfig().with_settings(regions=REGIONS)
    with (
        pytest.raises(InputError, match="orb features can't be indexed, only mser and sift"),
        _store.open_index(tmp_path / "index", config, create=True),
    ):
        pass
    assert not (tmp_path / "index").exists()


def test_cache_key_depends_on_the_version_of_a_detector(orb):
    config = MatchConfig().with_settings(regions=("orb",))
    before = entry_key("content", config)
    register_detector(replace(orb, version="2"))
    assert entry_key("content", config) != before


def test_command_loads_detectors_from_files(orb, example, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    detectors._REGISTRY.clear()
    Path("orb.py").write_text(example, encoding="utf-8")
    for k, image in enumerate(object_pair(160)):
        Image.fromarray(image).save(f"{k}.png")
    quick = ["--max-matches", "500"]
    given = ["0.png", "1.png", "--no-figure", *quick]
    assert cli.main([*given, "--detector", "orb.py", "--regions", "orb"]) == 0
    assert '"orb"' in Path("0-1-match/matches.json").read_text()
    Path("other.py").write_text(example.replace('Detector("orb"', 'Detector("other"'), encoding="utf-8")
    twice = "--detector", "orb.py", "--detector", "other.py"
    for options, regions in (
        (["--detector", "orb.py"], ["mser", "sift", "orb"]),
        (twice, ["mser", "sift", "orb", "other"]),
        ([*twice, "--regions", "sift,other"], ["sift", "other"]),
        ([], ["mser", "sift"]),  # registered by earlier commands of the process
    ):
        assert cli.main([*given, *options]) == 0
        document = json.loads(Path("0-1-match/matches.json").read_text())
        assert document["parameters"]["features"]["regions"] == regions
    collection = ["collection", "--all", ".", "--db", "c.db", "--jobs", "1", *quick]
    assert cli.main([*collection, "--detector", "orb.py"]) == 0
    with closing(sqlite3.connect("c.db")) as db:
        assert '"orb"' in str(db.execute("SELECT * FROM settings").fetchall())
    for options, message in (
        (["--detector", "none.py"], "none.py: no such file"),
        (["--regions", "surf"], "got 'surf'"),
    ):
        assert cli.main([*given, *options]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = nothing\n", "NameError: name 'nothing' is not defined"),
        ("def detect(:\n", "SyntaxError: invalid syntax"),
        (
            "from matching import Detector, register_detector\nregister_detector(Detector('sift', print))\n",
            "must not be 'sift', which is a built-in detector",
        ),
    ],
)
def test_failing_detector_file_is_reported_in_one_line(tmp_path, capsys, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(text)
    assert cli.main(["0.png", "1.png", "--detector", "mine.py"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("gdl-match: error: argument --detector: mine.py: ")
    assert message in line


def square(n, **changes):
    found = {"xy": np.zeros((n, 2)), "frames": np.tile(np.eye(2), (n, 1, 1))}
    return Detection(**{**found, "strength": np.ones(n), "bright": np.ones(n, bool), **changes})


@pytest.mark.parametrize(
    ("found", "rule"),
    [
        ([], "must return a Detection, got list"),
        (square(3, xy=np.zeros((3, 3))), r"xy must have shape \(n, 2\), got \(3, 3\)"),
        (square(3, strength=np.ones(2)), r"strength must have shape \(n,\), got \(2,\)"),
        (square(3, frames=np.zeros((3, 2, 2))), "finite points and invertible frames"),
        (square(3, xy=np.full((3, 2), np.nan)), "finite points and invertible frames"),
    ],
)
def test_result_of_a_detector_is_checked(found, rule):
    with pytest.raises(InputError, match=f"detector 'odd'.*{rule}"):
        Detector("odd", lambda grey: found).run(np.zeros((9, 12), np.uint8))


def test_detector_may_return_nothing_or_points_outside():
    for found in (square(0), square(2, xy=np.array([[11.0, 8.0], [40.0, 40.0]]))):
        odd = Detector("odd", lambda grey, found=found: found)
        assert np.array_equal(odd.run(np.zeros((9, 12), np.uint8)).xy, found.xy)


def test_invalid_detectors_are_refused(orb):
    with pytest.raises(InputError, match="name must not be 'sift', which is a built-in detector"):
        register_detector(Detector("sift", orb.detect))
    with pytest.raises(InputError, match="letters, digits and hyphens, got 'a,b'"):
        Detector("a,b", orb.detect)
    with pytest.raises(InputError, match="window must be above 0 and finite, got 0"):
        Detector("a", orb.detect, window=0)
    with pytest.raises(InputError, match="window must be above 0 and finite, got inf"):
        Detector("a", orb.detect, window=float("inf"))
    with pytest.raises(InputError, match="detect must be a function, got str"):
        Detector("a", "orb")
    with pytest.raises(InputError, match=r"regions must be some of .*'orb'.*got \('surf',\)"):
        match(np.zeros((60, 80)), np.zeros((60, 80)), regions=("surf",))
