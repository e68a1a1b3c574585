import hashlib
import json
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import skimage.data
from PIL import Image
from scipy import ndimage

from matching import MatchConfig, MatchResult, __version__
from matching._common import opencv
from matching.correspondences.points import spread_out
from matching.errors import InputError
from matching.objects.description import add_comparison, describe_object
from matching.objects.differences import Difference
from matching.output import files as output
from matching.output import folders
from matching.output.figures import drawing
from matching.output.figures.drawing import choose_frame, colour, draw_result
from matching.output.files import encode_npz, summarise, write_results
from matching.output.folders import check_folder, write_whole
from matching.pictures.images import TRANSPARENT_GREY, Picture, add_mask, make_picture_of_array


@pytest.fixture(scope="module")
def pictures():
    coffee = skimage.data.coffee()
    return Picture(coffee[:240, :300], path=Path("a.png")), Picture(coffee[100:400, 50:250])


@pytest.fixture(scope="module")
def result():
    """Three objects and some outliers."""
    rng = np.random.default_rng(0)
    cluster = np.repeat([0, 1, 2, -1], [60, 40, 20, 30])
    corner = np.array([[20, 20], [160, 30], [60, 140], [0, 0]])[cluster]
    size = np.where(cluster >= 0, 80, 190)[:, None]
    xy0 = corner + rng.uniform(0, 1, (150, 2)) * size
    xy1 = xy0 + np.array([-10.25, 12.5])
    objects = tuple(
        describe_object(k, xy0[cluster == k], xy1[cluster == k], score)
        for k, score in enumerate((60.0, 50.0, 40.0))
    )
    score = rng.uniform(0.1, 0.9, 150)
    return MatchResult(xy0, xy1, cluster, score, objects, {"features": 0.25, "clustering": 0.125})


def test_npz_holds_every_candidate(result, tmp_path):
    (tmp_path / "matches.npz").write_bytes(encode_npz(result))
    with np.load(tmp_path / "matches.npz", allow_pickle=False) as data:
        assert sorted(data.files) == ["cluster", "score", "xy0", "xy1"]
        assert {name: data[name].dtype.name for name in data.files} == {
            "xy0": "float64", "xy1": "float64", "cluster": "int64", "score": "float64",
        }  # fmt: skip
        for name in data.files:
            assert np.array_equal(data[name], getattr(result, name))
    again = MatchResult(*(getattr(result, n).copy() for n in ("xy0", "xy1", "cluster", "score")), ())
    assert encode_npz(again) == encode_npz(result)


def strict(text):
    """JSON without the NaN and Infinity that Python alone accepts."""

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_summary_has_all_documented_entries(pictures, result):
    found = strict(json.dumps(summarise(pictures, replace(result, config=MatchConfig()))))
    assert found["version"] == __version__
    assert found["images"][0] == {"path": "a.png", "width": 300, "height": 240}
    assert (found["images"][1]["width"], found["images"][1]["height"]) == (200, 300)
    assert "(0, 0) the centre of the top-left pixel" in found["coordinates"]
    assert found["parameters"]["clustering"]["n_neighbors"] == 35
    assert found["seconds"] == {"features": 0.25, "clustering": 0.125}
    assert [o["id"] for o in found["objects"]] == [0, 1, 2]
    for entry, expected in zip(found["objects"], result.objects, strict=True):
        assert entry["matches"] == expected.n_matches
        assert entry["score"] == expected.score
        assert np.allclose(entry["transform"], expected.transform)
        assert np.allclose(entry["outline0"], expected.outline0, atol=0.01)
        assert np.allclose(entry["outline1"], expected.outline1, atol=0.01)


def test_objects_of_a_few_points_in_line_are_valid_json(pictures):
    xy0 = np.array([[0.0, 0], [1, 2], [2, 4]])
    tiny = MatchResult(xy0, xy0 + 5, np.zeros(3, int), np.zeros(3), (describe_object(0, xy0, xy0 + 5, 1.0),))
    strict(json.dumps(summarise(pictures, tiny)))


