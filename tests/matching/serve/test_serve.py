"""The page of `gdl-match serve`: the application, its processes, and the page in a browser."""

import io
import json
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import skimage.data
from browser import browser_page
from patience import PATIENCE
from PIL import Image
from planting import crops, object_pair

pytest.importorskip("starlette", reason="the page needs Starlette")
httpx = pytest.importorskip("httpx", reason="the tests of the page need httpx")

uvicorn = pytest.importorskip("uvicorn", reason="the page needs uvicorn")

from eval.matching.photographs.extreme_views import tilt_picture  # noqa: E402
from matching import MatchConfig, match  # noqa: E402
from matching.cli.main import main  # noqa: E402
from matching.drivers import one_picture  # noqa: E402
from matching.drivers.pair import list_steps  # noqa: E402
from matching.labels import formats  # noqa: E402
from matching.output import export_formats  # noqa: E402
from matching.serve import matches  # noqa: E402
from matching.serve.app import create_app  # noqa: E402

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "match.py"
ALWAYS = {"matches.html", "matches.json", "matches.npz", "matches.png"}
EXPORTED = {name for row in export_formats.FORMATS.values() if row.on_page for name in row.files}
TEXT_FIELD = b'--x\r\nContent-Disposition: form-data; name="image0"\r\n\r\ntext\r\n--x--\r\n'
LABELS = {row.result_file for row in formats.FORMATS.values()}
RESULTS = ALWAYS | EXPORTED | LABELS


def png(array):
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture(scope="module")
def pictures():
    return [png(picture) for picture in object_pair()]


@contextmanager
def serving(max_seconds):
    """A client of a server in a thread."""
    server = uvicorn.Server(
        uvicorn.Config(create_app(max_seconds), log_level="warning", timeout_keep_alive=60)
    )
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        stopped = pool.submit(server.run, [listening])
        address = "http://127.0.0.1:{1}".format(*listening.getsockname())
        with httpx.Client(base_url=address, timeout=PATIENCE) as client:
            yield client
        server.should_exit = True
        stopped.result(PATIENCE)


@pytest.fixture(scope="module")
def client():
    """A client of a server."""
    with serving(PATIENCE) as client:
        yield client


def post(client, *uploads, settings="", **options):
    named = [
        upload if isinstance(upload, tuple) else (f"p{k}.png", upload) for k, upload in enumerate(uploads)
    ]
    return client.post(f"/matches{settings}", files={f"image{k}": u for k, u in enumerate(named)}, **options)


def wait(client, answer):
    """The status of a match that has ended."""
    assert answer.status_code == 202, answer.text
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        status = client.get(f"/matches/{answer.json()['id']}").json()
        if status["state"] in ("done", "failed"):
            return status
        time.sleep(0.05)
    raise AssertionError(status)


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return value


def folder_of(number):
    (folder,) = Path(tempfile.gettempdir()).glob(f"gdl-match-serve-*/{number}")
    return folder


def test_two_pictures_give_results(client, pictures):
    status = wait(client, post(client, ("../../a b.png", pictures[0]), ("C:\\x\\<b>.png", pictures[1])))
    number, folder = status["id"], folder_of(status["id"])
    assert status["told"].startswith("2 objects in both")
    assert status["lines"] == []  # neither picture as a whole is in the other
    assert set(status["files"]) == RESULTS == {path.name for path in folder.iterdir()}
    assert status["formats"].keys() >= LABELS | EXPORTED
    assert status["formats"]["labels-voc.xml"] == "Labels (Pascal VOC)"
    summary = client.get(f"/matches/{number}/matches.json").json()
    assert [image["path"] for image in summary["images"]] == ["a b.png", "<b>.png"]
    page = client.get(f"/matches/{number}/matches.html")
    assert "&lt;b&gt;.png" in page.text
    assert "<b>.png" not in page.text
    with np.load(io.BytesIO(client.get(f"/matches/{number}/matches.npz").content)) as data:
        expected = match(*object_pair())
        assert all(np.array_equal(data[name], getattr(expected, name)) for name in ("xy0", "xy1", "cluster"))
    assert Image.open(io.BytesIO(client.get(f"/matches/{number}/matches.png").content)).height == 440
    assert client.get(f"/matches/{number}/upload0").status_code == 404
    assert client.get(f"/matches/{number}/..%2fmatches.json").status_code == 404
    assert client.delete(f"/matches/{number}").status_code == 204
    assert client.get(f"/matches/{number}").status_code == 404
    assert not folder.exists()


