"""One thing, many pictures, as a user runs it."""

import csv
import json
import re

import numpy as np
import pytest
from browser import browser_page
from PIL import Image
from planting import crops, object_pair

from matching import match
from matching.cli import main as cli
from matching.output.html.hits import Hit, hits_page

QUICK = ("--quiet", "--no-figure", "--max-matches", "800")


@pytest.fixture
def gdl_match(tmp_path, monkeypatch, capsys):
    """Runs the command in a folder with a box and a folder of scenes: (exit status, output, errors)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenes").mkdir()
    Image.fromarray(crops()["astronaut"]).save("box.png")
    Image.fromarray(object_pair()[1]).save("scenes/with.png")
    Image.fromarray(crops()["chelsea"]).save("scenes/without.png")

    def call(*arguments):
        return cli.main([*map(str, arguments), *QUICK]), *capsys.readouterr()

    return call


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_each_picture_has_a_line_and_a_folder(gdl_match, tmp_path):
    status, output, error = gdl_match("box.png", "scenes/without.png", "scenes/with.png", "--out", "found")
    assert (status, error) == (0, "")
    head, without, with_ = output.splitlines()
    titles = "picture copies alike parts matches score how sure turn scale share complete"
    assert " ".join(head.split()) == titles
    assert without == "without.png  no common object"
    words = with_.split()
    assert words[:4] == ["with.png", "1", "0", "0"]
    assert words[6:9] == ["sure", "0°", "1.00"]
    assert 95 <= int(words[10].rstrip("%,")) <= 100
    assert names(tmp_path / "found") == ["box-with-match", "box-without-match"]
    for folder in (tmp_path / "found").iterdir():
        assert names(folder) == ["matches.json", "matches.npz"]


def test_results_are_those_of_the_pairs(gdl_match, tmp_path):
    assert gdl_match("box.png", "scenes", "--out", "found")[0] == 0
    alone = match("box.png", "scenes/with.png", max_matches=800)
    with np.load(tmp_path / "found" / "box-with-match" / "matches.npz") as data:
        for name in data.files:
            assert np.array_equal(data[name], getattr(alone, name))


def test_folders_are_searched_without_the_thing_itself(gdl_match, tmp_path):
    (tmp_path / "box.png").rename(tmp_path / "scenes" / "box.png")
    (tmp_path / "scenes" / "notes.txt").write_text("not a picture")
    status, output, _ = gdl_match("scenes/box.png", "scenes", "scenes/with.png")
    assert status == 0
    assert [line.split()[0] for line in output.splitlines()[1:]] == ["with.png", "without.png"]
    assert names(tmp_path) == ["box-with-match", "box-without-match", "scenes"]


def test_names_are_as_short_as_the_pictures_allow(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("thing.png", "deep/one/a.png", "deep/two/a.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((9, 9), 7, np.uint8)).save(name)
    scenes = [str(tmp_path / "deep" / name / "a.png") for name in ("one", "two")]
    assert cli.main(["thing.png", *scenes, "--no-figure"]) == 1
    output = capsys.readouterr().out
    assert [line.split()[0] for line in output.splitlines()[1:]] == ["one/a.png", "two/a.png"]


def test_damaged_picture_stops_nothing(gdl_match, tmp_path):
    (tmp_path / "scenes" / "a.png").write_text("not a picture")
    status, output, error = gdl_match("box.png", "scenes")
    assert status == 0
    assert output.splitlines()[1].split() == ["a.png", "can't", "be", "used"]
    assert len(output.splitlines()) == 4
    assert error.splitlines() == ["gdl-match: error: scenes/a.png: is not a picture that can be read"]
    assert gdl_match("box.png", "scenes/without.png", "scenes/a.png")[0] == 2
    assert gdl_match("box.png", "scenes", "--html", "--out", "inspected")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("box.png", "scenes/with.png", "nothing.png"), "nothing.png: no such file"),
        (("nothing.png", "scenes"), "nothing.png: no such file"),
        (("box.png", "scenes", "--mask1", "box.png"), "--mask1 is not for many pictures"),
        (("box.png", "empty"), "empty: the folder has no pictures"),
    ],
)
def test_wrong_usage_is_rejected_early(gdl_match, tmp_path, arguments, reason):
    (tmp_path / "empty").mkdir()
    assert gdl_match(*arguments) == (2, "", f"gdl-match: error: {reason}\n")
    assert names(tmp_path) == ["box.png", "empty", "scenes"]


def test_json_is_one_document(gdl_match, tmp_path):
    (tmp_path / "scenes" / "a.png").write_text("not a picture")
    status, output, _ = gdl_match("box.png", "scenes", "--json")
    assert status == 0
    damaged, with_, without = json.loads(output)["results"]
    assert set(damaged) == {"picture", "error"}
    assert without["objects"] == []
    written = json.loads((tmp_path / with_["folder"] / "matches.json").read_text())
    assert with_ == {"picture": "scenes/with.png", "folder": "box-with-match", **written}


@pytest.fixture
def boards(tmp_path, monkeypatch):
    """A golden picture, and a folder: copies, an altered one, another one, a part, and no picture."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boards").mkdir()
    golden = crops()["coffee"]
    altered = golden.copy()
    altered[60:84, 100:130] = 255 - altered[60:84, 100:130].mean(axis=(0, 1))
    shown = {"copy": golden, "altered": altered, "other": crops()["rocket"], "part": golden[:, :100]}
    for name, picture in {"../golden": golden, **shown}.items():
        Image.fromarray(picture).save(f"boards/{name}.png")
    Image.fromarray(golden).rotate(6, Image.Resampling.BICUBIC, expand=True).save("boards/turned.png")
    (tmp_path / "boards" / "torn.png").write_bytes(b"no picture")
    return tmp_path