def test_results_are_written(pictures, result, tmp_path):
    write_results(tmp_path, pictures, result)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["matches.json", "matches.npz", "matches.png"]
    with Image.open(tmp_path / "matches.png") as image:
        assert np.array_equal(np.asarray(image), draw_result(*pictures, result))


OTHERS = ["database.db", "matches.txt", "object1.png", "objects.png", "unmatches.png", "matches.h5"]


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_only_files_of_an_earlier_run_are_removed(pictures, result, tmp_path):
    pytest.importorskip("h5py")
    write_results(tmp_path, pictures, result, exports=("csv",), html=True, warp=True)
    for entry in strict((tmp_path / "matches.json").read_text())["objects"]:
        assert entry["deformation"]["forward"]["smoothing"] is None  # the objects were shifted
        assert entry["deformation"]["backward"]["hold_out_error"] < 0.1
    assert {"matches.csv", "matches.html", "matches.png", "object2-warp10.png"} < set(names_in(tmp_path))
    for name in (*OTHERS, "object7-warp10.png"):
        (tmp_path / name).write_bytes(b"x")
    write_results(tmp_path, pictures, result, figure=False)
    plain = ["matches.json", "matches.npz"]
    assert names_in(tmp_path) == sorted([*plain, *OTHERS, "object7-warp10.png"])
    for name in ("database.db", "matches.h5"):
        (tmp_path / name).unlink()
    write_results(tmp_path, pictures, result, figure=False, exports=("colmap", "hloc"))
    nothing = MatchResult(result.xy0, result.xy1, np.full_like(result.cluster, -1), result.score, ())
    write_results(tmp_path, pictures, nothing, figure=False)  # exports of another result go
    kept = [name for name in OTHERS if name not in ("database.db", "matches.h5")]
    assert names_in(tmp_path) == sorted([*plain, *kept, "object7-warp10.png"])