def test_labels_and_other_formats_are_downloaded(client, pictures):
    """The first picture of the pair is no single thing, so its parts have the names of things."""
    number = wait(client, post(client, ("left.png", pictures[0]), ("right.png", pictures[1])))["id"]

    def read(name):
        answer = client.get(f"/matches/{number}/{name}")
        assert answer.headers["content-disposition"] == f'attachment; filename="left-right-{name}"'
        return answer

    (image,) = read("labels-coco.json").json()["images"]
    assert image["file_name"] == "right.png"
    shapes = read("labels-labelme.json").json()["shapes"]
    assert {shape["label"] for shape in shapes} == {"thing 0 of left", "thing 1 of left"}
    assert len(read("labels.csv").text.splitlines()) == 3
    assert "<filename>right.png</filename>" in read("labels-voc.xml").text
    with zipfile.ZipFile(io.BytesIO(read("labels-yolo.zip").content)) as archive:
        assert archive.namelist() == ["labels/right.txt", "data.yaml"]
    assert read("matches.csv").text.startswith("object,x0,y0,x1,y1,score")
    assert read("database.db").content.startswith(b"SQLite format 3")
    same = wait(client, post(client, ("a.png", pictures[0]), ("a.png", pictures[1])))
    assert set(same["files"]) == RESULTS - {"database.db"}  # COLMAP needs two names


def test_copies_are_counted_and_labelled(client):
    own = crops()
    shelf = np.hstack([own["astronaut"], own["coffee"], own["astronaut"]])
    status = wait(client, post(client, ("front.png", png(own["astronaut"])), ("shelf.png", png(shelf))))
    assert status["lines"][0] == "front: 2 copies (objects 0, 1)"
    rows = client.get(f"/matches/{status['id']}/labels.csv").text.splitlines()
    assert [row.split(",")[1] for row in rows] == ["class", "front", "front"]


def test_one_picture_gives_its_repeats(client):
    scene = np.hstack([object_pair()[0], object_pair()[0]])
    status = wait(client, post(client, ("shelf.png", png(scene))))
    assert status["told"].startswith("1 thing that appears more than once")
    assert status["lines"] == ["thing 0: 2 places"]
    labels = client.get(f"/matches/{status['id']}/labels-coco.json").json()
    lefts = sorted(entry["bbox"][0] for entry in labels["annotations"])
    assert lefts[1] - lefts[0] == pytest.approx(scene.shape[1] / 2, abs=5)
    flat = wait(client, post(client, ("flat.png", png(scene[:20, :20] * 0))))
    assert flat["lines"] == ["flat.png: no features: it is too small, flat, transparent or masked"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"just a text", r"p0\.png: is not a picture that can be read"),
        (b"", r"p0\.png: is empty"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", r"p0\.png: is not a picture"),
        (png(object_pair()[0])[:-9000], r"p0\.png: damaged picture \(.*truncated"),
    ],
    ids=["text", "empty", "eps", "truncated"],
)
def test_rejected_picture_reports_reason(client, pictures, content, reason):
    status = wait(client, post(client, content, pictures[1]))
    assert status["state"] == "failed"
    assert re.match(reason, status["error"])
    assert "\n" not in status["error"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", ""),
        (b"not multipart", "multipart/form-data; boundary=x"),
        (TEXT_FIELD, "multipart/form-data; boundary=x"),
        (b"", "multipart/form-data"),
        (b"{}", "application/json"),
        (b"image0=a&image1=b", "application/x-www-form-urlencoded"),
    ],
)
def test_malformed_requests_are_refused(client, content, kind):
    answer = client.post("/matches", content=content, headers={"Content-Type": kind})
    assert answer.status_code == 400
    assert "error" in answer.json()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("?max_pixels=0", "max_pixels must be a whole number from 1 to 1000000000, got '0'"),
        ("?max_matches=", "max_matches must be a whole number from 1 to 1000000, got ''"),
        ("?mirrored=yes", "mirrored must be 0 or 1, got 'yes'"),
        ("?bandwidth=3", "bandwidth: there is no such setting; the settings are max_pixels, max_matches,"),
        ("?view_synthesis=1", "view_synthesis needs two pictures"),
    ],
)
def test_wrong_settings_are_refused(client, pictures, settings, reason):
    answer = post(client, pictures[0], settings=settings)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(reason)


def test_other_names_of_the_server_are_refused(client):
    """A site whose name leads to this machine could otherwise read results through the user's browser."""
    assert client.get("/", headers={"Host": "other.example"}).status_code == 400


