"""The page on which labels are accepted or dropped, over HTTP and in a browser."""

import json
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest
from browser import browser_page
from PIL import Image

from matching.cli.commands import label as command
from matching.labels.review import Review


@contextmanager
def reviewed(label, begin, monkeypatch):
    """The server of a run that found an astronaut and a cup."""
    begin("labels")
    kept = {}
    monkeypatch.setattr(command, "_review", lambda labels, form: kept.update(labels=labels) or 0)
    assert label("astronaut.png", "cup.png", "--out", "labels", "--review")[0] == 0
    with Review(kept["labels"], ("coco",)) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ask(address, told=None):
    data = None if told is None else json.dumps(told).encode()
    with urllib.request.urlopen(urllib.request.Request(address, data), timeout=20) as answer:
        content = answer.read()
    return json.loads(content) if answer.headers["Content-Type"] == "application/json" else content


def names():
    told = json.loads(Path("labels/annotations.json").read_text())
    classes = {entry["id"]: entry["name"] for entry in told["categories"]}
    return [classes[entry["category_id"]] for entry in told["annotations"]]


def test_dropped_place_is_no_longer_a_label(label, begin, monkeypatch, tmp_path):
    with reviewed(label, begin, monkeypatch) as server:
        proposals = ask(f"{server.address}proposals")
        assert [told["score"] for told in proposals] == sorted(told["score"] for told in proposals)
        assert {told["class"] for told in proposals} == {"astronaut", "cup"}
        assert {told["doubt"] for told in proposals} == {""}
        first = proposals[0]
        assert (first["label"], first["verdict"], first["whole"]) == (True, None, True)
        place = {"picture": first["picture"], "place": first["place"]}
        assert ask(f"{server.address}verdict", {**place, "verdict": False}) == {"label": False}
        assert ask(f"{server.address}save", {}) == {"labels": 1}
        assert names() == [proposals[1]["class"]]
        shown = ask(f"{server.address}picture/{first['picture']}")
        (tmp_path / "shown.jpg").write_bytes(shown)
        with Image.open(tmp_path / "shown.jpg") as image:
            assert image.size == tuple(first["size"])
    assert label("astronaut.png", "cup.png", "--out", "labels")[0] == 0  # goes on from the record
    assert names() == [proposals[1]["class"]]


def test_review_begins_with_doubtful_proposals(label, begin, monkeypatch):
    """And says why each is doubtful."""
    with reviewed(label, begin, monkeypatch) as server:
        places = [place for picture in server.pictures for place in picture.places]
        sure = max(places, key=lambda place: place.score)
        doubtful = replace(sure, same=False, doubt="differs in 1 place")
        server.pictures = [
            replace(picture, places=tuple(doubtful if place is sure else place for place in picture.places))
            for picture in server.pictures
        ]
        first, second = ask(f"{server.address}proposals")
        assert first["doubt"] == "differs in 1 place"
        assert second["doubt"] == ""
        with browser_page(bypass_csp=True) as page:
            page.goto(server.address)
            page.wait_for_selector("path.dropped")  # what differs is no label by itself
            assert page.inner_text(".doubt") == "Doubtful: differs in 1 place."
            page.keyboard.press("ArrowRight")
            assert page.inner_text(".doubt") == ""


def test_part_is_accepted_for_the_whole_thing(label, begin, monkeypatch):
    with reviewed(label, begin, monkeypatch) as server:
        picture, frame = server.pictures[0], ((1.0, 2.0), (9.0, 2.0), (9.0, 8.0))
        part = replace(picture.places[0], whole=False, frame=frame)
        record = server.labels.record
        record.pictures[picture.name] = replace(picture, places=(part,))
        del server.pictures
        place = {"picture": 0, "place": 0}
        (told,) = (one for one in ask(f"{server.address}proposals") if one["picture"] == 0)
        assert (told["label"], told["frame"]) == (False, [list(corner) for corner in frame])
        assert ask(f"{server.address}verdict", {**place, "verdict": "whole"}) == {"label": True}
        (shown,) = server.labels.pictures[0].places
        assert (shown.polygon, shown.whole) == (frame, True)
        assert ask(f"{server.address}verdict", {**place, "verdict": None}) == {"label": False}


@pytest.mark.slow
def test_bad_requests_are_refused(label, begin, monkeypatch):
    with reviewed(label, begin, monkeypatch) as server:
        for path, told, status in (
            ("picture/99", None, 400),
            ("picture/x", None, 404),
            ("verdict", {"picture": 0, "place": 99, "verdict": True}, 400),
            ("verdict", {"picture": 0, "place": 0, "verdict": 7}, 400),
            ("verdict", [], 400),
            ("other", {}, 404),
            ("../proposals", None, 404),
        ):
            with pytest.raises(urllib.error.HTTPError) as refused:
                ask(server.address + path, told)
            refused.value.close()
            assert refused.value.code == status, path
        with pytest.raises(urllib.error.HTTPError) as refused:  # without the secret
            ask(f"http://127.0.0.1:{server.server_port}/proposals")
        refused.value.close()
        assert refused.value.code == 404


@pytest.mark.slow
def test_keyboard_accepts_and_drops_proposals(label, begin, monkeypatch):
    with (
        reviewed(label, begin, monkeypatch) as server,
        browser_page(
            viewport={"width": 390, "height": 800},
            bypass_csp=True,  # Playwright waits by eval
        ) as page,
    ):
        page.goto(server.address)
        page.wait_for_selector("path.accepted")
        assert "1 of 2" in page.inner_text(".where")
        page.keyboard.press("n")
        page.wait_for_function("document.querySelector('.where').textContent.startsWith('2 of 2')")
        assert page.inner_text(".told") == "1 left"
        page.keyboard.press("ArrowLeft")
        assert "no label" in page.inner_text(".what")
        assert page.locator("path.dropped").count() == 1
        page.keyboard.press("y")
        page.wait_for_function("document.querySelector('.where').textContent.startsWith('2 of 2')")
        for kind in ("dropped", "accepted"):  # the two last decisions are taken back, and nothing else
            page.keyboard.press("u")
            page.wait_for_selector(f"path.{kind}")
            assert "1 of 2" in page.inner_text(".where")
        page.keyboard.press("u")
        page.wait_for_function("document.querySelector('.told').textContent === 'nothing to undo'")
        page.keyboard.press("n")
        page.wait_for_function("document.querySelector('.where').textContent.startsWith('2 of 2')")
        page.click("text=Accept")
        page.wait_for_function("document.querySelector('.told').textContent.startsWith('all decided')")
        page.keyboard.press("s")
        page.wait_for_function("document.querySelector('.told').textContent === 'labels written: 1'")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.complaints == []
    assert len(names()) == 1


def test_interrupted_review_writes_labels(label, begin, monkeypatch):
    begin("labels")
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)

    def interrupted(server):
        place = server.list_proposals()[0]
        server.decide({**{key: place[key] for key in ("picture", "place")}, "verdict": False})
        raise KeyboardInterrupt

    monkeypatch.setattr(Review, "serve_forever", interrupted)
    status, output, _ = label("astronaut.png", "cup.png", "--out", "labels", "--review")
    assert status == 0
    assert output.splitlines()[-1] == "1 label, 1 proposal undecided"
    assert opened[0] in output
    assert len(names()) == 1
