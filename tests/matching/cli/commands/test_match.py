"""The command line as a user runs it."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE
from PIL import Image
from planting import crops, object_pair, true_shift

from eval.matching import command
from matching import __version__
from matching.cli import main as cli
from matching.cli.console import COMPILING_MESSAGE
from matching.cli.demo import make_demo_pair

ROOT = Path(__file__).resolve().parents[4]
SCRIPT = ROOT / "scripts" / "match.py"
ROW = (  # of the table
    r" *(?P<object>\d+) +\d+ +0\.\d\d  (?P<sure>sure|likely|look at it) +(?P<x>\d+), \d+ +\d+ x \d+"
    r"  (?P<turn>\S+)( c?cw)? +(?P<scale>\d\.\d\d) +(?P<share>\d+)% +(?P<complete>\d+)%( of picture 0)?"
    r"(, [^%]+?)? +\d+\.\d px"
)
FILES = ["matches.json", "matches.npz", "matches.png"]


def run(*arguments, cwd=ROOT, **environment):
    """The finished process of scripts/match.py."""
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def arrays(folder):
    with np.load(folder / "matches.npz") as data:
        return {name: data[name] for name in data.files}


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A folder with pictures of every kind."""
    folder = tmp_path_factory.mktemp("pictures")
    first, second = object_pair()
    Image.fromarray(first).save(folder / "first.png")
    Image.fromarray(second).save(folder / "second.png")
    for name, crop in crops().items():
        Image.fromarray(crop).save(folder / f"{name}.png")
    grey = np.asarray(Image.fromarray(second).convert("L"))
    Image.fromarray(grey.astype(np.uint16) * 200).save(folder / "deep.png")
    Image.fromarray((grey / 255).astype(np.float32)).save(folder / "float.tiff")
    Image.fromarray(np.dstack([second, np.full_like(grey, 128)])).save(folder / "rgba.png")
    Image.fromarray(second).save(folder / "näme with späces é.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(np.rot90(second)).save(folder / "turned.jpg", exif=exif, quality=95)
    (folder / "empty.png").write_bytes(b"")
    (folder / "text.png").write_text("not an image")
    (folder / "cut.png").write_bytes((folder / "second.png").read_bytes()[:20_000])
    (folder / "folder.png").mkdir()
    Image.fromarray(np.zeros((1, 1), np.uint8)).save(folder / "one.png")
    Image.fromarray(np.zeros((300, 300), np.uint8)).save(folder / "black.png")
    Image.fromarray(grey[:3]).save(folder / "thin.png")
    return folder


SCRIPT_TELLING_MODULES = """
import os, runpy, sys
end = os._exit
def tell_and_end(status):
    with open(told, "w") as file:
        print([name for name in ("scipy.linalg", "scipy.spatial") if name in sys.modules], file=file)
        import scipy.linalg.cython_blas
        print("scipy.linalg can be loaded", file=file)
    end(status)
os._exit = tell_and_end
_, told, *sys.argv = sys.argv
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def found(pictures):
    """A run on two pictures with two objects in common, without any option: (process, working folder)."""
    folder = pictures / "found"
    folder.mkdir()
    paths = SCRIPT, pictures / "first.png", pictures / "second.png"
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT_TELLING_MODULES, pictures / "modules.txt", *paths],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return process, folder


def test_results_go_to_a_folder_named_after_the_pictures(found):
    process, folder = found
    assert process.returncode == 0, process.stderr
    assert listed(folder) == ["first-second-match"]
    assert listed(folder / "first-second-match") == FILES


def test_two_dashes_end_the_options(pictures, tmp_path):
    process = run("--quiet", "--", pictures / "first.png", pictures / "missing.png", cwd=tmp_path)
    assert process.returncode == 2
    assert process.stderr.count("\n") == 1 and "missing.png: no such file" in process.stderr


def test_table_has_an_object_a_line(found):
    lines = found[0].stdout.splitlines()
    assert len(lines) == 3
    titles = "object matches score how sure centre size turn scale share complete error"
    assert " ".join(lines[0].split()) == titles
    rows = [re.fullmatch(ROW, line) for line in lines[1:]]
    assert [row["object"] for row in rows] == ["0", "1"]
    for row in rows:
        assert row["sure"] == "sure"
        assert row["turn"] == "0°"
        assert row["scale"] == "1.00"
        assert 15 < int(row["share"]) < 50
        assert min(abs(int(row["x"]) - 110), abs(int(row["x"]) - 330)) < 25


def test_progress_goes_to_standard_error(found):
    error = found[0].stderr
    assert "first.png: 440 x 220" in error
    assert "second.png: 440 x 440" in error
    assert "Warning" not in error


def test_npz_follows_the_interface(found):
    data = arrays(found[1] / "first-second-match")
    assert set(data) == {"xy0", "xy1", "cluster", "score"}
    m = len(data["score"])
    assert data["xy0"].shape == data["xy1"].shape == (m, 2)
    assert {name: a.dtype.name for name, a in data.items()} == {
        "xy0": "float64", "xy1": "float64", "cluster": "int64", "score": "float64",
    }  # fmt: skip
    assert set(data["cluster"]) == {-1, 0, 1}
    kept = data["cluster"] >= 0
    error = np.linalg.norm(true_shift(data["xy0"][kept]) - data["xy1"][kept], axis=1)
    assert (error < 6).mean() > 0.97


def test_json_follows_the_interface(found):
    folder = found[1] / "first-second-match"
    data = json.loads((folder / "matches.json").read_text())
    clusters = arrays(folder)["cluster"]
    assert data["version"] == __version__
    assert [Path(i["path"]).name for i in data["images"]] == ["first.png", "second.png"]
    assert [(i["width"], i["height"]) for i in data["images"]] == [(440, 220), (440, 440)]
    assert "EXIF" in data["coordinates"]
    assert data["parameters"]["clustering"]["n_clusters"] is None
    assert data["seconds"]
    assert all(s >= 0 for s in data["seconds"].values())
    assert [o["id"] for o in data["objects"]] == [0, 1]
    assert [o["matches"] for o in data["objects"]] == [(clusters == k).sum() for k in range(2)]
    scores = [o["score"] for o in data["objects"]]
    assert scores == sorted(scores, reverse=True)
    for entry in data["objects"]:
        assert np.shape(entry["transform"]) == (3, 3)
        for outline in (entry["outline0"], entry["outline1"]):
            assert np.shape(outline)[0] >= 3
            assert np.shape(outline)[1] == 2


def test_figure_shows_both_pictures_at_full_size(found):
    with Image.open(found[1] / "first-second-match" / "matches.png") as image:
        assert image.height == 440
        assert 880 < image.width < 900


def test_match_does_without_scipys_linear_algebra(found, pictures):
    """It takes longer to load than two small pictures to match; whoever needs it later has it."""
    told = (pictures / "modules.txt").read_text().splitlines()
    assert told == ["[]", "scipy.linalg can be loaded"]


@pytest.fixture(scope="module")
def again(pictures):
    """The same pair once more, on one processor, quiet and without the figure."""
    out = pictures / "again"
    lone = (
        "import os, runpy, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
        if hasattr(os, "sched_setaffinity")
        else "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    options = ("--out", out, "--quiet", "--no-figure")
    process = subprocess.run(
        [sys.executable, "-c", lone, SCRIPT, pictures / "first.png", pictures / "second.png", *options],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return process, out


def test_threads_and_repetition_do_not_change_bytes(found, again):
    assert again[0].returncode == 0, again[0].stderr
    first, second = (folder / "matches.npz" for folder in (found[1] / "first-second-match", again[1]))
    assert first.read_bytes() == second.read_bytes()


def test_quiet_leaves_only_the_table(found, again):
    assert again[0].stderr == ""
    assert again[0].stdout == found[0].stdout


def test_no_figure_leaves_it_out(again):
    assert listed(again[1]) == ["matches.json", "matches.npz"]


def test_missing_file_is_reported_by_the_process(tmp_path):
    process = run("nothing.png", "nor this.png", cwd=tmp_path)
    assert process.returncode == 2
    assert process.stdout == ""
    assert process.stderr.splitlines() == ["gdl-match: error: nothing.png: no such file"]
    assert not listed(tmp_path)


# In one process from here: what the shell would add has been seen above.


@pytest.fixture
def gdl_match(pictures, tmp_path, monkeypatch, capsys):
    """Runs the command in an empty folder: (exit status, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        arguments = [pictures / a if str(a).endswith((".png", ".jpg", ".tiff")) else a for a in arguments]
        try:
            status = command.main([str(a) for a in arguments])
        except SystemExit as stop:  # --help, --version
            status = stop.code
        return status, *capsys.readouterr()

    call.read = capsys.readouterr
    return call


@pytest.mark.slow
def test_matched_size_of_large_picture_is_printed(gdl_match, tmp_path, pictures):
    rgb = np.asarray(Image.open(pictures / "second.png").convert("RGB"))
    Image.fromarray(np.kron(rgb, np.ones((4, 4, 1), np.uint8))).save(tmp_path / "large.png")
    megapixels = rgb[:, :, 0].size * 16 / 1e6
    assert megapixels > 2
    options = ("--no-figure", "--out", "out", "--html", "--max-matches", "500")
    for limit, seen in (
        ([], megapixels),
        (["--max-pixels", "2500000"], 2.5),
        (["--max-pixels", "1500000"], 1.5),
    ):
        status, output, _ = gdl_match("first.png", str(tmp_path / "large.png"), *options, *limit)
        assert status == 0
        told = output.splitlines()[-1]
        assert re.fullmatch(rf"matched at ([\d.]+) of \1 and {seen:.1f} of {megapixels:.1f} megapixels", told)
        content = json.loads((tmp_path / "out" / "matches.json").read_text())
        assert content["matched_at"][1] == pytest.approx(seen, rel=0.01)
        assert told.replace("matched at ", "") in (tmp_path / "out" / "matches.html").read_text()
    assert content["parameters"]["max_pixels"] == 1_500_000


def test_json_is_all_that_is_printed(gdl_match, tmp_path):
    status, output, _ = gdl_match("first.png", "second.png", "--json", "--no-figure", "--out", "told")
    assert status == 0
    told = json.loads(output)
    assert told == json.loads((tmp_path / "told" / "matches.json").read_text())
    for item in told["objects"]:
        assert np.shape(item["frame1"]) == (4, 2)
        assert set(item["motion"]) == {
            "words",
            "centre",
            "turn",
            "scale",
            "mirrored",
            "share",
            "share1",
            "shift",
        }
    assert [item["thing"] for item in told["objects"]] == [0, 1]


def test_single_picture_prints_repeats(gdl_match, tmp_path):
    Image.fromarray(np.hstack([crops()[name] for name in ("coffee", "rocket", "coffee")])).save("twice.png")
    status, output, _ = gdl_match(tmp_path / "twice.png", "--json", "--no-figure")
    told = json.loads(output)
    assert status == 0
    assert [len(thing["places"]) for thing in told["things"]] == [2]
    assert (tmp_path / "twice-repeats" / "matches.npz").exists()
    status, output, error = gdl_match(tmp_path / "twice.png", "--mask1", "second.png")
    assert (status, output) == (2, "")
    assert "--mask1" in error


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("coffee.png", "missing.png"), "missing.png: no such file"),
        (("coffee.png", "empty.png"), "empty.png: is empty"),
        (("coffee.png", "text.png"), "text.png: is not a picture"),
        (("coffee.png", "cut.png"), "cut.png: damaged picture"),
        (("coffee.png", "folder.png"), "folder"),
        (("a.png", "b.png", "c.png"), ": no such file"),
        (("two\nlines.png", "coffee.png"), "no such file"),
        (("", "coffee.png"), "argument IMAGE: a name is empty"),
        (("https://example.com/a", "coffee.png"), "is a URL, not a file: download it first"),
        ((), "give one picture, or two, or --demo; see gdl-match --help"),
        (("photos",), "gdl-match collection --all photos --db FILE"),
        (("photos", "coffee.png"), "give the picture first, and then the folder in which to find it"),
        (("first.png", "second.png", "--mask0", "second.png"), "a mask must be as large as its picture"),
        (("coffee.png", "coffee.png", "--colour", "red"), "unrecognized arguments: --colour red"),
        (("coffee.png", "coffee.png", "--out"), "argument --out: expected one argument"),
        (("coffee.png", "coffee.png", "--htlm"), "--htlm (did you mean --html?)"),
        (("coffee.png", "coffee.png", "--maxmatches=5"), "(did you mean --max-matches?)"),
        (("coffee.png", "coffee.png", "--max-matches", "3.5"), "--max-matches: must be a whole number"),
        (("coffee.png", "coffee.png", "--bandwidth", "nan"), "--bandwidth: must be"),
        (("coffee.png", "coffee.png", "--method", "magic"), "argument --method: invalid choice: 'magic'"),
        (("coffee.png", "coffee.png", "--regions", "mser,harris"), "got 'mser,harris'"),
        (("coffee.png", "coffee.png", "--export", "csv,"), "argument --export: must be some of"),
    ],
)
def test_bad_input_ends_with_one_line(gdl_match, tmp_path, arguments, reason):
    (tmp_path / "photos").mkdir()
    status, output, error = gdl_match(*arguments)
    assert (status, output, error.count("\n")) == (2, "", 1)
    assert error.startswith("gdl-match: error: ") and reason in error
    assert listed(tmp_path) == ["photos"]