def test_match_is_killed_at_the_time_limit(pictures):
    with serving(0.01) as client:
        status = wait(client, post(client, *pictures))
        assert status["error"] == "the match took more than 0.01 s and was stopped"
        assert not multiprocessing.active_children()
        assert not list(Path(tempfile.gettempdir()).glob(f"gdl-match-serve-*/{status['id']}"))


def test_deleted_match_is_killed_and_the_next_one_begins(client, pictures):
    answers = [post(client, *pictures) for _ in range(3)]
    numbers = [answer.json()["id"] for answer in answers]
    (process,) = wait_for(multiprocessing.active_children)
    assert client.get(f"/matches/{numbers[2]}").json()["before"] == 1
    for number in numbers[:2]:
        folder = folder_of(number)
        assert client.delete(f"/matches/{number}").status_code == 204
        assert not folder.exists()
    assert not process.is_alive()
    assert wait(client, answers[2])["state"] == "done"


def test_died_process_is_reported(client, pictures):
    answer = post(client, *pictures)
    wait_for(multiprocessing.active_children)[0].kill()
    assert wait(client, answer)["error"] == (
        "the process that matched the pictures died, perhaps for lack of memory"
    )


def test_old_results_are_deleted(client, monkeypatch):
    monkeypatch.setattr(matches, "N_KEPT", 1)
    numbers = [wait(client, post(client, b"no picture"))["id"] for _ in range(2)]
    wait_for(lambda: client.get(f"/matches/{numbers[0]}").status_code == 404)
    assert client.get(f"/matches/{numbers[1]}").status_code == 200


