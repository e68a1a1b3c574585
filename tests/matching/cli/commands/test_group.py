"""`gdl-match group` and the dispatch to subcommands."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter

from matching import group_matches
from matching.cli import main as cli
from matching.output.exchange import SCHEMA
from matching.pictures.decoding import TURNS

ROOT = Path(__file__).resolve().parents[4]
SIZE = 500, 300  # width, height of both images
USUAL = ["matches.json", "matches.npz", "matches.png"]


def points(seed=0):
    """Two objects of 30 matches each, one moved and one turned, and 20 outliers; and the object of each."""
    rng = np.random.default_rng(seed)
    first, second = rng.uniform([10, 10], [200, 140], (30, 2)), rng.uniform([260, 150], [480, 290], (30, 2))
    turned = (second - [370, 220]) @ [[0.94, 0.34], [-0.34, 0.94]] + [140, 200]
    xy0 = np.vstack([first, second, rng.uniform([0, 0], SIZE, (20, 2))])
    xy1 = np.vstack([first + np.array([240, 20]), turned, rng.uniform([0, 0], SIZE, (20, 2))])
    return xy0, xy1, np.repeat([0, 1, -1], [30, 30, 20])


def draw_pictures():
    """Two pictures of blurred noise, of which the second shows both objects of `points` where they are."""
    rng = np.random.default_rng(0)
    a, b = (
        Image.fromarray(rng.integers(0, 256, (SIZE[1], SIZE[0], 3)).astype(np.uint8)).filter(
            ImageFilter.GaussianBlur(2)
        )
        for _ in range(2)
    )
    (c, d), (e, f) = np.linalg.inv([[0.94, -0.34], [0.34, 0.94]])
    x, y = np.array([370, 220]) - [[c, d], [e, f]] @ np.array([140, 200])
    places = [0, 0, 210, 150], [250, 140, 490, 300]
    for place, back in zip(places, ((1, 0, -240, 0, 1, -20), (c, d, x, e, f, y)), strict=True):
        shown = Image.new("L", SIZE)
        shown.paste(255, place)
        mask = shown.transform(SIZE, Image.Transform.AFFINE, back)
        b.paste(a.transform(SIZE, Image.Transform.AFFINE, back, Image.Resampling.BICUBIC), mask=mask)
    return a, b


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A folder with m.csv and two pictures."""
    folder = tmp_path_factory.mktemp("given")
    xy0, xy1, _ = points()
    np.savetxt(folder / "m.csv", np.hstack([xy0, xy1]), delimiter=",")
    for name, image in zip("ab", draw_pictures(), strict=True):
        image.save(folder / f"{name}.png")
    return folder


