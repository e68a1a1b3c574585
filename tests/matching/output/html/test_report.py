"""The reports, as text and in a real browser."""

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from browser import browser_page
from PIL import Image
from planting import object_pair

from matching import MatchConfig, find_repeats, match
from matching.collection import FeatureCache, match_collection, plan_folder
from matching.collection.database.store import open_store
from matching.collection.reports.html_report import write_collection_report
from matching.correspondences.candidates import CandidateConfig
from matching.objects.description import add_comparison
from matching.objects.differences import Difference
from matching.output.html.hits import Hit, hits_page
from matching.output.html.page import _json, candidates_data, objects_data
from matching.output.html.pair import pair_report
from matching.output.words import format_repeats
from matching.pictures.images import make_picture_of_array


@pytest.fixture(scope="module")
def pair():
    pictures = [make_picture_of_array(array) for array in object_pair()]
    return pictures, match(*pictures)


@pytest.fixture(scope="module")
def page_of_pair(pair, tmp_path_factory):
    path = tmp_path_factory.mktemp("pair") / "matches.html"
    pictures, result = pair
    names = Path("first.png"), Path("<second> & 'more'.png")
    named = [replace(p, path=n) for p, n in zip(pictures, names, strict=True)]
    path.write_bytes(pair_report(named, result).encode())
    return path


@pytest.fixture(scope="module")
def page_of_collection(tmp_path_factory):
    place = tmp_path_factory.mktemp("collection")
    folder = place / "pictures"
    folder.mkdir()
    first, second = object_pair()
    for name, array in (("first", first), ("second", second), ("third", first[:, :220])):
        Image.fromarray(array).save(folder / f"{name}.png")
    (folder / "text.png").write_text("none")
    cache = FeatureCache(place, 10**9)
    match_collection(plan_folder(folder), place / "c.db", cache=cache, jobs=1)
    write_collection_report(place / "c.db", place / "c.html", 10)
    return place / "c.html"