@pytest.mark.parametrize("name", ["database.db", "matches.json", "matches.html"])
def test_foreign_files_are_not_replaced(pictures, result, tmp_path, name):
    (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(InputError, match=rf"{name}: was not written by gdl-match"):
        write_results(tmp_path, pictures, result, html=True, exports=("colmap",))
    assert names_in(tmp_path) == [name]
    assert (tmp_path / name).read_bytes() == b"{}"


def test_changed_files_are_neither_replaced_nor_removed(pictures, result, tmp_path):
    write_results(tmp_path, pictures, result, figure=False, exports=("colmap",))
    with (tmp_path / "database.db").open("ab") as file:  # as COLMAP does
        file.write(b"work of hours")
    changed = (tmp_path / "database.db").read_bytes()
    with pytest.raises(InputError, match="has been changed since"):
        write_results(tmp_path, pictures, result, figure=False, exports=("colmap",))
    write_results(tmp_path, pictures, result, figure=False)
    assert (tmp_path / "database.db").read_bytes() == changed


def test_listed_files_outside_the_folder_are_ignored(pictures, result, tmp_path):
    (tmp_path / "precious").write_bytes(b"x")
    folder = tmp_path / "out"
    write_results(folder, pictures, result, figure=False)
    summary = json.loads((folder / "matches.json").read_text())
    summary["files"]["../precious"] = hashlib.sha256(b"x").hexdigest()
    (folder / "matches.json").write_text(json.dumps(summary))
    write_results(folder, pictures, result, figure=False)
    assert (tmp_path / "precious").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("is_there", [False, True])
def test_interrupted_writing_leaves_no_trace(pictures, result, tmp_path, monkeypatch, error, is_there):
    folder = tmp_path / "new" / "out"
    if is_there:
        write_results(folder, pictures, result, figure=False)
    before = [(path, path.is_file() and path.read_bytes()) for path in sorted(tmp_path.rglob("*"))]

    def stop(*_, **__):
        raise error

    monkeypatch.setattr(output, "draw_result", stop)
    with pytest.raises((KeyboardInterrupt, InputError)):
        write_results(folder, pictures, result)
    assert [(path, path.is_file() and path.read_bytes()) for path in sorted(tmp_path.rglob("*"))] == before


def test_interrupt_waits_until_all_files_are_in_place(pictures, result, tmp_path, monkeypatch):
    write_results(tmp_path, pictures, result)
    replace = Path.replace

    def interrupt(self, target):
        signal.raise_signal(signal.SIGINT)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", interrupt)
    (tmp_path / "matches.png").write_bytes(b"mine")
    with pytest.raises(KeyboardInterrupt):
        write_results(tmp_path, pictures, result, figure=False, exports=("csv",))
    assert names_in(tmp_path) == ["matches.csv", "matches.json", "matches.npz", "matches.png"]
    assert folders.find_own_files(tmp_path) == {"matches.csv", "matches.json", "matches.npz"}


def test_checked_folder_is_left_as_it_was(tmp_path):
    (tmp_path / "file").write_text("")
    assert check_folder(tmp_path / "some" / "änd more") == tmp_path / "some" / "änd more"
    assert names_in(tmp_path) == ["file"]
    for path in (tmp_path / "file", tmp_path / "file" / "inside", Path("/proc/nope"), tmp_path / ("x" * 300)):
        with pytest.raises(InputError, match=r"is a file, not a folder|the folder can't be written"):
            check_folder(path)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_failed_writing_keeps_only_the_old_file(tmp_path, monkeypatch, error):
    path = tmp_path / "a.txt"
    write_whole(path, b"old")

    def stop(self, target):
        raise error

    monkeypatch.setattr(Path, "replace", stop)
    with pytest.raises((KeyboardInterrupt, InputError)):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_drawing_shows_both_pictures_at_full_size(pictures, result):
    drawn = draw_result(
        *pictures, MatchResult(result.xy0[:0], result.xy1[:0], result.cluster[:0], result.score[:0], ())
    )
    assert drawn.dtype == np.uint8
    gap = drawn.shape[1] - 300 - 200
    assert 1 <= gap <= 20
    assert (drawn[:300, 300 : 300 + gap] == 255).all()
    assert (drawn[240:300, :300] == 255).all()
    for shown, picture in ((drawn[:240, :300], pictures[0]), (drawn[:300, 300 + gap :], pictures[1])):
        assert np.array_equal(shown, picture.rgb)  # nothing stands out, so nothing is dimmed
    caption = drawn[300:]
    assert 10 < len(caption) < 40
    assert caption.min() < 100  # it says that there is no common object


def test_only_surroundings_are_faded(pictures, result):
    none_drawn = replace(result, cluster=np.full_like(result.cluster, -1))
    drawn = draw_result(*pictures, none_drawn)[:240, :300]
    inside = opencv.fill_polygons((240, 300), [found.outline0 for found in result.objects])
    same = (drawn == pictures[0].rgb).all(axis=2)
    assert same[inside].mean() > 0.7  # but for outlines and labels
    assert same[~ndimage.binary_dilation(inside, iterations=5)].mean() < 0.02


def test_transparent_areas_are_light_grey(pictures):
    alpha = np.full((300, 200), 255, np.uint8)
    alpha[:, 100:] = 0
    clear = make_picture_of_array(np.dstack([pictures[1].rgb, alpha]))
    assert np.array_equal(clear.displayed[:, :100], pictures[1].rgb[:, :100])
    assert (clear.displayed[:, 100:] == TRANSPARENT_GREY).all()
    masked = add_mask(pictures[1], alpha)  # left out by the user, not transparent
    assert np.array_equal(masked.displayed, pictures[1].rgb)
    assert pictures[0].displayed is pictures[0].rgb


def test_frame_is_cut_off_at_the_edges_of_its_picture(pictures, result):
    found = replace(result.objects[0], outline0=np.array([[0, 0], [299, 0], [299, 239], [0, 239]], float))
    far = np.array([[-900.0, -20.0], [500.0, -20.0], [500.0, 150.0], [-900.0, 150.0]])
    motion = replace(found.motion, share=0.9)
    framed, plain = (
        draw_result(*pictures, replace(result, objects=(replace(found, frame1=f, motion=motion),)))
        for f in (far, None)
    )
    left = framed.shape[1] - 200
    assert np.array_equal(framed[:, : left - 1], plain[:, : left - 1])
    changed = (framed != plain).any(axis=2)[:, left:]
    assert changed[148:152, :].any(axis=0).mean() > 0.4  # dashes along its lower edge
    assert not changed[160:].any()
    assert choose_frame(replace(found, frame1=far, motion=replace(motion, share=0.1))) is None


@pytest.mark.parametrize(
    "sizes",
    [((1, 24_999_999), (1, 24_999_999)), ((24_999_999, 1), (1, 24_999_999)), ((375, 40_000), (40_000, 375))],
    ids=["rows", "column and row", "bars"],
)
@pytest.mark.slow
def test_the_drawing_of_any_pictures_stays_in_bounds(sizes):
    pair = [Picture(np.broadcast_to(np.uint8(90), (*size, 3))) for size in sizes]
    nothing = MatchResult(np.empty((0, 2)), np.empty((0, 2)), np.empty(0, int), np.empty(0), ())
    drawn = draw_result(*pair, nothing)
    assert max(drawn.shape) <= drawing.CANVAS_SIDE
    assert drawn.size / 3 < 1.03 * drawing.CANVAS_PIXELS  # with the caption
    assert len(opencv.encode_png(drawn)) > 0


def count(image, rgb):
    return (np.abs(image.astype(int) - rgb).max(axis=2) <= 8).sum()


def test_every_object_has_its_colour_in_both_pictures(pictures, result):
    drawn = draw_result(*pictures, result)
    plain = draw_result(*pictures, MatchResult(result.xy0, result.xy1, result.cluster, result.score, ()))
    for half in (slice(0, 300), slice(305, None)):
        for found in result.objects:
            assert count(drawn[:, half], colour(found.id)) > count(plain[:, half], colour(found.id)) + 100


def test_differences_are_outlined_in_black_and_white(pictures, result):
    """In both pictures, with a legend, unless they are not wanted."""
    square = np.array([[0.0, 0.0], [30.0, 0.0], [30.0, 30.0], [0.0, 30.0]])
    found = result.objects[0]
    centres = [outline.mean(axis=0) for outline in (found.outline0, found.outline1)]
    difference = Difference(*(square + centre for centre in centres), 0.1, 20.0, 8.0)
    differing = replace(result, objects=(add_comparison(found, False, [difference]), *result.objects[1:]))
    plain, drawn = draw_result(*pictures, result), draw_result(*pictures, differing)
    assert len(drawn) > len(plain)  # by the legend
    shift = drawn.shape[1] - pictures[1].width
    for centre, left in zip(centres, (0, shift), strict=True):
        x, y = np.rint(centre + np.array([left, 0])).astype(int).tolist()
        side = drawn[y, x : x + 30].max(axis=1)
        assert (side > 200).any()
        assert (side < 60).any()
    np.testing.assert_array_equal(draw_result(*pictures, differing, differences=False), plain)


def test_tiny_pictures_can_be_drawn():
    one = Picture(np.zeros((1, 1, 3), np.uint8))
    xy = np.zeros((1, 2))
    drawn = draw_result(
        one, one, MatchResult(xy, xy, np.zeros(1, int), np.zeros(1), (describe_object(0, xy, xy, 1.0),))
    )
    assert drawn.shape[0] == 1


def test_lines_are_spread_over_an_object():
    rng = np.random.default_rng(1)
    xy = rng.uniform(0, 100, (500, 2))
    chosen = spread_out(xy, drawing.MAX_LINES)
    assert len(set(chosen)) == drawing.MAX_LINES
    gaps = np.linalg.norm(xy[chosen][:, None] - xy[chosen], axis=2)
    np.fill_diagonal(gaps, np.inf)
    assert gaps.min() > 8
    assert sorted(spread_out(xy[:5], 30)) == [0, 1, 2, 3, 4]