def test_settings_reach_the_result(gdl_match, tmp_path):
    arguments = ("first.png", "second.png", "--out", "out", "--quiet", "--max-matches", "1000", "--no-figure")
    settings = {"n-clusters": 60, "n-neighbors": 20, "n-initial-neighbors": 1, "n-neighbor-clusters": 4}
    settings |= {"bandwidth": 5.0, "method": "gdl-u"}
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    for more in (("--paper", "--n-initial-neighbors", "1"), (*options, "--regions", "sift")):
        assert gdl_match(*arguments, *more)[::2] == (0, "")
        assert 500 < len(arrays(tmp_path / "out")["score"]) <= 1000
        parameters = json.loads((tmp_path / "out" / "matches.json").read_text())["parameters"]
        assert parameters["candidates"]["max_matches"] == 1000
        clustering = parameters["clustering"]
        if "--paper" in more:
            assert (parameters["grouping"], clustering["n_clusters"]) == ("paper", 50)
            assert parameters["features"]["regions"] == ["mser"]
    assert parameters["features"]["regions"] == ["sift"]
    assert {name: clustering[name.replace("-", "_")] for name in settings} == settings


@pytest.mark.parametrize("out", ["/proc/nope", "taken", "taken/inside"])
def test_impossible_output_folder_is_rejected(gdl_match, tmp_path, out):
    (tmp_path / "taken").write_text("")
    status, output, error = gdl_match("coffee.png", "coffee.png", "--out", out)
    assert status == 2
    assert output == ""
    assert len(error.splitlines()) == 1
    assert out in error
    assert listed(tmp_path) == ["taken"]