def test_page_of_inspection_is_seen_and_heard(boards, monkeypatch):
    """In a browser, from the file system: the table, a slider by keyboard, links, and the fields above."""
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    assert cli.main(["golden.png", "boards", "--out", "found", "--open", *QUICK]) == 2  # one is torn
    assert opened == [(boards / "found" / "golden-overview.html").as_uri()]
    with browser_page(viewport={"width": 1200, "height": 900}) as page:
        page.goto(opened[0])
        assert "2 of 6 are the same" in page.locator("header").inner_text()
        table = page.get_by_role("table", name="Verdicts")
        rows = [row.inner_text().split("\t") for row in table.get_by_role("row").all()[1:]]
        assert [name for name, *_ in rows] == [
            *("altered.png", "other.png", "part.png", "torn.png", "copy.png", "turned.png"),
        ]
        verdicts = [verdict.split(" ", 1)[1] for _, verdict, *_ in rows]
        assert verdicts[:3] == ["differs in 1 place", "no common object", "can't tell if it is the same"]
        assert verdicts[3].endswith("torn.png: is not a picture that can be read")
        assert all(verdict.startswith("the same (nothing larger than ") for verdict in verdicts[4:])
        assert rows[0][2] == "1"
        assert float(rows[0][3].removesuffix(" px")) == pytest.approx((24 * 30) ** 0.5, abs=3)
        table.get_by_role("link", name="altered.png", exact=True).click()
        article = page.locator("article", has_text="altered.png")
        assert page.url.endswith("#" + article.get_attribute("id"))
        figure = article.locator(".comparison")
        pictures = figure.get_by_role("img").all()
        assert [picture.get_attribute("alt") for picture in pictures] == [
            "altered.png in the golden picture", "altered.png in the picture, registered on it",
        ]  # fmt: skip
        for picture in (*pictures, article.locator(".cuts img")):
            picture.scroll_into_view_if_needed()
            page.wait_for_function("image => image.naturalWidth > 0", arg=picture.element_handle())
        slider = figure.get_by_role("slider", name="altered.png: share of the golden picture")
        slider.focus()
        page.keyboard.press("End")
        assert figure.evaluate("figure => figure.style.getPropertyValue('--split')") == "100%"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Blink"
        page.locator("select[name=kind]").select_option("same")
        assert page.get_by_role("status").inner_text() == "2 of 6 pictures"
        assert not article.is_visible()
        assert page.locator("article:visible").count() == 2
        page.get_by_role("link", name="Report of copy.png").click()
        assert page.locator("h1").inner_text() == "golden.png and copy.png"
        assert page.complaints == []