class Links(HTMLParser):
    """All addresses that a page would load or lead to."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found += [
            value for name, value in attributes if name in ("src", "href", "action", "data", "srcset")
        ]


def test_pages_are_one_file_without_network(page_of_pair, page_of_collection):
    for path in (page_of_pair, page_of_collection):
        text = path.read_text()
        links = Links()
        links.feed(text)
        assert all(link.startswith(("data:", "#")) for link in links.found)
        assert not re.search(r"@import|url\(", text)
        assert "default-src 'none'" in text
        assert len(text) < 2_000_000


def test_names_are_escaped(page_of_pair):
    text = page_of_pair.read_text()
    assert "&lt;second&gt; &amp;" in text
    assert "<second>" not in text
    assert _json({"a": "</script><!--"}) == '{"a":"\\u003c/script>\\u003c!--"}'


def test_kept_candidates_come_first_then_the_nearest_rejected():
    xy = np.arange(10.0).reshape(5, 2)
    data, rows = candidates_data(
        xy, xy, np.array([-1, 0, -1, 1, -1]), np.array([0.9, 0.5, 0.1, 0.4, 0.3]), max_outliers=2
    )
    assert rows.tolist() == [1, 3, 2, 4]
    assert data["cluster"] == [0, 1, -1, -1]
    assert data["xy0"][:4] == [20, 30, 60, 70]


def test_report_says_why_there_can_be_no_object():
    """As the command does: no group of candidates can move together where there are none."""
    arrays = [np.full((40, 50), value, np.uint8) for value in (0, 255)]
    pictures = [replace(make_picture_of_array(a), path=Path(f"p{k}.png")) for k, a in enumerate(arrays)]
    page = pair_report(pictures, match(*pictures))
    reason = "no features: it is too small, flat, transparent or masked"
    assert f"No common object: p0.png: {reason}; p1.png: {reason}." in page
    assert "moves together" not in page
    page = pair_report(pictures[:1] * 2, find_repeats(arrays[0]))
    assert f"No repeated objects found: p0.png: {reason}." in page
    with browser_page() as shown:
        shown.set_content(page)
        assert shown.locator(".told .counts").inner_text() == "There are no candidates."


def test_viewer_selects_filters_and_zooms(page_of_pair):
    with browser_page(viewport={"width": 1100, "height": 900}) as page:
        page.goto(page_of_pair.as_uri())
        button = page.get_by_role("button", name="Object 1")
        assert button.get_attribute("aria-pressed") == "false"
        button.focus()
        page.keyboard.press("Enter")
        assert button.get_attribute("aria-pressed") == "true"
        assert page.locator(".singled-out").inner_text().startswith("Object 1 singled out: ")
        assert page.locator("svg.singled .object.chosen:not(.frame)").count() == 2
        page.keyboard.press("Escape")
        assert button.get_attribute("aria-pressed") == "false"
        slider = page.locator(".viewer").get_by_role("slider")
        assert "only" in slider.get_attribute("aria-valuetext")
        slider.focus()
        page.keyboard.press("Home")
        text = page.locator(".counts").inner_text()
        kept, shown, rejected = (int(n.replace(",", "")) for n in re.findall(r"[\d,]+", text))
        assert shown == rejected > 0
        assert kept > 50
        page.get_by_role("button", name="Zoom in").click()
        assert page.evaluate("viewer.panes.map(p => p.scale)") == [1.5, 1.5]
        page.locator(".stage").first.focus()
        page.keyboard.press("+")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("viewer.panes[0].scale") == pytest.approx(2.1)
        assert page.evaluate("viewer.panes[0].x") < 0
        page.get_by_role("button", name="Fit").click()
        assert page.evaluate("viewer.panes.map(p => p.scale)") == [1, 1]
        button.click()
        page.get_by_role("button", name="To object").click()
        assert page.evaluate("viewer.panes[1].scale") > 1.3
        assert page.complaints == []


INSIDE = """() => {  // a point of the screen inside object 0 of the first picture
    const path = document.querySelector(".pane .object[data-object='0'] .ink");
    const box = path.getBoundingClientRect();
    for (let k = 1; k < 400; k++) {
        const x = box.left + box.width * ((k * 0.618) % 1);
        const y = box.top + box.height * ((k * 0.755) % 1);
        if (document.elementFromPoint(x, y) === path) return [x, y];
    }
}"""


def test_tapping_an_outline_selects_its_object(page_of_pair):
    with browser_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as page:
        page.goto(page_of_pair.as_uri())
        button = page.get_by_role("button", name="Object 0")
        inside = page.evaluate(INSIDE)
        page.touchscreen.tap(*inside)
        assert button.get_attribute("aria-pressed") == "true"
        assert page.locator("svg.singled .object.chosen:not(.frame)").count() == 2
        box = page.locator(".stage").nth(1).bounding_box()
        page.touchscreen.tap(box["x"] + 3, box["y"] + 3)  # of picture 1, outside all objects
        assert button.get_attribute("aria-pressed") == "false"
        assert page.complaints == []


def test_dots_lie_on_their_points(page_of_pair, pair):
    """A match's dot, its place in the data and in the result agree, zoomed or not."""
    _, result = pair
    with browser_page(viewport={"width": 1100, "height": 900}) as page:
        page.goto(page_of_pair.as_uri())
        page.get_by_role("button", name="Zoom in").click()
        row = int(np.flatnonzero(result.cluster >= 0)[0])
        for side, xy in enumerate((result.xy0, result.xy1)):
            at = page.evaluate(f"viewer.place(viewer.panes[{side}], {side}, 0)")
            width = page.evaluate(f"viewer.panes[{side}].width")
            x = page.evaluate(f"viewer.panes[{side}].x")
            expected = (xy[row, 0] + 0.5) * width / 440 * 1.5 + x
            assert at["x"] == pytest.approx(expected, abs=0.2)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.slow
def test_report_fits_both_themes_and_a_phone(page_of_pair, page_of_collection, scheme, width):
    with browser_page(viewport={"width": width, "height": 780}, color_scheme=scheme) as page:
        for path in (page_of_pair, page_of_collection):
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            luma = np.mean([int(n) for n in re.findall(r"\d+", ground)[:3]])
            assert (luma > 200) if scheme == "light" else (luma < 60)
        assert page.complaints == []


def test_gallery_is_sorted_by_rank(page_of_collection):
    with browser_page(viewport={"width": 1100, "height": 900}) as page:
        page.goto(page_of_collection.as_uri())
        cards = page.locator(".card")
        scores = [float(text) for text in page.locator(".card strong").all_inner_texts()]
        with open_store(page_of_collection.with_name("c.db")) as store:
            best = store.rows("SELECT score FROM pairs WHERE n_objects > 0 ORDER BY rank DESC, id")
        assert scores == pytest.approx([score for (score,) in best], abs=0.006)
        assert cards.count() == 3
        assert "text.png" in page.locator("details").inner_text() or page.locator("details td").count()
        page.get_by_label("Name").fill("third")
        assert page.get_by_role("status").inner_text() == "2 of 3 pairs"
        page.get_by_label("Name").fill("")
        cards.first.focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        dialog.wait_for()
        assert re.search(r"#pair-\d+$", page.url)
        title = dialog.get_by_role("heading").first.inner_text()
        dialog.get_by_role("button", name="Object 0").click()
        page.keyboard.press("Escape")  # lets the object go
        assert dialog.is_visible()
        dialog.get_by_role("button", name="Next").click()
        dialog.get_by_role("heading").first.filter(has_not_text=title).wait_for()
        page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")
        assert page.complaints == []