def test_unwritable_result_is_reported(gdl_match, tmp_path):
    (tmp_path / "out" / "matches.npz" / "inside").mkdir(parents=True)
    status, output, error = gdl_match("black.png", "coffee.png", "--out", "out", "--quiet")
    assert (status, output) == (2, "")
    assert len(error.splitlines()) == 1
    assert "matches.npz" in error
    assert listed(tmp_path / "out") == ["matches.npz"]


@pytest.mark.parametrize("name", ["one.png", "black.png", "thin.png"])
def test_empty_pictures_give_status_1(gdl_match, tmp_path, name):
    status, output, error = gdl_match(name, "coffee.png", "--out", "out", "--quiet")
    assert (status, output, error) == (1, "no common object\n", "")
    assert listed(tmp_path / "out") == FILES
    assert json.loads((tmp_path / "out" / "matches.json").read_text())["objects"] == []


def test_picture_without_features_is_named_without_advice(gdl_match):
    status, _, error = gdl_match("coffee.png", "black.png", "--out", "out", "--no-figure")
    assert status == 1
    assert "/black.png: no features: it is too small, flat, transparent or masked\n" in error
    assert "coffee.png: no features" not in error
    assert "--view-synthesis" not in error


def test_unrelated_pictures_have_no_common_object(gdl_match, tmp_path):
    status, output, error = gdl_match("rocket.png", "chelsea.png", "--out", "out")
    assert (status, output) == (1, "no common object\n")
    assert error.splitlines()[-1].endswith("Try --view-synthesis, which also matches simulated views")
    assert listed(tmp_path / "out") == FILES
    data = arrays(tmp_path / "out")
    assert len(data["score"]) > 100
    assert (data["cluster"] == -1).all()


