"""Bad options and files to the scripts: one line on standard error, exit status 2."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
import skimage.data
import skimage.feature
import skimage.io

SCRIPTS = Path(__file__).parents[2] / "scripts"


def refusal(capsys, name, *options):
    """The one line with which a script refuses its options."""
    assert runpy.run_path(str(SCRIPTS / f"{name}.py"))["main"]([*map(str, options)]) == 2
    shown = capsys.readouterr()
    told = [
        line for line in shown.err.splitlines() if line and "it/s]" not in line
    ]  # but for a bar of progress
    assert shown.out == "" and len(told) == 1
    return told[0]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("measure/compare_ransac", ["--copies", "10"], "copies must be in [1, 9] for 1 objects, got 10"),
        ("ablation", ["--pairs", "0"], "--pairs must be at least 1, got 0"),
        ("ablation", ["--jobs", "0"], "--jobs must not be 0, got 0"),
        ("ablation", ["--variants", "none"], "--variants must be among default, "),
        ("ablation", ["--data", "none"], "none must hold folders with two images and gt.npz, found none"),
        ("measure/compare_ransac", ["--copies", "1", "0"], "--copies must be at least 1, got 0"),
        ("collection/evaluate_shortlist", ["none"], "none must hold scenes/labels.json"),
        ("collection/bench_index", ["none", "--folder", "index"], "none must hold photographs, found 0"),
        (
            "collection/evaluate_index_crops",
            ["none", "--folder", "index"],
            "index: there is no index in this folder",
        ),
        ("measure/evaluate_logos", ["none", "--every", "0"], "--every must be at least 1, got 0"),
        ("bench_clustering", ["growth", "--jobs", "0"], "--jobs must be at least 1, got 0"),
        ("bench_clustering", ["merging", "--repeats", "0"], "--repeats must be at least 1, got 0"),
        ("bench_clustering", ["speed"], "PART must be one of merging, "),
        ("bench_clustering", ["given"], "given: --graph must name a folder"),
        ("bench_clustering", ["growth", "--sizes", "10"], "--sizes must be at least 1000, got 10"),
        ("collection/bench_collection", ["none", "killed"], "none must hold models/*.jpg"),
        (
            "collection/bench_collection",
            ["none", "speed", "--single", "0"],
            "--single must be at least 1, got 0",
        ),
        ("bench_matching", ["--repeats", "0"], "--repeats must be at least 1, got 0"),
        ("bench_matching", ["a.png"], "two pictures are needed, or none, got 1"),
        ("measure/fuzz_files", ["--jobs", "0"], "--jobs must be at least 1, got 0"),
        ("measure/fuzz_files", ["--files", "-1"], "--files must be at least 1, got -1"),
        ("measure/evaluate_unrelated", ["a", "b", "--pairs", "0"], "--pairs must be at least 1, got 0"),
        ("measure/evaluate_keypoints", ["none"], "none: the folder can't be read"),
        ("measure/evaluate_details", ["--data", "a", "--prints", "0"], "--prints must be at least 1, got 0"),
        (
            "measure/evaluate_reliability",
            ["none", "--out", "rows.csv"],
            "none must hold models/*.jpg and tiles",
        ),
        ("measure/evaluate_magnification", ["a", "--times", "0.5"], "--times must be at least 1, got 0.5"),
        ("draw/plot_pair", ["--n-outliers", "-5"], "--n-outliers must be at least 0, got -5"),
        ("maintain/tune_rivals", ["--draws", "0"], "--draws must be at least 1, got 0"),
        ("maintain/tune_rivals", ["--jobs", "0"], "--jobs must not be 0, got 0"),
        ("evaluate_pairs", ["--data", "none", "--jobs", "0"], "--jobs must not be 0, got 0"),
        ("sweep", ["--quick", "--jobs", "0"], "--jobs must not be 0, got 0"),
        ("sweep", ["--quick", "--copies", "0"], "--copies must be in [1, 9], got 0"),
        ("sweep", ["--quick", "--copies", "10"], "--copies must be in [1, 9], got 10"),
        ("sweep", ["--quick", "--side", "31"], "--side must be at least 32, got 31"),
    ],
)
def test_bad_options(name, options, message, capsys):
    assert message in refusal(capsys, name, *options)


@pytest.mark.parametrize("name", ["ablation", "cluster_images", "evaluate_pairs", "draw/figures", "sweep"])
def test_a_file_as_folder_of_results_is_refused_before_the_work(name, tmp_path, capsys):
    (tmp_path / "out").write_text("")
    data = ["--data", tmp_path / "none"] if name == "evaluate_pairs" else []
    assert "out must be a folder, but it is a file" in refusal(capsys, name, "--out", tmp_path / "out", *data)


@pytest.mark.parametrize("part", ["merging", "quality", "bandwidth"])
def test_benchmark_needs_all_of_its_sets_before_it_starts(part, tmp_path, capsys):
    (tmp_path / "clustering").mkdir()
    lacking = {"merging": "mnist_test"}.get(part, "yaleb")
    for name in {"coil20", "coil100", "usps9298", "mnist_test", "yaleb"} - {lacking}:
        np.savez(tmp_path / "clustering" / f"{name}.npz", X=np.zeros((4, 2, 2)), y=np.arange(4))
    told = refusal(capsys, "bench_clustering", part, "--data", tmp_path)
    assert f"{part}: --data or GDL_DATA must name a folder with clustering/{lacking}.npz" in told


def test_unrelated_pictures_must_be_two(tmp_path, capsys):
    skimage.io.imsave(tmp_path / "cat.png", skimage.data.chelsea())
    told = refusal(capsys, "measure/evaluate_unrelated", tmp_path, tmp_path)
    assert "must hold two different pictures" in told


def test_a_picture_beside_itself_five_times_smaller(tmp_path, capsys):
    skimage.io.imsave(tmp_path / "coffee.png", skimage.data.coffee())
    main = runpy.run_path(str(SCRIPTS / "measure" / "evaluate_magnification.py"))["main"]
    assert main([str(tmp_path), "--times", "5"]) == 0
    row = capsys.readouterr().out.splitlines()[-1].strip("| ").split(" | ")
    times, pictures, objects, matches, true, largest = map(int, row)
    assert (times, pictures, objects) == (5, 1, 1)
    assert largest == matches >= true > 0.8 * matches > 100


def test_a_small_print_in_a_large_photograph(tmp_path, capsys):
    for folder, name in (("models", "coffee"), ("tiles", "chelsea"), ("tiles", "rocket")):
        (tmp_path / folder).mkdir(exist_ok=True)
        skimage.io.imsave(tmp_path / folder / f"{name}.png", getattr(skimage.data, name)())
    main = runpy.run_path(str(SCRIPTS / "measure" / "evaluate_details.py"))["main"]
    sizes = ["--widths", "90", "--prints", "1", "--megapixels", "4"]
    assert main(["--data", str(tmp_path), *sizes]) == 0
    row = capsys.readouterr().out.splitlines()[2].strip("| ").split(" | ")
    assert row[:3] == ["90", "1", "1"]


def test_mosaics_have_each_picture_once_and_parts_of_them_are_cut():
    script = runpy.run_path(str(SCRIPTS / "collection" / "evaluate_index_crops.py"))
    colours = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0]], np.uint8)
    mosaic = script["fill"]([np.full((30, 40, 3), colour) for colour in colours], 80, 50)
    assert np.array_equal(mosaic[0, [39, 40]], colours[:2])
    assert np.array_equal(mosaic[49, [39, 40]], colours[2:])
    with pytest.raises(ValueError, match="too few pictures"):
        script["fill"]([np.zeros((30, 40, 3), np.uint8)], 80, 50)
    photograph = skimage.data.coffee()
    plain = script["cut"](photograph, 0.2, False, np.random.default_rng(0))
    assert plain.shape == (80, 120, 3)
    part = skimage.feature.match_template(photograph[..., 1], plain[..., 1])
    assert part.max() > 0.98
    assert script["cut"](photograph, 0.2, True, np.random.default_rng(0)).shape[0] != 80


def test_logos_are_found_in_their_boxes(tmp_path, capsys):
    for folder in ("references", "scenes"):
        (tmp_path / "logos" / folder).mkdir(parents=True)
    sign, wall = skimage.data.coffee()[:240, 100:340], skimage.data.brick()[:300, :400]
    scene = np.repeat(wall[..., None], 3, axis=2)
    skimage.io.imsave(tmp_path / "logos/scenes/wall.jpg", scene, check_contrast=False)
    scene[40:280, 150:390] = sign
    skimage.io.imsave(tmp_path / "logos/references/Cup.jpg", sign)
    skimage.io.imsave(tmp_path / "logos/scenes/cup.jpg", scene)
    labels = {"Cup": {"scenes": {"cup.jpg": [[150, 40, 390, 280]]}, "without": ["wall.jpg"]}}
    (tmp_path / "logos/labels.json").write_text(json.dumps(labels))
    script = runpy.run_path(str(SCRIPTS / "measure" / "evaluate_logos.py"))
    assert script["main"]([str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "| 200 to 300 | 1 | 1 | 1 |" in told
    assert "found 1 of 1, SIFT 1; false 0 of 1, SIFT 0" in told
    assert not script["is_in_a_box"](np.array([[10.0, 10], [20, 20]]), [[150, 40, 390, 280]])


def test_key_points_of_a_folder_beside_opencvs(tmp_path, capsys):
    skimage.io.imsave(tmp_path / "coffee.png", skimage.data.coffee()[:300, :400])
    main = runpy.run_path(str(SCRIPTS / "measure" / "evaluate_keypoints.py"))["main"]
    assert main([str(tmp_path)]) == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[0] for row in rows] == ["gdl-match", "opencv"]
    for _, number, again, error, seconds in rows:
        assert int(number) > 50
        assert 40 < float(again.strip("%")) < 100
        assert 0 < float(error) < 0.5
        assert float(seconds) > 0


def test_objects_of_a_print_in_a_photograph_are_right(tmp_path):
    for name, picture in (("front", skimage.data.coffee()), ("tile", skimage.data.astronaut())):
        skimage.io.imsave(tmp_path / f"{name}.png", picture)
    script = runpy.run_path(str(SCRIPTS / "measure" / "evaluate_reliability.py"))
    found = script["pasted_objects"](
        tmp_path / "front.png", tmp_path / "tile.png", 180, 0.4, np.array([0.3, 0.6])
    )
    assert [right for _, right in found] == [True]
    assert found[0][0] < -8


def test_reliability_of_some_kinds(tmp_path, capsys):
    for folder, name in (("models", "coffee"), ("tiles", "astronaut")):
        (tmp_path / folder).mkdir()
        skimage.io.imsave(tmp_path / folder / f"{name}.jpg", getattr(skimage.data, name)())
    (tmp_path / "scenes").mkdir()
    (tmp_path / "scenes/labels.json").write_text('{"scenes": {}, "negatives": []}')
    name, out = "measure/evaluate_reliability", ["--out", tmp_path / "rows.csv"]
    told = refusal(capsys, name, tmp_path, *out, "--only", "birds")
    assert "--only must be among ORB, SIFT, small prints, got birds" in told.replace("AKAZE, ", "")
    script = runpy.run_path(str(SCRIPTS / f"{name}.py"))
    assert script["main"]([*map(str, [tmp_path, *out]), "--only", "SIFT"]) == 0
    kinds = [row["kind"] for row in script["read_rows"](tmp_path / "rows.csv")]
    assert sorted(set(kinds)) == ["SIFT, mutual", "SIFT, nearest", "SIFT, ratio 0.9"]


def test_words_are_drawn_with_the_kinds_that_there_are(tmp_path):
    script = runpy.run_path(str(SCRIPTS / "measure" / "evaluate_reliability.py"))
    rows = [{"kind": "covers", "log_nfa": value, "right": True} for value in (-20.0, -9.0, -8.5, -6.0, -3.0)]
    rows += [{"kind": "ORB, mutual", "log_nfa": value, "right": value < 0} for value in (-3.0, 3.0, np.nan)]
    script["draw"](rows * 5, tmp_path / "words.png")
    assert skimage.io.imread(tmp_path / "words.png").shape[:2] == (462, 880)


def test_right_objects_are_counted_by_kind_and_class():
    script = runpy.run_path(str(SCRIPTS / "measure" / "evaluate_reliability.py"))
    values = [("a, x", "1", -20.0, True), ("a, y", "1", -8.0, False), ("a, x", "3", -6.0, True)]
    values += [("a, x", "4", -1.0, False), ("a, x", "5", 3.0, False), ("b", "1", np.nan, False)]
    rows = [dict(zip(("kind", "pair", "log_nfa", "right"), row, strict=True)) for row in values]
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in script["format_table"](rows).splitlines()
    ]
    counts = ["1 of 2", "1 of 1", "0 of 0", "0 of 1", "0 of 0", "0 of 1", "0 of 0"]
    assert lines[-2] == ["a", "5", *counts]
    assert lines[-1] == ["b", "1", *["0 of 0"] * 7]