def test_differences_are_listed_in_pixels_of_the_golden_picture(boards):
    assert cli.main(["golden.png", "boards", "--out", "found", "--html", *QUICK]) == 2  # one is torn
    with (boards / "found" / "differences.csv").open(newline="") as file:
        [row] = csv.DictReader(file)
    assert list(row) == ["picture", "object", "polygon", "size", "evidence"]
    assert (row["picture"], row["object"]) == ("boards/altered.png", "0")
    assert float(row["size"]) == pytest.approx((24 * 30) ** 0.5, abs=3)
    corners = np.array(json.loads(row["polygon"]))
    assert np.allclose([corners.min(axis=0), corners.max(axis=0)], [(100, 60), (129, 83)], atol=3)
    with Image.open(boards / "found" / "golden-altered-match" / "difference-1.jpg") as cut:
        margins = 2 * (30 * 0.25 + 8)
        assert cut.width == pytest.approx(2 * 4 * (30 + margins), abs=30)  # both, four times as large
    again = ["golden.png", "boards/copy.png", "boards/torn.png", "--out", "found", "--html", *QUICK]
    assert cli.main(again) == 2  # the files are ours, and written again
    assert (boards / "found" / "differences.csv").read_text().splitlines()[1:] == []
    assert (
        cli.main(["golden.png", "boards/other.png", "boards/torn.png", "--out", "none", "--html", *QUICK])
        == 2
    )
    assert "None of 2 are the same" in (boards / "none" / "golden-overview.html").read_text()
    for name in ("differences.csv", "golden-overview.html", "golden-overview.jpg"):
        (boards / "found" / name).rename(boards / name)
        (boards / "found" / name).write_text("mine")
        assert cli.main(again) == 2
        assert (boards / "found" / name).read_text() == "mine"
        (boards / name).replace(boards / "found" / name)


@pytest.mark.parametrize(
    ("pictures", "status", "different"),
    [
        (("copy", "turned"), 0, []),
        (("copy",), 0, []),
        (("altered",), 1, ["altered.png: differs in 1 place"]),
        (("other",), 1, ["other.png: no common object"]),
        (("part", "copy"), 1, ["part.png: can't tell if it is the same"]),
        (("torn", "altered"), 2, ["altered.png: differs in 1 place"]),
        (("torn",), 2, []),
    ],
)
def test_exit_status_says_if_any_picture_differs(boards, capsys, pictures, status, different):
    given = [f"boards/{name}.png" for name in pictures]
    assert cli.main(["golden.png", *given, "--fail-if-different", *QUICK]) == status
    output = capsys.readouterr().out.replace("boards/", "")
    assert [line for line in output.splitlines() if line.startswith("not the same: ")] == [
        f"not the same: {line}" for line in different
    ]
    assert cli.main(["golden.png", *given, "--fail-if-different", "--json", *QUICK]) == status
    if status < 2:
        json.loads(capsys.readouterr().out)


def test_least_sure_hits_come_first_and_parts_are_dashed():
    def hit(name, confidence, score, kind="copy", differences=""):
        path, box = "M0 0L9 0L9 9Z", (0, 0, 80, 60)
        return Hit("box", name, "data:,", box, path, "#ff0000", differences, kind, confidence, score, "")

    hits = [
        hit("b", "sure", 0.8),
        hit("b", "sure", 0.7, "part"),
        hit("c", "look at it", 0.2, "part"),
        hit("d", "sure", 0.5),
        hit("e", "sure", 0.9, "alike", "M1 1L2 1L2 2Z"),
    ]
    text = hits_page("box.png", hits, [("1 picture without it", [("a",)])])
    assert re.findall(r'aria-label="box in (\w)"', text) == ["c", "d", "b", "b", "e"]
    assert "<strong>2 copies</strong>" in text
    assert "1 place is alike but different" in text
    assert text.count('class="difference dash" d="M1 1L2 1L2 2Z"') == 1
    assert "2 more places share a part" in text
    assert "in 4 pictures." in text
    assert text.count("ink part") == 2
    assert re.findall(r'<select name="(\w+)">', text) == ["confidence", "kind"]  # there is one reference