def test_earlier_result_is_replaced(gdl_match, tmp_path):
    gdl_match("black.png", "coffee.png", "--out", "out", "--quiet")
    before = (tmp_path / "out" / "matches.png").read_bytes()
    gdl_match("coffee.png", "black.png", "--out", "out", "--quiet")
    assert listed(tmp_path / "out") == FILES
    assert (tmp_path / "out" / "matches.png").read_bytes() != before


@pytest.mark.parametrize(
    "name", ["deep.png", "float.tiff", "rgba.png", "näme with späces é.png", "turned.jpg"]
)
def test_pictures_of_every_kind_are_matched(gdl_match, tmp_path, name):
    # turned.jpg: coordinates are those of the picture as displayed
    status, _, error = gdl_match("first.png", name, "--out", "out", "--quiet", "--no-figure")
    assert (status, error) == (0, "")
    data = arrays(tmp_path / "out")
    assert data["cluster"].max() == 1
    kept = data["cluster"] >= 0
    error = np.linalg.norm(true_shift(data["xy0"][kept]) - data["xy1"][kept], axis=1)
    assert np.median(error) < 0.5
    assert (error < 6).mean() > 0.95
    image = json.loads((tmp_path / "out" / "matches.json").read_text())["images"][1]
    assert Path(image["path"]).name == name
    assert (image["width"], image["height"]) == (440, 440)


