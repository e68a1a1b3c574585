"""One thing, many pictures, as a user runs it."""

import json
import re

import numpy as np
import pytest
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


def test_overview_leads_to_the_reports(gdl_match, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    (tmp_path / "scenes" / "torn.png").write_bytes(b"no picture")
    assert gdl_match("box.png", "scenes", "--out", "found", "--open")[0] == 0
    page = tmp_path / "found" / "box-overview.html"
    assert opened == [page.as_uri()]
    text = page.read_text()
    assert "<strong>1 copy</strong>" in text
    assert "in 1 picture of 3." in text
    assert "<summary>1 picture without it</summary>" in text
    assert "<summary>1 picture can&#39;t be used</summary>" in text
    assert "torn.png" in text
    assert re.findall(r'href="([^"]*matches.html)"', text) == ["box-with-match/matches.html"]
    assert (page.parent / "box-with-match" / "matches.html").is_file()
    outline = re.findall(r'class="outline ink (\w+)" d="M([^"]*)Z"', text)
    assert [kind for kind, _ in outline] == ["copy"]
    corners = np.array([corner.split() for corner in outline[0][1].split("L")], float)
    assert np.allclose(corners, [[0, 220], [220, 220], [220, 440], [0, 440]], atol=1)
    assert gdl_match("box.png", "scenes", "--out", "found", "--html")[0] == 0  # it is ours, and written again
    page.write_text("mine")
    status, _, error = gdl_match("box.png", "scenes", "--out", "found", "--html")
    assert (status, "box-overview.html: was not written by gdl-match" in error) == (2, True)


def test_least_sure_hits_come_first_and_parts_are_dashed():
    def hit(name, confidence, score, kind="copy", differences=""):
        path, box = "M0 0L9 0L9 9Z", (0, 0, 80, 60)
        link = f"{name}/matches.html"
        return Hit(
            "box", name, "data:,", box, path, "#ff0000", differences, kind, confidence, score, "", link
        )

    hits = [
        hit("b", "sure", 0.8),
        hit("b", "sure", 0.7, "part"),
        hit("c", "look at it", 0.2, "part"),
        hit("d", "sure", 0.5),
        hit("e", "sure", 0.9, "alike", "M1 1L2 1L2 2Z"),
    ]
    text = hits_page("box.png", hits, [("1 picture without it", [("a",)])], n_pictures=5)
    assert re.findall(r'href="(\w)/matches', text) == ["c", "d", "b", "b", "e"]
    assert "<strong>2 copies</strong>" in text
    assert "1 place is alike but different" in text
    assert text.count('class="difference dash" d="M1 1L2 1L2 2Z"') == 1
    assert "2 more places share a part" in text
    assert "in 4 pictures of 5." in text
    assert text.count("ink part") == 2
    assert re.findall(r'<select name="(\w+)">', text) == ["confidence", "kind"]  # there is one reference
