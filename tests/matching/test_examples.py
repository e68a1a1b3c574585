"""Small functions by example."""

from types import SimpleNamespace

import numpy as np
import pytest

from matching import InputError
from matching.cli.subcommands import find_meant
from matching.collection.reports.relations import Relation
from matching.interchange.records import frames_from_angles
from matching.labels.places import sort_frames
from matching.objects.confidence import confidence
from matching.objects.frames import Motion
from matching.output.figures.drawing import canvas_factor
from matching.output.json_text import json_text
from matching.output.places import cut_at_edges
from matching.output.words import (
    align_columns,
    count,
    describe_sizes,
    describe_things,
    format_percent,
    format_turn,
)
from matching.pictures.decoding import map_displayed_to_stored
from matching.pictures.names import check_name, make_relative
from matching.settings import Setting
from matching.video.files import format_time

ITEM = {"id": 0, "outline": [[1, 2], [3, 4]], "of": [{"a": None}]}
ITEM_TEXT = """\
{
 "id": 0,
 "outline": [[1, 2], [3, 4]],
 "of": [
  {
   "a": null
  }
 ]
}"""
CROP = Relation("crop", 0, 1.0, 0.25, 0.0, 1.0, False)
PARTS = [SimpleNamespace(id=k, thing=0, is_whole=False) for k in range(2)]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (find_meant("serv"), "serve"),
        (find_meant("collections"), "collection"),
        (find_meant("a.jpg"), None),
        (CROP.role, "part of"),
        (CROP.reverse().role, "shows more than"),
        (frames_from_angles(np.array([2.0]), np.array([np.pi / 2])).round(12).tolist(), [[[0, -2], [2, 0]]]),
        (sort_frames(["frame10.png", "frame9.png"]), [1, 0]),
        ([confidence(log_nfa) for log_nfa in (-20.0, -7.1, -3.5)], ["sure", "likely", "look at it"]),
        (
            Motion(np.zeros(2), -30, 0.5, True, 0.4).words,
            "mirrored, turned 30° anticlockwise, 0.50 times as large",
        ),
        (canvas_factor((480, 640), (480, 640)), 1.0),
        (round(canvas_factor((375, 40_000), (40_000, 375)), 2), 0.12),
        (json_text(ITEM), ITEM_TEXT),
        (
            sorted(cut_at_edges(np.array([[-20.0, 1], [5, 1], [5, 4], [-20, 4]]), (10, 10)).tolist()),
            [[-0.5, 1], [-0.5, 4], [5, 1], [5, 4]],
        ),
        (align_columns([["a", "to the left"], ["100", "b"]], left=[1]), ["  a  to the left", "100  b"]),
        ([count(1, "group"), count(0, "pair")], ["1 group", "0 pairs"]),
        (
            describe_sizes((0.3, 12.19), ((640, 480), (4032, 3024))),
            "matched at 0.3 of 0.3 and 12.2 of 12.2 megapixels",
        ),
        (
            describe_sizes((0.0199, 0.0004), ((640, 480), (20, 20))),
            "matched at 0.02 of 0.3 and 0.0004 of 0.0004 megapixels",
        ),
        (describe_things(PARTS, "nesquik"), ["nesquik: 2 places (objects 0, 1)"]),
        ([format_percent(0.826), format_percent(0.002)], ["83%", "<1%"]),
        (format_turn(SimpleNamespace(turn=-12.3, mirrored=False)), "12° ccw"),
        (format_turn(SimpleNamespace(turn=0.3, mirrored=True)), "mirrored"),
        ((map_displayed_to_stored(6, 40, 60) @ [0, 0, 1]).tolist(), [0, 39, 1]),
        (make_relative(["/a/b/1.png", "//a/c/../c/2.png"]), ["b/1.png", "c/2.png"]),
        ([format_time(7.04), format_time(3725.96)], ["0:07.0", "1:02:06.0"]),
    ],
)
def test_result(result, expected):
    assert result == expected


def test_messages():
    with pytest.raises(InputError, match="rounds must be at least 0, got -1"):
        Setting(4, 0, 100).check("rounds", -1)
    with pytest.raises(InputError, match=r"a\.jpg: is a URL, not a file: download it first"):
        check_name("https://example.com/a.jpg")


def test_names_of_the_page():
    pytest.importorskip("starlette")
    from matching.serve.app import clean_name, name_download

    assert name_download(["box.jpg", "scene.png"], "matches.json") == "box-scene-matches.json"
    assert [clean_name(name) for name in ("C:\\me\\a.jpg", "../../etc/b.png", "\x00")] == [
        "a.jpg",
        "b.png",
        "picture",
    ]