def test_page_names_all_stages_files_and_fields():
    static = files("matching.serve") / "static"
    script = (static / "page.js").read_text(encoding="utf-8")
    steps = {*list_steps(MatchConfig(view_synthesis=True)), *one_picture.STEPS, "files"}
    assert all(f" {step}: " in script for step in steps)
    assert all(f'"{name}": ' in script for name in ALWAYS)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--port", "70000"], "must be a whole number from 0 to 65535, got '70000'"),
        (["--max-seconds", "0"], "must be a whole number"),
        (["--host", "192.0.2.1"], "--host 192.0.2.1 --port 8765: "),
        (["picture.jpg"], "unrecognized arguments: picture.jpg"),
    ],
)
def test_bad_options_are_reported_in_one_line(arguments, reason, capsys):
    assert main(["serve", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("gdl-match serve: error: ")
    assert reason in error
    assert error.count("\n") == 1


def start_server(folder):
    """A server's process, whose temporary files are in the folder, and its address."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), "serve", "--port", "0", "--max-seconds", str(PATIENCE)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
        start_new_session=True,
    )
    return process, process.stdout.readline().split()[0].rstrip("/")


def processes_with(folder):
    """The processes whose temporary files are in a folder."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"TMPDIR={folder}".encode() in environment.read_bytes().split(b"\0"):
                found.append(environment.parent.name)
        except OSError:  # it has ended, or is of another user
            continue
    return found


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_server_leaves_nothing(pictures, tmp_path, number):
    process, address = start_server(tmp_path)
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:
        answer = post(client, *pictures)
        wait_for(lambda: client.get(f"/matches/{answer.json()['id']}").json()["state"] != "waiting")
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does
    else:
        process.send_signal(number)
    output, _ = process.communicate(timeout=PATIENCE)
    assert output == ""
    wait_for(lambda: not processes_with(tmp_path))
    assert process.returncode == 0
    assert not [*tmp_path.glob("gdl-match-serve-*"), *tmp_path.glob("pymp-*")]


def read_download(page, link):
    with page.expect_download() as download:
        page.get_by_role("link", name=link).click()
    return download.value.suggested_filename, Path(download.value.path()).read_text()


def choose_file(page, k, path):
    """Choose a file for the k-th place. The page hears of it later, and then gives up what it is matching."""
    page.locator("input[type=file]").nth(k).set_input_files(path)
    page.locator(".drop .name").nth(k).filter(has_text=path.name).wait_for()


def test_page_in_a_browser(client, tmp_path):
    front = skimage.data.astronaut()[100:400, :320]
    side = tilt_picture(front, 8.0, 0.2, np.random.default_rng(0))[0]
    for name, content in (("front", png(front)), ("side", png(side)), ("text", b"no picture")):
        (tmp_path / f"{name}.png").write_bytes(content)
    with browser_page(viewport={"width": 1280, "height": 800}) as page:
        page.goto(str(client.base_url))
        button = page.get_by_role("button", name="Find common objects")
        names = page.locator(".drop .name")
        result, alert = page.locator("#told"), page.get_by_role("alert")
        assert button.is_disabled()

        # the sample pair: its result is in the window
        page.get_by_role("button", name="Try a sample pair").click()
        result.filter(has_text="2 objects in both").wait_for()
        box = page.locator("#report").bounding_box()
        assert page.evaluate("scrollY") == 0
        assert box["y"] + box["height"] <= 800
        assert box["height"] > 500
        report = page.frame_locator("#report")
        assert report.locator(".comparison.over").count() == 2  # of both objects
        report.get_by_role("button", name="Object 1").click()
        assert "Object 1 singled out" in report.locator(".told").inner_text()
        name, text = read_download(page, "Objects (JSON)")
        assert name == "sample0-sample1-matches.json"
        assert len(json.loads(text)["objects"]) == 2

        # other pictures: the result is gone
        page.get_by_role("button", name="Swap the pictures").click()
        assert names.all_inner_texts() == ["sample1.jpg", "sample0.jpg"]
        assert page.locator("#result").is_hidden()
        page.get_by_role("button", name="Clear").click()
        assert names.all_inner_texts() == ["", ""]
        assert button.is_disabled()

        # an error, then nothing found, then a harder look, with other settings
        choose_file(page, 0, tmp_path / "front.png")
        assert page.get_by_role("button", name="Find what it shows more than once").is_enabled()
        choose_file(page, 1, tmp_path / "text.png")
        button.click()
        alert.wait_for()
        assert alert.inner_text() == "text.png: is not a picture that can be read."
        choose_file(page, 1, tmp_path / "side.png")
        page.get_by_text("Options").click()
        page.get_by_label("Maximum megapixels").fill("-1")
        button.click()
        assert alert.inner_text() == ("“Maximum megapixels” must be a number from 0.01 to 1000, or empty.")
        page.get_by_label("Maximum megapixels").fill("0.5")
        page.get_by_label("Find mirrored objects of any size").check()
        button.click()
        result.filter(has_text="No common object").wait_for()
        assert "--" not in page.locator("#lines").inner_text()  # the page has no options of the command
        page.get_by_role("button", name="Look harder").click()
        result.filter(has_text="1 object in both").wait_for()
        parameters = json.loads(read_download(page, "Objects (JSON)")[1])["parameters"]
        assert parameters["max_pixels"] == 500_000
        assert parameters["mirrored"]

        # a match whose page is left is stopped
        with page.expect_request("**/matches/*") as asked:
            button.click()
        page.goto("about:blank")
        wait_for(lambda: client.get(asked.value.url).status_code == 404)
        assert page.complaints == []


def test_page_on_a_telephone(client, tmp_path):
    """Files that are dropped, and a report that is shown at its full height."""
    scrolling = """() => [...document.querySelectorAll("*")].filter((node) => {
        const { overflowX, overflowY } = getComputedStyle(node);
        const scrolls = (overflow, size, room) => /auto|scroll/.test(overflow) && size > room + 1;
        return node !== document.documentElement && (scrolls(overflowX, node.scrollWidth, node.clientWidth)
            || scrolls(overflowY, node.scrollHeight, node.clientHeight));
    }).map((node) => node.className)"""
    drop = """([target, names]) => {
        const dataTransfer = new DataTransfer();
        for (const name of names) dataTransfer.items.add(new File(["x"], name));
        document.querySelector(target).dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
    }"""
    (tmp_path / "shelf.png").write_bytes(png(np.hstack([object_pair()[0]] * 2)))
    with browser_page(viewport={"width": 390, "height": 800}) as page:
        page.goto(str(client.base_url))
        names = page.locator(".drop .name")
        for target, dropped, shown in (
            (".drop:nth-child(2)", ["right.png"], ["", "right.png"]),  # one: where it is dropped
            ("h1", ["left.png"], ["left.png", "right.png"]),  # or in the place that is free
            ("body", ["a.png", "b.png", "c.png"], ["a.png", "b.png"]),  # two: both places
        ):
            page.evaluate(drop, [target, dropped])
            assert names.all_inner_texts() == shown
        page.get_by_role("button", name="Clear").click()
        choose_file(page, 0, tmp_path / "shelf.png")
        page.locator("button.main").click()
        page.locator("#result").wait_for()
        page.frame_locator("#report").locator("footer").wait_for()
        report = page.frames[-1]
        report.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        wait_for(lambda: report.evaluate("document.documentElement.scrollHeight <= innerHeight"))
        assert report.evaluate(scrolling) == page.evaluate(scrolling) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.complaints == []