@pytest.fixture
def gdl_match(given, tmp_path, monkeypatch, capsys):
    """Runs the command in a copy of the folder `given`: (exit status, output, error)."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(given, tmp_path, dirs_exist_ok=True)

    def call(*arguments):
        try:
            status = cli.main([str(a) for a in arguments])
        except SystemExit as stop:  # --help, --version
            status = stop.code
        return status, *capsys.readouterr()

    return call


def listed(folder):
    return sorted(p.name for p in Path(folder).iterdir())


def found(folder):
    with np.load(Path(folder, "matches.npz")) as data:
        return data["xy0"], data["xy1"], data["cluster"]


def read_rejected(folder):
    return json.loads(Path(folder, "matches.json").read_text())["rejected"]


def check_groups(cluster):
    """Each of the two objects is one group, and most outliers are out."""
    _, _, true = points()
    for k in range(2):
        groups, counts = np.unique(cluster[true == k], return_counts=True)
        assert counts.max() >= 27 and groups[counts.argmax()] >= 0
    assert (cluster[true < 0] < 0).mean() > 0.8
    assert cluster.max() == 1


def test_table_of_matches_is_grouped(gdl_match):
    status, output, error = gdl_match("group", "m.csv")
    assert status == 0
    assert len(output.splitlines()) == 3
    assert error == "written to m-groups\n"
    assert listed("m-groups") == USUAL
    xy0, xy1, cluster = found("m-groups")
    expected = points()
    assert np.allclose(xy0, expected[0]) and np.allclose(xy1, expected[1])
    check_groups(cluster)
    told = json.loads(Path("m-groups", "matches.json").read_text())
    assert [o["id"] for o in told["objects"]] == [0, 1]
    assert told["candidates"] == 80
    assert told["coordinates"].startswith("as given")
    assert told["images"][0] == {"path": None, "width": None, "height": None}
    with Image.open("m-groups/matches.png") as figure:
        figure.load()
        assert figure.width > 1000


def test_scores_are_what_the_option_says(gdl_match):
    xy0, xy1, _ = points()
    score = np.random.default_rng(0).random(len(xy0))
    np.save("scored.npy", np.column_stack([xy0, xy1, score]))
    for kind, expected in (("distances", score), ("similarities", 1 - score)):
        assert gdl_match("group", "scored.npy", "--scores-are", kind, "--no-figure")[0] == 0
        with np.load("scored-groups/matches.npz") as data:
            np.testing.assert_allclose(data["score"], expected)
    status, _, error = gdl_match("group", "m.csv", "--scores-are", "similarities")
    assert status == 2 and "m.csv: the matches have no scores" in error
    assert gdl_match("group", "scored.npy", "--scores-are", "ranks")[0] == 2


def test_json_is_the_only_output(gdl_match):
    status, output, error = gdl_match("group", "m.csv", "--json", "--explain", "--quiet")
    assert (status, error) == (0, "")
    assert json.loads(output) == json.loads(Path("m-groups", "matches.json").read_text())


def test_same_command_gives_the_same_bytes_in_the_same_folder(gdl_match):
    gdl_match("group", "m.csv", "--quiet")
    before = {name: Path("m-groups", name).read_bytes() for name in ("matches.npz", "matches.png")}
    assert gdl_match("group", "m.csv", "--quiet")[0] == 0
    assert listed(".") == ["a.png", "b.png", "m-groups", "m.csv"]
    assert before == {name: Path("m-groups", name).read_bytes() for name in before}


def test_what_it_wrote_can_be_grouped_again(gdl_match):
    gdl_match("group", "m.csv", "--out", "o")
    assert gdl_match("group", "o/matches.npz", "--out", "p", "--no-figure")[0] == 0
    assert listed("p") == USUAL[:2]
    assert Path("o/matches.npz").read_bytes() == Path("p/matches.npz").read_bytes()


def test_with_pictures_there_is_the_usual_figure_and_report(gdl_match):
    arguments = ["--image0", "a.png", "--image1", "b.png", "--html", "--warp", "--out", "o"]
    assert gdl_match("group", "m.csv", *arguments)[0] == 0
    assert {*USUAL, "matches.html", "object0-warp01.png", "object1-warp10.png"} <= set(listed("o"))
    with Image.open("o/matches.png") as figure:
        assert figure.height == SIZE[1]
    told = json.loads(Path("o/matches.json").read_text())
    assert [i["path"] for i in told["images"]] == ["a.png", "b.png"]
    assert told["coordinates"].startswith("pixels of the original image as displayed")
    without = gdl_match("group", "m.csv", "--out", "p", "--quiet")
    assert without[0] == 0
    assert Path("o/matches.npz").read_bytes() == Path("p/matches.npz").read_bytes()


def test_objects_do_not_hang_on_the_last_bit():
    xy0, xy1, _ = points()
    images = [np.asarray(image) for image in draw_pictures()]
    expected = group_matches(xy0, xy1, image0=images[0], image1=images[1])
    same = [found.is_same for found in expected.objects]
    assert False not in same
    for seed in range(10):
        rng = np.random.default_rng(seed)
        moved = [np.nextafter(xy, rng.choice([-np.inf, np.inf], xy.shape)) for xy in (xy0, xy1)]
        result = group_matches(*moved, image0=images[0], image1=images[1])
        assert result.cluster.tolist() == expected.cluster.tolist(), seed
        assert [found.is_same for found in result.objects] == same, seed


def test_matches_outside_the_picture_give_a_warning(gdl_match):
    Image.new("RGB", (250, 150)).save("small.png")
    status, _, error = gdl_match("group", "m.csv", "--image0", "a.png", "--image1", "small.png", "--quiet")
    assert status == 0
    assert "matches lie outside small.png (250 x 150): was it matched at another size?" in error
    assert not any(group["reason"] == "no-agreement" for group in read_rejected("m-groups"))


def test_object_of_pictures_that_disagree_is_rejected(gdl_match):
    colours = np.random.default_rng(5).integers(0, 256, (SIZE[1], 250, 3)).astype(np.uint8)
    image = Image.open("b.png")
    image.paste(Image.fromarray(colours))  # over the place of the second object
    image.save("b.png")
    status, output, _ = gdl_match(
        *("group", "m.csv", "--image0", "a.png", "--image1", "b.png", "--explain", "--out", "o")
    )
    assert status == 0
    assert "what lies between its matches does not agree in both pictures" in output
    (found,) = json.loads(Path("o/matches.json").read_text())["objects"]
    assert found["same"] is not False
    assert [group["reason"] for group in read_rejected("o")] == ["no-agreement"]


def test_no_object_gives_status_1(gdl_match):
    rng = np.random.default_rng(0)
    np.savetxt("random.txt", rng.uniform(0, 500, (60, 4)))
    assert gdl_match("group", "random.txt", "--quiet") == (1, "no common object\n", "")
    assert listed("random-groups") == USUAL
    Path("none.csv").write_text("x0,y0,x1,y1\n")
    assert gdl_match("group", "none.csv", "--quiet")[0] == 1


def hloc_files():
    """matches.h5 and features.h5 with two pairs: that of `points`, and one without objects."""
    h5py = pytest.importorskip("h5py")
    xy0, xy1, _ = points()
    rng = np.random.default_rng(1)
    keypoints = {"x/a.png": xy0, "x/b.png": xy1[::-1], "c.png": rng.uniform(0, 300, (50, 2))}
    with h5py.File("features.h5", "w") as file:
        for name, xy in keypoints.items():
            file[f"{name}/keypoints"] = xy.astype(np.float32)
            file[f"{name}/image_size"] = SIZE
    with h5py.File("matches.h5", "w") as file:
        file["x-a.png/x-b.png/matches0"] = np.arange(80, dtype=np.int16)[::-1]
        file["x-a.png/c.png/matches0"] = np.where(np.arange(80) < 25, np.arange(80), -1).astype(np.int16)
    return h5py


def test_all_pairs_of_hloc_are_grouped(gdl_match):
    h5py = hloc_files()
    arguments = ["group", "matches.h5", "--features", "features.h5", "--quiet", "--no-figure", "--out", "o"]
    status, output, _ = gdl_match(*arguments)
    assert status == 0
    assert [line.split() for line in output.splitlines()[1:]] == [
        ["0", "0", "25", "x/a.png", "c.png"],
        ["2", str((found("o/x-a.png_x-b.png")[2] >= 0).sum()), "80", "x/a.png", "x/b.png"],
    ]
    assert listed("o") == ["groups.h5", "matches.json", "pairs.txt", "x-a.png_c.png", "x-a.png_x-b.png"]
    assert listed("o/x-a.png_x-b.png") == USUAL[:2]
    xy0, _, cluster = found("o/x-a.png_x-b.png")
    assert np.allclose(xy0, points()[0], atol=1e-4)
    check_groups(cluster)
    told = json.loads(Path("o/x-a.png_x-b.png/matches.json").read_text())
    assert told["images"][0] == {"path": "x/a.png", "width": SIZE[0], "height": SIZE[1]}
    assert "as stored" in told["coordinates"]
    with h5py.File("o/groups.h5") as groups:
        assert np.array_equal(groups["x-a.png/x-b.png/groups0"], cluster)
        assert (groups["x-a.png/c.png/matches0"][()] == -1).all()
    told = json.loads(Path("o/matches.json").read_text())
    assert told["objects"] == 2
    assert [pair["folder"] for pair in told["pairs"]] == ["x-a.png_c.png", "x-a.png_x-b.png"]
    assert gdl_match(*arguments)[0] == 0


def test_one_pair_of_hloc_is_chosen_by_its_pictures(gdl_match):
    h5py = hloc_files()
    Path("x").mkdir()
    for name in ("a", "b"):
        Path(f"{name}.png").rename(f"x/{name}.png")
    arguments = ["group", "matches.h5", "--features", "features.h5", "--quiet", "--image0", "x/b.png"]
    assert gdl_match(*arguments, "--image1", "x/a.png", "--out", "o")[0] == 0
    assert listed("o") == ["groups.h5", *USUAL, "pairs.txt"]
    xy0, xy1, cluster = found("o")
    assert np.allclose(xy0, points()[1], atol=1e-4)
    assert np.allclose(xy1, points()[0], atol=1e-4)
    with h5py.File("o/groups.h5") as groups:
        assert list(groups["x-a.png"]) == ["x-b.png"]
        assert np.array_equal(groups["x-a.png/x-b.png/groups0"], cluster)
    status, _, error = gdl_match(*arguments, "--image1", "x/b.png")
    assert (status, error) == (
        2,
        "gdl-match group: error: matches.h5: holds no pair of x/b.png and x/b.png\n",
    )


def colmap_file():
    xy0, xy1, _ = points()
    with closing(sqlite3.connect("colmap.db")) as file:
        file.executescript(SCHEMA)
        for k, (name, xy) in enumerate((("a.png", xy0), ("b.png", xy1)), 1):
            data = (xy + 0.5).astype(np.float32)
            file.execute("INSERT INTO cameras VALUES (?, 2, ?, ?, NULL, 0)", (k, *SIZE))
            file.execute("INSERT INTO images VALUES (?, ?, ?)", (k, name, k))
            file.execute("INSERT INTO keypoints VALUES (?, 80, 2, ?)", (k, data.tobytes()))
        matches = np.repeat(np.arange(80, dtype=np.uint32)[:, None], 2, axis=1)
        file.execute("INSERT INTO matches VALUES (?, 80, 2, ?)", (2**31 + 1, matches.tobytes()))
        file.commit()
    return Path("colmap.db").read_bytes()


def test_colmap_database_is_grouped(gdl_match):
    before = colmap_file()
    assert gdl_match("group", "colmap.db", "--images", ".", "--quiet", "--out", "o")[0] == 0
    assert Path("colmap.db").read_bytes() == before
    assert listed(".") == ["a.png", "b.png", "colmap.db", "m.csv", "o"]
    assert listed("o") == ["a.png_b.png", "groups.db", "matches.json"]
    with Image.open("o/a.png_b.png/matches.png") as figure:
        assert figure.height == SIZE[1]
    xy0, _, cluster = found("o/a.png_b.png")
    assert np.allclose(xy0, points()[0], atol=1e-4)  # COLMAP's pixels are half a pixel further
    check_groups(cluster)
    with closing(sqlite3.connect("o/groups.db")) as file:
        for k in range(2):
            [(n,)] = file.execute(f"SELECT rows FROM two_view_geometries_{k}").fetchall()
            assert n == (cluster == k).sum()
        [(n, config)] = file.execute("SELECT rows, config FROM two_view_geometries").fetchall()
        assert config in (3, 6) and n < (cluster >= 0).sum()  # one of the two moved
    assert gdl_match("group", "colmap.db", "--all-objects", "--quiet", "--out", "o")[0] == 0
    with closing(sqlite3.connect("o/groups.db")) as file:
        [(n, config)] = file.execute("SELECT rows, config FROM two_view_geometries").fetchall()
        assert (n, config) == ((cluster >= 0).sum(), 8)


@pytest.mark.parametrize("orientation", [3, 6, 8])
def test_picture_is_turned_and_its_matches_with_it(gdl_match, orientation):
    """COLMAP and hloc count the pixels of the file as stored, passing over its EXIF orientation."""
    colmap_file()
    marked = np.zeros((SIZE[1], SIZE[0]), np.uint8)
    x, y = np.rint(points()[0][0]).astype(int)
    marked[y, x] = 255  # the place of the first match
    exif = Image.Exif()
    exif[0x0112] = orientation
    draw_pictures()[0].save("a.png", exif=exif)
    shown = TURNS[orientation](marked)
    assert gdl_match("group", "colmap.db", "--image0", "a.png", "--image1", "b.png", "--out", "o")[0] == 0
    xy0, xy1, cluster = found("o")
    assert np.abs(xy0[0] - np.argwhere(shown)[0][::-1]).max() <= 0.51
    assert np.allclose(xy1, points()[1], atol=1e-4)
    check_groups(cluster)
    with closing(sqlite3.connect("o/groups.db")) as file:  # still as stored
        [(n, data)] = file.execute("SELECT rows, data FROM matches").fetchall()
    kept = np.frombuffer(data, np.uint32).reshape(-1, 2)[:, 0]
    assert set(np.flatnonzero(cluster >= 0)) <= set(kept) and n <= (cluster >= 0).sum() + 10


def test_picture_of_another_size_is_rejected(gdl_match):
    colmap_file()
    Image.new("RGB", (250, 150)).save("a.png")
    status, _, error = gdl_match("group", "colmap.db", "--images", ".", "--out", "o")
    assert status == 2
    assert "a.png: is 250 x 150 pixels, but the matches are of an image of 500 x 300" in error
    assert "o" not in listed(".")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv"], "none.csv: no such file"),
        (["a.png"], "a.png: the name of a file of matches must end in one of .npz"),
        (["nan.csv"], "nan.csv: line 21: must hold finite numbers below 3.4e38, got 'nan'"),
        (["m.csv", "--image0", "a.png"], "--image0 and --image1 must be given together"),
        (["m.csv", "--image0", "a.png", "--image1", "none.png"], "none.png: no such file"),
        (
            ["m.csv", "--images", "."],
            "m.csv: holds only one pair; give its pictures with --image0 and --image1",
        ),
        (["m.csv", "--image0", "a.png", "--image1", "b.png", "--images", "."], "--image0 and --image1, or"),
        (["m.csv", "--html"], "--html requires the pictures"),
        (["m.csv", "--warp"], "--warp requires the pictures"),
        (["m.csv", "--features", "m.csv"], "--features requires matches of hloc"),
        (["m.csv", "--masks", "new"], "--masks requires a COLMAP database, got m.csv"),
        (["m.csv", "--all-objects"], "--all-objects requires a COLMAP database, got m.csv"),
        (["m.csv", "--out", "m.csv"], "m.csv: is a file, not a folder"),
        (["m.csv", "--htlm"], "unrecognized arguments: --htlm (did you mean --html?)"),
        (["m.csv", "--megapixels"], "unrecognized arguments: --megapixels\n"),
        (["m.csv", "--n-neighbors", "0"], "must be a whole number from 1"),
        (["m.csv", "--max-nfa", "0"], "argument --max-nfa: must be a number from 1e-15"),
        ([], "the following arguments are required: FILE"),
    ],
)
def test_bad_input_is_one_line(gdl_match, arguments, message):
    Path("nan.csv").write_text("1,2,3,4\n" * 20 + "nan,2,3,4\n")
    before = listed(".")
    status, output, error = gdl_match("group", *arguments)
    assert (status, output) == (2, "")
    assert error.startswith("gdl-match group: error: ") and error.count("\n") == 1
    assert message in error
    assert listed(".") == before


def test_input_is_never_written_over(gdl_match):
    gdl_match("group", "m.csv", "--out", "o", "--quiet")
    before = Path("o/matches.npz").read_bytes()
    status, _, error = gdl_match("group", "o/matches.npz", "--out", "o")
    assert (status, Path("o/matches.npz").read_bytes()) == (2, before)
    assert "o/matches.npz: --out o would write over it" in error
    colmap_file()
    Path("groups.db").write_bytes(Path("colmap.db").read_bytes())
    assert "groups.db: --out . would write over it" in gdl_match("group", "groups.db", "--out", ".")[2]
    assert "was not written by gdl-match" in gdl_match("group", "colmap.db", "--out", ".")[2]


def test_settings_reach_the_grouping(gdl_match):
    options = ["--n-neighbors", "12", "--n-clusters", "7", "--method", "gdl-u", "--max-nfa", "1e-8"]
    gdl_match("group", "m.csv", "--no-figure", *options)
    used = json.loads(Path("m-groups/matches.json").read_text())["parameters"]
    assert [used["clustering"][k] for k in ("n_neighbors", "n_clusters", "method")] == [12, 7, "gdl-u"]
    assert used["objects"]["max_log_nfa"] == pytest.approx(-8)


def test_picture_can_have_the_name_of_a_subcommand(gdl_match):
    Path("a.png").rename("group")
    assert "gdl-match group: error: the following arguments are required" in gdl_match("group")[2]
    status, _, error = gdl_match("./group", "none.png")
    assert (status, error) == (2, "gdl-match: error: none.png: no such file\n")
    assert "none.png: no such file" in gdl_match("--quiet", "group", "none.png")[2]


def test_visible_share_needs_pictures(gdl_match):
    """Matches of a small part of large pictures: they cover less than a hundredth of them."""
    xy0, xy1, _ = points()
    np.savetxt("part.csv", np.hstack([xy0[:60], xy1[:60]]) / 4, delimiter=",")
    noise = np.random.default_rng(0).integers(0, 256, (2, 600, 1000, 3)).astype(np.uint8)
    a, b = (Image.fromarray(one).filter(ImageFilter.GaussianBlur(1)) for one in noise)
    b.paste(a.crop((0, 0, 54, 38)), (60, 5))  # moved by a quarter of (240, 20)
    a.save("a.png")
    b.save("b.png")
    _, output, _ = gdl_match("group", "part.csv", "--out", "o", "--quiet", "--no-figure")
    assert " -  " in output
    told = json.loads(Path("o/matches.json").read_text())["objects"][0]
    assert told["motion"]["share"] is None and told["frame1"] is None
    arguments = ["--image0", "a.png", "--image1", "b.png", "--out", "p", "--quiet", "--no-figure"]
    gdl_match("group", "part.csv", *arguments)
    told = json.loads(Path("p/matches.json").read_text())["objects"][0]
    assert 0 < told["motion"]["share"] < 0.01
    assert len(told["frame1"]) == 4


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["serv", "--port", "80"], "serve"), (["groups", "m.csv"], "group"), (["indx"], "index")],
)
def test_misspelt_subcommand_gets_a_suggestion(gdl_match, words, meant):
    status, _, error = gdl_match(*words)
    assert status == 2
    assert error == f"gdl-match: error: {words[0]}: no such file or subcommand (did you mean {meant}?)\n"
    assert "did you mean" not in gdl_match("picture", "other")[2]
    Path(words[0]).write_bytes(b"a file of that name")
    assert "did you mean" not in gdl_match(words[0])[2]