def test_swapped_pictures_give_swapped_matches(gdl_match, found, tmp_path):
    assert gdl_match("second.png", "first.png", "--out", "out", "--quiet", "--no-figure")[0] == 0
    here, there = arrays(found[1] / "first-second-match"), arrays(tmp_path / "out")
    for a, b in (("xy0", "xy1"), ("xy1", "xy0"), ("cluster", "cluster"), ("score", "score")):
        assert here[a].tobytes() == there[b].tobytes()


def test_matches_are_exported_in_all_formats(gdl_match, tmp_path, pictures):
    pytest.importorskip("h5py")
    options = ("--quiet", "--no-figure", "--export", "csv,hloc", "--export", "colmap", "--export", "csv")
    assert gdl_match("first.png", "second.png", "--out", "out", *options)[0] == 0
    files = ["database.db", "features.h5", "matches.csv", "matches.h5", "matches.json", "matches.npz"]
    assert listed(tmp_path / "out") == [*files, "pairs.txt"]
    kept = (arrays(tmp_path / "out")["cluster"] >= 0).sum()
    assert len((tmp_path / "out" / "matches.csv").read_text().splitlines()) == kept + 1


def test_warp_and_crops_draw_each_object(gdl_match, tmp_path):
    """A crop cuts it out of either picture."""
    options = ("--out", "out", "--quiet", "--no-figure", "--warp", "--crops")
    assert gdl_match("first.png", "second.png", *options)[0] == 0
    names = "crop0", "crop1", "picks", "warp01", "warp10"
    drawn = [f"object{k}-{name}.png" for k in range(2) for name in names]
    assert listed(tmp_path / "out") == ["matches.json", "matches.npz", *drawn]
    objects = json.loads((tmp_path / "out" / "matches.json").read_text())["objects"]
    for entry in objects:
        assert entry["deformation"]["backward"]["hold_out_error"] < 1
    for k, side in np.ndindex(2, 2):
        low, high = (f(objects[k][f"outline{side}"], axis=0) for f in (np.min, np.max))
        with Image.open(tmp_path / "out" / f"object{k}-crop{side}.png") as crop:
            assert (np.array(crop.size) >= high - low).all()
            assert (np.array(crop.size) <= 1.15 * (high - low) + 5).all()
    assert gdl_match("first.png", "second.png", *options[:-2])[0] == 0  # they go with the next run
    assert listed(tmp_path / "out") == ["matches.json", "matches.npz"]


def test_open_shows_the_report(gdl_match, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or len(opened) < 2)
    options = ("--out", "out", "--quiet", "--no-figure", "--open")
    assert gdl_match("black.png", "coffee.png", *options) == (1, "no common object\n", "")
    assert opened == [(tmp_path / "out" / "matches.html").as_uri()]
    assert (tmp_path / "out" / "matches.html").exists()
    assert gdl_match("black.png", "coffee.png", *options)[2] == (  # there is no browser
        f"gdl-match: warning: no browser could be opened: the report is {Path('out', 'matches.html')}\n"
    )