def test_hits_are_filtered_by_thing_and_confidence(tmp_path):
    kinds = [
        ("box", "a.png", "copy", "sure"),
        ("box", "b.png", "part", "likely"),
        ("tin", "a.png", "copy", "sure"),
    ]
    hits = [
        Hit(*names, "data:,", (0, 0, 9, 9), "M0 0L5 0L5 5Z", "#ff0000", "", kind, sure, 0.1 * k, "")
        for k, (*names, kind, sure) in enumerate(kinds)
    ]
    page_file = tmp_path / "hits.html"
    page_file.write_text(hits_page("2 queries", hits), "utf-8")
    with browser_page() as page:
        page.goto(page_file.as_uri())
        for label, value, n in (("Thing", "box", 2), ("How sure", "sure", 1), ("Thing", "", 2)):
            page.get_by_label(label).select_option(value)
            assert page.get_by_role("status").inner_text() == f"{n} of 3 hits"
        page.get_by_label("Minimum score").fill("0.15")
        assert page.locator("li:visible .names").all_inner_texts() == ["tin in a.png"]
        page.get_by_label("Name").fill("box")
        assert page.get_by_role("status").inner_text() == "0 of 3 hits"
        assert page.complaints == []


def test_collection_shows_the_same_as_a_single_match(tmp_path):
    """Objects and kept matches, also where objects took in some from beyond the best."""
    for k, array in enumerate(object_pair()):
        Image.fromarray(array).save(tmp_path / f"{k}.png")
    config = MatchConfig(candidates=CandidateConfig(max_matches=1000))
    cache = FeatureCache(tmp_path, 10**9)
    match_collection(plan_folder(tmp_path), tmp_path / "c.db", config, cache=cache, jobs=1)
    write_collection_report(tmp_path / "c.db", tmp_path / "c.html", 10)
    data = re.search(r'id="collection">(.*?)</script>', (tmp_path / "c.html").read_text())[1]
    (pair,) = json.loads(data)["pairs"]
    result = match(tmp_path / "0.png", tmp_path / "1.png", config=config)
    kept = result.cluster >= 0
    assert (kept[1:] > kept[:-1]).any()  # some stand behind outliers
    expected, rows = candidates_data(result.xy0, result.xy1, result.cluster, result.score, 0)
    assert pair["candidates"] == expected
    objects = json.loads(json.dumps(objects_data(result.objects, result.cluster[rows], result.xy0[rows])))
    for shown, item in zip(pair["objects"], objects, strict=True):
        assert [shown[key] for key in ("cells", "words", "frame")] == [
            item[key] for key in ("cells", "words", "frame")
        ]
        assert item["words"]
    assert pair["n_rejected"] == 0


def test_gallery_tells_what_differs(page_of_collection, tmp_path):
    square = [[40.0, 40.0], [60.0, 40.0], [60.0, 60.0], [40.0, 60.0]]
    difference = {"polygon0": square, "polygon1": square, "share": 0.1, "evidence": 20.0}
    text = json.dumps([difference | {"size": 20.0}])
    db = Path(shutil.copy(page_of_collection.with_suffix(".db"), tmp_path / "c.db"))
    with open_store(db) as store:
        number = store.value("SELECT pair FROM objects")
        with store.transaction():
            store.execute(
                "UPDATE objects SET record = json_set(record, '$.compared.is_same', json('false'),"
                " '$.compared.differences', json(?)) WHERE pair = ?",
                (text, number),
            )
        n = store.value("SELECT count(*) FROM objects WHERE pair = ?", (number,))
    write_collection_report(db, tmp_path / "c.html", 10)
    with browser_page() as page:
        page.goto((tmp_path / "c.html").as_uri() + f"#pair-{number}")
        facts = page.locator(".facts").all_inner_texts()
        assert sum(f"{n} differ" in text for text in facts) == 1
        assert page.locator("dialog .pane .difference.dash").count() == 2 * n
        assert "differs in 1 place" in page.locator("dialog .objects").inner_text()
        assert page.complaints == []


def test_collection_is_shown_without_missing_pictures(page_of_collection, tmp_path):
    place = page_of_collection.parent
    hidden = (place / "pictures").rename(tmp_path / "elsewhere")
    try:
        write_collection_report(place / "c.db", tmp_path / "c.html", 10)
    finally:
        hidden.rename(place / "pictures")
    text = (tmp_path / "c.html").read_text()
    assert text.count('"n_rejected":0') == 3
    assert text.count("(can't be read any more)") == 3
    assert len(text) < len(Path(page_of_collection).read_text())  # without the pictures