def test_compiling_is_reported_once():
    """Where the kernels are not in Numba's cache."""
    program = (
        "from argparse import Namespace; from matching.cli.console import report_work\n"
        "import numba; add = numba.njit(lambda a: a + 1)\n"
        "with report_work(Namespace(quiet=False)): add(1); add(1.0)\n"
        "with report_work(Namespace(quiet=True)): add(1j)\n"
        "with report_work(Namespace(quiet=False)): add(2)"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert process.stderr == f"{COMPILING_MESSAGE}\n"


def test_decoder_messages_are_suppressed(pictures, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Image.open(pictures / "first.png").save("zip.tiff", compression="tiff_deflate")
    content = bytearray(Path("zip.tiff").read_bytes())
    content[8:2000] = bytes(1992)
    Path("zip.tiff").write_bytes(content)
    assert command.main(["zip.tiff", str(pictures / "first.png")]) == 2
    told = capfd.readouterr().err.splitlines()  # libtiff would add a line of its own
    assert len(told) == 1
    assert "zip.tiff: damaged picture" in told[0]


def test_impossible_export_is_rejected_early(gdl_match, tmp_path, monkeypatch):
    status, output, error = gdl_match("coffee.png", "coffee.png", "--export", "colmap")
    assert (status, output) == (2, "")
    assert len(error.splitlines()) == 1
    monkeypatch.setitem(sys.modules, "h5py", None)
    status, _, error = gdl_match("coffee.png", "first.png", "--export", "hloc")
    assert status == 2
    assert error.splitlines() == ["gdl-match: error: hloc's format needs h5py: pip install h5py"]
    assert not listed(tmp_path)


def test_masks_keep_matches_where_they_are_white(gdl_match, tmp_path):
    white = np.zeros((440, 440), np.uint8)
    white[220:, :220] = 255  # the astronaut's place in the second picture
    Image.fromarray(white).save(tmp_path / "mask.gif")
    options = ("--out", "out", "--quiet", "--no-figure", "--mask1", tmp_path / "mask.gif")
    assert gdl_match("first.png", "second.png", *options)[0] == 0
    data = arrays(tmp_path / "out")
    assert data["cluster"].max() == 0
    column, row = np.rint(data["xy1"]).astype(int).T
    assert white[row, column].all()


def test_version_is_printed(gdl_match):
    assert gdl_match("--version") == (0, f"gdl-match {__version__}\n", "")


def test_max_nfa_is_for_given_matches(gdl_match):
    for options in ([], ["--paper"]):
        status, _, error = gdl_match("first.png", "second.png", *options, "--max-nfa", "1e-8")
        assert status == 2
        assert "--max-nfa is for given matches (gdl-match group)" in error


def test_programming_errors_keep_their_traceback(pictures, tmp_path, capsys):
    def broken(matches, config, ledger):
        raise ZeroDivisionError

    arguments = [*(str(pictures / f"{n}.png") for n in ("coffee", "coffee")), "--out", str(tmp_path / "out")]
    assert cli.main([*arguments, "--method", "broken", "--quiet"], rivals={"broken": broken}) == 3
    error = capsys.readouterr().err
    assert error.startswith("Traceback")
    assert error.endswith("ZeroDivisionError\n")


@pytest.mark.skipif(os.name != "posix", reason="pipes are told apart on POSIX")
def test_closed_reader_gives_status_141(tmp_path):
    Image.new("L", (40, 40)).save(tmp_path / "black.png")
    read, write = os.pipe()
    os.close(read)
    arguments = ["black.png", "black.png", "--quiet", "--no-figure"]
    process = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], cwd=tmp_path, stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert (process.returncode, process.stderr) == (141, b"")


@pytest.mark.skipif(os.name != "posix", reason="a shell that closes it")
def test_closed_standard_output_is_accepted(tmp_path):
    Image.new("L", (40, 40)).save(tmp_path / "black.png")
    command = f"{sys.executable} {SCRIPT} black.png black.png --quiet --no-figure --out out >&-"
    process = subprocess.run(command, shell=True, cwd=tmp_path, stderr=subprocess.PIPE)
    assert (process.returncode, process.stderr) == (1, b"")
    assert (tmp_path / "out" / "matches.json").exists()


def test_interrupt_prints_one_line(tmp_path, capsys, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("matching.cli.demo.make_demo_pair", interrupted)
    assert cli.main(["--demo", "--out", str(tmp_path / "out")]) == 130
    assert capsys.readouterr().err == "gdl-match: interrupted\n"
    assert not listed(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
@pytest.mark.parametrize("percent", [0, 40])
def test_interrupt_at_any_moment_prints_one_line_and_leaves_no_files(pictures, tmp_path, percent):
    """From its first own statement on; moments are counted in processor time, which load does not change."""
    begin = (  # the interpreter's own start is not ours
        "import os, runpy, sys; sys.argv = sys.argv[1:]; sys.path.insert(0, os.path.dirname(sys.argv[0]));"
        "from matching.cli.start import report_interrupts; report_interrupts(); os.write(1, b'.');"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    arguments = [SCRIPT, pictures / "first.png", pictures / "second.png", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-c", begin, *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.read(1) == b"."
    begun = processor_time(process.pid)
    while process.poll() is None and processor_time(process.pid) < begun + percent / 100:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    output, error = process.communicate(timeout=PATIENCE)
    if process.returncode != 0:  # else it was faster
        assert (process.returncode, output, error) == (130, b"", b"gdl-match: interrupted\n")
        assert not listed(tmp_path)


def processor_time(pid):
    """Seconds that a process has computed."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:  # it has ended
        return math.inf
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
def test_hardly_anything_is_loaded_before_interrupts_are_reported():
    """Until then an interrupt ends in Python's own traceback."""
    (entry,) = entry_points(group="console_scripts", name="gdl-match")
    module, _, function = entry.value.partition(":")
    program = (
        "import sys; before = set(sys.modules);"
        f"import {module} as start; print(*set(sys.modules) - before);"
        "import signal, matching.cli.exits as exits; exits.run_as_process = lambda main: None;"
        f"start.{function}(); assert signal.getsignal(signal.SIGINT) is start._end"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert {name.partition(".")[0] for name in loaded} <= {"matching", "__future__"}
    assert len(loaded) < 10


def test_process_ends_with_its_status_after_writing():
    program = (
        "import atexit, sys; from matching.cli.exits import run_as_process\n"
        "class Left:\n"
        "    def __del__(self): print('taken down')\n"
        "left = Left()\n"
        "def main():\n"
        "    atexit.register(print, 'a library is told')\n"
        "    print('done'); print('warned', file=sys.stderr)\n"
        "    return int(sys.argv[1])\n"
        "run_as_process(main)"
    )
    process = subprocess.run([sys.executable, "-c", program, "1"], capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (1, "warned\n")
    assert process.stdout.splitlines() == ["done", "a library is told"]
    process = subprocess.run([sys.executable, "-c", program, "x"], capture_output=True, text=True)
    assert process.returncode == 1
    assert process.stderr.startswith("warned\nTraceback")
    assert process.stdout.splitlines()[-1] == "taken down"


def test_answers_without_pictures_need_no_library():
    """NumPy and OpenCV take twice as long to load as everything else in such a command."""
    program = (
        "import sys; from matching.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: print([name for name in ('numpy', 'cv2', 'numba') if name in sys.modules])"
    )
    for option in ("--version", "--help"):
        process = subprocess.run([sys.executable, "-c", program, option], capture_output=True, text=True)
        assert process.stdout.splitlines()[-1] == "[]", option


def test_pictures_of_the_same_names_do_not_share_a_folder(gdl_match, tmp_path):
    for k, folder in enumerate("ab"):
        (tmp_path / folder).mkdir()
        for name in ("A.jpg", "B.jpg"):
            Image.new("L", (40 + k, 40)).save(tmp_path / folder / name)
    told = {}
    for folder in "aba":
        arguments = [str(tmp_path / folder / name) for name in ("A.jpg", "B.jpg")]
        assert cli.main([*arguments, "--quiet", "--no-figure"]) == 1
        told[folder] = gdl_match.read().err
    assert told["a"] == ""
    assert told["b"] == ("gdl-match: A-B-match holds results of other pictures: writing to A-B-match-2\n")
    assert listed(tmp_path) == ["A-B-match", "A-B-match-2", "a", "b"]
    for folder, width in (("A-B-match", 40), ("A-B-match-2", 41)):
        images = json.loads((tmp_path / folder / "matches.json").read_text())["images"]
        assert [image["width"] for image in images] == [width, width]
    assert cli.main(["a/A.jpg", "b/B.jpg", "--quiet", "--no-figure"]) == 1
    assert "writing to A-B-match-3" in gdl_match.read().err
    assert cli.main(["./a/../a/A.jpg", "a/B.jpg", "--quiet", "--no-figure"]) == 1  # the first pair again
    assert gdl_match.read().err == ""


def test_file_of_another_program_is_not_replaced(gdl_match, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "database.db").write_bytes(b"work of hours")
    options = ("--out", "out", "--quiet", "--no-figure", "--export", "colmap")
    status, output, error = gdl_match("black.png", "coffee.png", *options)
    assert (status, output) == (2, "")
    assert len(error.splitlines()) == 1
    assert "out/database.db: was not written by gdl-match" in error
    assert listed(tmp_path / "out") == ["database.db"]
    assert (tmp_path / "out" / "database.db").read_bytes() == b"work of hours"


def test_demo_pair_is_colour_and_repeats():
    one, two = make_demo_pair(), make_demo_pair()
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert all(p.dtype == np.uint8 and p.shape == (960, 960, 3) for p in one)


def test_options_may_stand_between_the_pictures(tmp_path, monkeypatch, capsys):
    a, b = (Image.fromarray(g) for g in object_pair())
    a.save(tmp_path / "a.png")
    b.save(tmp_path / "b.png")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["a.png", "--out", "o", "b.png", "--no-figure"]) == 0
    assert (tmp_path / "o" / "matches.npz").exists()
    assert cli.main(["a.png", "--out", "o", "--no-figure"]) == 1  # alone: nothing repeats in it
    assert cli.main(["a.png", "b.png", "--out", "o", "c.png"]) == 2
    assert capsys.readouterr().err.count("c.png: no such file") == 1


@pytest.mark.parametrize("name", ["matches.png", "object0-warp01.png"])
def test_picture_is_not_written_over(tmp_path, name, capsys):
    a, b = (Image.fromarray(g) for g in object_pair())
    a.save(tmp_path / name)
    b.save(tmp_path / "b.png")
    before = (tmp_path / name).read_bytes()
    assert cli.main([str(tmp_path / name), str(tmp_path / "b.png"), "--out", str(tmp_path), "--quiet"]) == 2
    assert "would write over it" in capsys.readouterr().err
    assert (tmp_path / name).read_bytes() == before
    assert not (tmp_path / "matches.npz").exists()


def test_rejected_groups_are_explained(gdl_match, tmp_path):
    """In the table of --explain, in the file, and by the result."""
    status, out, _ = gdl_match("first.png", "second.png", "--out", "out", "--no-figure", "--explain")
    assert status == 0
    told = json.loads((tmp_path / "out" / "matches.json").read_text())["rejected"]
    assert ("no group of matches was rejected" in out) == (not told)
    for item in told:
        assert item["text"] in out
        assert item["n_matches"] > 0
        assert len(item["centre0"]) == len(item["centre1"]) == 2


def test_dropped_matches_are_counted_and_drawn(gdl_match, tmp_path):
    """With --explain the figure has the outlines, too; the rest of the files is the same."""
    drawn = {}
    for option in ("--explain", "--quiet"):
        gdl_match("first.png", "first.png", "--out", option[2:], option)
        drawn[option] = (tmp_path / option[2:] / "matches.png").read_bytes()
    result = json.loads((tmp_path / "explain" / "matches.json").read_text())
    kept = sum(found["matches"] for found in result["objects"])
    assert kept + sum(result["dropped_by"].values()) == result["candidates"]
    assert (drawn["--explain"] != drawn["--quiet"]) == bool(result["rejected"])


def test_one_picture_is_explained_and_many_are_not(gdl_match):
    status, out, _ = gdl_match("first.png", "--explain")
    assert status in (0, 1)
    assert "candidates are in objects" in out
    status, _, err = gdl_match("first.png", "second.png", "first.png", "--explain")
    assert status == 2
    assert "--explain" in err


def test_output_that_is_a_file_is_named(tmp_path, capsys):
    (tmp_path / "out").touch()
    assert cli.main(["--demo", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("out: is a file, not a folder")