@pytest.fixture(scope="module")
def page_of_difference(pair, tmp_path_factory):
    """Object 1 differs in one place."""
    pictures, result = pair
    found = result.objects[1]
    middles = [outline.mean(axis=0) for outline in (found.outline0, found.outline1)]
    square = 12.0 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    difference = Difference(middles[0] + square, middles[1] + square, 0.1, 20.0, 8.0)
    differing = add_comparison(found, False, [difference])
    path = tmp_path_factory.mktemp("difference") / "matches.html"
    result = replace(result, objects=(result.objects[0], differing))
    path.write_bytes(pair_report(pictures, result).encode())
    return path


def split_of(figure):
    return figure.evaluate("figure => figure.style.getPropertyValue('--split')")


def test_slider_shows_more_of_either_picture(page_of_difference):
    """With the keyboard alone. Objects that differ come first."""
    with browser_page(viewport={"width": 1100, "height": 900}) as page:
        page.goto(page_of_difference.as_uri())
        assert "2 objects in both, 1 differs" in page.locator("header").inner_text()
        assert "differs in 1 place" in page.locator(".objects").inner_text()
        figures = page.locator(".comparison")
        captions = figures.locator("figcaption").all_inner_texts()
        assert captions[0] == "Object 1: differs in 1 place"
        assert captions[1].startswith("Object 0")
        first = figures.first
        boxes = [svg.bounding_box() for svg in first.locator("svg").all()]
        assert boxes[0] == boxes[1]  # one over the other
        slider = first.get_by_role("slider", name="Object 1: share of the first picture")
        slider.focus()
        page.keyboard.press("End")
        assert split_of(first) == "100%"
        page.keyboard.press("ArrowLeft")
        assert split_of(first) == "99%"
        first.locator(".parts").click(position={"x": boxes[0]["width"] / 4, "y": 20})
        assert split_of(first) == "25%"

        # the outlines, here and in both pictures
        assert first.locator(".difference.dash").count() == 2
        first.get_by_label("Differences").focus()
        page.keyboard.press("Space")
        assert not first.locator(".difference.dash").first.is_visible()
        assert figures.nth(1).get_by_label("Differences").count() == 0
        assert page.locator(".pane .difference.dash").count() == 2
        page.locator(".viewer").get_by_label("Differences").uncheck()
        assert not page.locator(".pane .difference.dash").first.is_visible()
        assert page.complaints == []


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_pictures_blink_unless_motion_is_to_be_reduced(page_of_difference, motion):
    with browser_page(reduced_motion=motion) as page:
        page.clock.install(time=0)
        page.goto(page_of_difference.as_uri())
        page.clock.pause_at(600_000)
        first = page.locator(".comparison").first
        button = first.get_by_role("button", name="Blink")
        button.focus()
        page.keyboard.press("Enter")
        seen = [split_of(first)]
        for _ in range(2):
            page.clock.run_for(900)
            seen.append(split_of(first))
        if motion == "reduce":
            assert seen == ["0%"] * 3
            page.keyboard.press("Enter")
            assert split_of(first) == "100%"
        else:
            assert seen == ["0%", "100%", "0%"]
            assert button.get_attribute("aria-pressed") == "true"
            page.keyboard.press("Enter")
            page.clock.run_for(5000)
            assert split_of(first) == "0%"
        assert button.get_attribute("aria-pressed") == "false"
        assert page.complaints == []


def test_both_pictures_stand_side_by_side_without_script(page_of_difference):
    with browser_page(java_script_enabled=False) as page:
        page.goto(page_of_difference.as_uri())
        first = page.locator(".comparison").first
        left, right = (svg.bounding_box() for svg in first.locator("svg").all())
        assert left["x"] + left["width"] < right["x"]
        assert left["y"] == right["y"]
        assert first.locator(".difference.dash").count() == 2
        assert not first.locator(".bar").is_visible()


def test_page_of_one_picture_lists_things(pair):
    (picture, _), found = pair
    things = [replace(thing, joined=((0, 0),) * len(thing.objects)) for thing in found.things]
    found = replace(found, is_single_picture=True, things=tuple(things))
    page = pair_report([picture, picture], found)
    assert "2 things that appear more than once" in page
    for row in format_repeats(found).splitlines()[1:]:  # the things that the command lists
        number, places, n_matches, *_ = row.split()
        row = f'<th scope="row">{number}</th><td>{places}</td><td>{n_matches}</td>'
        assert row in page
    assert "each joins two places" in page
    assert (
        page.count("<img") == 7
    )  # once with all places, and folded, the two and those laid over, of each object
    assert page.index("0-1, 0-2") < page.index("<details")
    assert "in both" not in page
    assert "0-1" in page[page.index('class="objects"') :]  # by their places, as in the drawing
    assert "Object 0" not in page
    nothing = replace(found, objects=(), things=(), cluster=np.full(len(found.cluster), -1))
    assert "No repeated objects found" in pair_report([picture, picture], nothing)
