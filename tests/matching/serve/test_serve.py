"""The page's server, asked as a browser or anything else would ask it."""

import asyncio
import io
import json
import os
import re
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
import skimage.data
from browser import browser_page
from patience import PATIENCE
from PIL import Image
from planting import crops, object_pair

pytest.importorskip("fastapi", reason="the page needs FastAPI")
httpx = pytest.importorskip("httpx", reason="the tests of the page need httpx")

from eval.matching.photographs.extreme_views import tilt_picture  # noqa: E402
from matching import MatchConfig, match  # noqa: E402
from matching.cli.commands.serve import main  # noqa: E402
from matching.pipelines import repeats  # noqa: E402
from matching.pipelines.pair import list_stages  # noqa: E402
from matching.serve.app import name_download  # noqa: E402
from matching.serve.jobs import FILES  # noqa: E402
from matching.serve.limits import Limits, Refusal  # noqa: E402
from matching.serve.uploads import clean_name  # noqa: E402
from matching.serve.worker import check, is_out_of_memory  # noqa: E402

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "match.py"


def png(array):
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, "PNG")
    return buffer.getvalue()


@cache
def bomb(side=14200):
    """A PNG of 202 megapixels in a few hundred kilobytes."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(side + 1)) for _ in range(side)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def pictures():
    return [png(picture) for picture in object_pair()]


@pytest.fixture(scope="module")
def server():
    """The address of a server that takes at most 4 MB and 25 megapixels, with a queue of 4."""
    process = subprocess.Popen(
        [
            *(sys.executable, str(SCRIPT), "serve", "--port", "0", "--max-upload", "4", "--queue", "4"),
            *("--max-seconds", str(PATIENCE), "--max-pixels", "25"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield Server(line.split()[0].rstrip("/"), process)
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in errors


class Server:
    def __init__(self, address, process):
        self.address, self.process = address, process

    def post(self, *files, settings="", **options):
        named = {
            f"image{k}": file if isinstance(file, tuple) else (f"p{k}.png", file)
            for k, file in enumerate(files)
        }
        return httpx.post(f"{self.address}/matches{settings}", files=named, timeout=PATIENCE, **options)

    def get(self, path, **options):
        return httpx.get(self.address + path, timeout=PATIENCE, **options)

    def wait(self, number):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            status = self.get(f"/matches/{number}").json()
            if status["state"] in ("done", "failed"):
                return status
            time.sleep(0.1)
        raise AssertionError(status)

    def processor_seconds(self):
        """Seconds that the server's own process has computed."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Megabytes that the server's own process holds, and the most that it ever held."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return [int(re.search(rf"{name}:\s+(\d+) kB", text)[1]) / 1000 for name in ("VmRSS", "VmHWM")]


def test_two_pictures_become_results(server, pictures, tmp_path):
    answer = server.post(("../../a b.png", pictures[0]), ("<b>.png", pictures[1]))
    assert answer.status_code == 202
    number = answer.json()["id"]
    status = server.wait(number)
    assert status["state"] == "done"
    assert status["told"].startswith("2 objects in both")
    assert status["files"] == list(FILES)
    assert status["lines"] == []  # neither picture as a whole is in the other
    summary = server.get(f"/matches/{number}/matches.json").json()
    assert [image["path"] for image in summary["images"]] == ["a b.png", "<b>.png"]
    page = server.get(f"/matches/{number}/matches.html")
    assert "&lt;b&gt;.png" in page.text
    assert "<b>.png" not in page.text
    assert "sandbox" in page.headers["content-security-policy"]
    with np.load(io.BytesIO(server.get(f"/matches/{number}/matches.npz").content)) as data:
        expected = match(*object_pair())
        assert all(np.array_equal(data[name], getattr(expected, name)) for name in ("xy0", "xy1", "cluster"))
    figure = server.get(f"/matches/{number}/matches.png")
    assert figure.headers["content-disposition"].startswith("attachment")
    assert Image.open(io.BytesIO(figure.content)).height == 440
    assert server.get(f"/matches/{number}/upload0").status_code == 404
    assert server.get(f"/matches/{number}/..%2f..%2fupload0").status_code == 404
    assert httpx.delete(f"{server.address}/matches/{number}").status_code == 204
    assert server.get(f"/matches/{number}").status_code == 404


def test_uploads_are_gone_after_the_match(server, pictures):
    number = server.post(*pictures).json()["id"]
    server.wait(number)
    (folder,) = Path(tempfile.gettempdir()).glob(f"gdl-match-*/{number}")
    assert not list(folder.glob("upload*"))
    assert (folder / "matches.npz").exists()
    httpx.delete(f"{server.address}/matches/{number}")
    assert not folder.exists()


@pytest.mark.parametrize(
    ("first", "status", "reason"),
    [
        (b"just a text", 415, "p0.png: is not a picture in a supported format"),
        (b"", 415, "p0.png: is not a picture"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", 415, "is not a picture in a supported format"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>", 415, "is not a picture"),
        (png(np.zeros((5001, 5000), np.uint8)), 413, "at most 25 megapixels; this one has 25.0"),
    ],
    ids=["text", "empty", "eps", "svg", "large"],
)
def test_what_is_not_taken_is_told_why(server, pictures, first, status, reason):
    answer = server.post(first, pictures[1])
    assert answer.status_code == status
    assert reason in answer.json()["error"]


def test_a_bomb_is_refused_by_its_header(server, pictures):
    server.post(b"warm", pictures[1])
    before = server.memory()[1]
    for _ in range(3):
        answer = server.post(bomb(), pictures[1])
        assert answer.status_code == 413
        assert "at most 25 megapixels" in answer.json()["error"]
    assert server.memory()[1] < before + 60  # MB; the picture would be 202


def test_a_damaged_picture_fails_alone(server, pictures):
    number = server.post(pictures[0][: len(pictures[0]) // 2], pictures[1]).json()["id"]
    status = server.wait(number)
    assert status["state"] == "failed"
    assert re.match(r"p0\.png: (damaged|.*truncated)", status["error"])
    assert server.wait(server.post(*pictures).json()["id"])["state"] == "done"


def test_too_many_bytes_are_refused(server, pictures):
    large = b"\xff\xd8\xff" + bytes(5_000_000)
    answer = server.post(large, pictures[1])
    assert (answer.status_code, answer.json()["error"]) == (
        413,
        "both pictures together may have at most 4 MB",
    )

    def without_a_length():
        head = b'--x\r\nContent-Disposition: form-data; name="image0"; filename="a"\r\n\r\n'
        yield head
        for _ in range(60):
            yield bytes(100_000)

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = httpx.post(
        f"{server.address}/matches", content=without_a_length(), headers=headers, timeout=PATIENCE
    )
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (b"", {}),
        (b"not multipart", {"Content-Type": "multipart/form-data; boundary=x"}),
        (b"{}", {"Content-Type": "application/json"}),
        (b"image0=a&image1=b", {"Content-Type": "application/x-www-form-urlencoded"}),
        (b"", {"Content-Type": "multipart/form-data"}),
    ],
)
def test_other_requests_are_bad_requests(server, content, headers):
    answer = httpx.post(f"{server.address}/matches", content=content, headers=headers, timeout=PATIENCE)
    assert answer.status_code == 400
    assert "error" in answer.json()


@pytest.mark.parametrize("charset", ["", "; charset=punycode", "; charset=undefined", "; charset=utf-8"])
def test_text_is_not_decoded(server, charset):
    field = b'--x\r\nContent-Disposition: form-data; name="image0"\r\n\r\n%s\r\n--x--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=x" + charset}
    before = server.processor_seconds()
    answer = httpx.post(
        f"{server.address}/matches", content=field % (b"a-" * 200_000), headers=headers, timeout=PATIENCE
    )
    assert answer.status_code == 400
    assert "error" in answer.json()
    assert server.processor_seconds() < before + 2  # decoding it as punycode takes longer


@pytest.mark.parametrize("boundary", ["", "b" * 71, "\xff\xfe", '"x'])
def test_odd_boundaries_are_bad_requests(server, boundary):
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}".encode("latin-1")}
    answer = httpx.post(f"{server.address}/matches", content=b"--x", headers=headers, timeout=PATIENCE)
    assert answer.status_code == 400


def test_fifty_at_once_get_clear_answers(server, pictures):
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: server.post(*pictures), range(50)))
    assert {answer.status_code for answer in answers} <= {202, 503}
    taken = [answer.json()["id"] for answer in answers if answer.status_code == 202]
    done = sum(server.get(f"/matches/{number}").json()["state"] == "done" for number in taken)
    assert 4 <= len(taken) <= done + 1 + 4 + 4  # one runs, four wait, four uploads go on beside
    for answer in answers:
        if answer.status_code == 503:
            assert "the server is busy" in answer.json()["error"]
            assert int(answer.headers["retry-after"]) > 0
    assert all(server.wait(number)["state"] == "done" for number in taken)
    assert server.memory()[1] < 400
    assert server.get("/").status_code == 200


def test_other_sites_can_not_reach_it(server, pictures):
    assert server.get("/", headers={"Host": "evil.example"}).status_code == 400
    for origin in ("http://evil.example", "null", "http://[::1", "http://", "", "file://"):
        assert server.post(*pictures, headers={"Origin": origin}).status_code == 403
    answer = server.post(*pictures, headers={"Origin": server.address})
    assert answer.status_code == 202
    server.wait(answer.json()["id"])
    headers = server.get("/").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert server.get("/docs").status_code == server.get("/openapi.json").status_code == 404


def test_it_listens_on_this_machine_alone(server):
    assert server.address.startswith("http://127.0.0.1:")
    table = Path(f"/proc/{server.process.pid}/net/tcp").read_text()
    port = f"{int(server.address.rsplit(':', 1)[1]):04X}"
    listening = [line.split()[1] for line in table.splitlines() if f":{port} 00000000:0000 0A" in line]
    assert listening == [f"0100007F:{port}"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--port", "70000"], "must be a whole number from 0 to 65535, got '70000'"),
        (["--port", "x"], "must be a whole number from 0 to 65535, got 'x'"),
        (["--queue", "0"], "must be a whole number"),
        (["--host", "192.0.2.1"], "--host 192.0.2.1 --port 8765: "),
        (["picture.jpg"], "unrecognized arguments: picture.jpg"),
    ],
)
def test_bad_options(arguments, reason, capsys):
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert told.startswith("gdl-match serve: error: ")
    assert reason in told
    assert told.count("\n") == 1


def test_uploads_that_break_off_give_their_places_back(server, pictures):
    address = urlsplit(server.address)
    head = (
        f"POST /matches HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 1000\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
    )
    with ExitStack() as stack:
        for _ in range(6):  # the queue has four places
            connection = stack.enter_context(socket.create_connection((address.hostname, address.port)))
            connection.sendall(head.encode())
        while server.post(*pictures).status_code != 503:
            time.sleep(0.05)
    while (answer := server.post(*pictures)).status_code != 202:
        assert answer.status_code == 503
        time.sleep(0.05)
    server.wait(answer.json()["id"])  # and the log has no traceback, see `server`


def test_names_are_only_shown():
    assert [clean_name(n) for n in ("../a", "C:\\x\\b.png", "a\nb", "/", "..", "x" * 200)] == [
        "a", "b.png", "ab", "picture", "picture", "x" * 80,
    ]  # fmt: skip


def test_headers_of_any_kind_are_answered(tmp_path):
    rng = np.random.default_rng(0)
    start = png(np.zeros((9, 9, 3), np.uint8))
    for k in range(200):
        data = bytearray(start)
        for at in rng.integers(0, 60, 5):
            data[at] = rng.integers(256)
        path = tmp_path / f"{k}"
        path.write_bytes(data)
        refused = check(None, str(path), "p", Limits().pixels)
        assert refused is None or refused[0] in (413, 415)


def chunks_without_end(kind=b"prVt", n=2_000_000):
    """A PNG whose header is followed by many empty chunks."""
    chunk = struct.pack(">I", 0) + kind + struct.pack(">I", zlib.crc32(kind))
    return png(np.zeros((9, 9), np.uint8))[:33] + chunk * n


@pytest.mark.parametrize(
    ("seconds", "megabytes", "reason"),
    [(0.3, 1000, "takes too long to read"), (PATIENCE, 90, "takes too much memory")],
)
def test_a_header_takes_bounded_time_and_memory(seconds, megabytes, reason, tmp_path):
    from matching.serve.jobs import Jobs

    limits = Limits(check_seconds=seconds, check_memory=megabytes * 10**6)
    (tmp_path / "evil").write_bytes(chunks_without_end())
    (tmp_path / "good").write_bytes(png(np.zeros((9, 9), np.uint8)))

    async def run():
        async with Jobs(limits).running() as jobs:
            with pytest.raises(Refusal, match=reason) as refusal:
                await jobs.check(tmp_path / "evil", "evil.png")
            assert refusal.value.status == 415
            jobs.limits = replace(limits, check_seconds=PATIENCE)  # the good one is to take any time
            await jobs.check(tmp_path / "good", "good.png")

    asyncio.run(run())


def test_lack_of_memory_is_recognised_behind_another_error():
    def raised(cause: Exception) -> Exception:
        try:
            try:
                raise cause
            except Exception as error:
                raise SystemError(
                    "<built-in function cvtColor> returned a result with an exception set"
                ) from error
        except SystemError as error:
            return error

    assert is_out_of_memory(raised(MemoryError("Unable to allocate 5.91 MiB")))
    assert is_out_of_memory(raised(RuntimeError("Insufficient memory")))
    assert not is_out_of_memory(raised(ValueError("no picture")))


def test_a_match_takes_bounded_memory(pictures, tmp_path):
    from matching.serve.processes import Died, Failed, Worker

    limits = Limits(match_seconds=PATIENCE)
    for k in range(2):
        (tmp_path / f"upload{k}").write_bytes(png(np.tile(object_pair()[0], (8, 8, 1))))

    async def run():
        worker = Worker("match", limits.match_memory)
        process = await worker._start()
        try:
            assert resource.prlimit(process.pid, resource.RLIMIT_AS)[0] == limits.match_memory
            used = int(re.search(r"VmSize:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())[1])
            resource.prlimit(process.pid, resource.RLIMIT_AS, (1024 * used + 150_000_000,) * 2)
            with pytest.raises((Failed, Died)) as failure:
                await worker.ask({"folder": str(tmp_path), "names": ["a", "b"]}, PATIENCE)
            assert str(failure.value) in ("memory", "")  # or a library gave up
            assert process.returncode is not None
        finally:
            await worker.end()

    asyncio.run(run())


async def ended_job(jobs, pictures):
    """The job of two uploads after its match."""
    async with jobs.slot() as job:
        for k, picture in enumerate(pictures):
            (job.folder / f"upload{k}").write_bytes(picture)
        job.names = ["a", "b"]
    while job.ended is None:
        await asyncio.sleep(0.05)
    return job


def test_results_are_deleted_after_a_while(pictures, monkeypatch):
    from matching.serve import jobs as module
    from matching.serve.jobs import Jobs

    monkeypatch.setattr(module, "SWEEP", 0.05)

    async def run():
        async with Jobs(Limits(match_seconds=PATIENCE)).running() as jobs:
            job = await ended_job(jobs, pictures)
            assert (job.folder / "matches.npz").exists()
            job.ended -= 901  # a quarter of an hour ago
            while job.folder.exists():
                await asyncio.sleep(0.05)
            with pytest.raises(Refusal, match="there is no such match"):
                jobs.find(job.id)
            root = job.folder.parent
        assert not root.exists()

    asyncio.run(run())


def test_a_match_that_takes_too_long_is_stopped(pictures):
    from matching.serve.jobs import Jobs

    async def run():
        async with Jobs(Limits(match_seconds=0.05)).running() as jobs:
            job = await ended_job(jobs, pictures)
            assert jobs.status(job)["error"] == "the match took more than 0.05 s and was stopped"
            assert not job.folder.exists()

    asyncio.run(run())


def test_pictures_can_be_dropped_on_the_page(server):
    files = """(names) => {
        const held = new DataTransfer();
        for (const name of names) held.items.add(new File(["x"], name, { type: "image/png" }));
        return held;
    }"""
    with browser_page(viewport={"width": 390, "height": 800}) as page:
        page.goto(server.address)
        places = page.locator(".drop")
        button = page.get_by_role("button", name="Find common objects")

        def drop(target, *names):
            held = page.evaluate_handle(files, list(names))
            page.locator(target).first.dispatch_event("drop", {"dataTransfer": held})

        assert button.is_disabled()
        drop(".drop:nth-child(2)", "right.png")  # one: where it is dropped
        assert [place.locator(".name").inner_text() for place in places.all()] == ["", "right.png"]
        assert page.get_by_role("button", name="Find what it shows more than once").is_enabled()
        drop("h1", "left.png")  # or in the place that is free
        assert [place.locator(".name").inner_text() for place in places.all()] == ["left.png", "right.png"]
        assert button.is_enabled()
        drop("body", "a.png", "b.png", "c.png")  # two: both places
        assert [place.locator(".name").inner_text() for place in places.all()] == ["a.png", "b.png"]
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_page_in_a_browser(server, pictures, tmp_path):
    for k, picture in enumerate(pictures):
        (tmp_path / f"p{k}.png").write_bytes(picture)
    (tmp_path / "text.png").write_text("no picture")
    with browser_page(viewport={"width": 1000, "height": 900}) as page:
        page.goto(server.address)
        button = page.get_by_role("button", name="Find common objects")
        assert button.is_disabled()
        inputs = page.locator("input[type=file]")
        inputs.nth(0).set_input_files(tmp_path / "p0.png")
        inputs.nth(1).set_input_files(tmp_path / "text.png")
        button.click()
        alert = page.get_by_role("alert")
        alert.wait_for()
        assert "is not a picture in a supported format" in alert.inner_text()
        page.complaints.clear()  # the browser logs the 415 and the preview that is none
        inputs.nth(1).set_input_files(tmp_path / "p1.png")
        button.click()
        page.locator("#result").wait_for()
        told = page.locator("#told").inner_text()
        assert told.startswith("2 objects in both")
        report = page.frame_locator("#report")
        report.get_by_role("button", name="Object 1").click()
        assert "Object 1 singled out" in report.locator(".told").inner_text()
        with page.expect_download() as download:
            page.get_by_role("link", name="Objects (JSON)").click()
        assert len(json.loads(Path(download.value.path()).read_text())["objects"]) == 2
        inputs.nth(1).set_input_files(tmp_path / "p0.png")  # the result was of another picture
        assert page.locator("#result").is_hidden()
        assert page.locator("iframe").count() == page.locator("#files a").count() == 0
        assert button.is_enabled()
        button.click()
        page.locator("#result").wait_for()
        assert page.locator("#told").inner_text() != told
        page.go_back()  # leads to no earlier report
        assert page.url == "about:blank"
        assert page.complaints == []


def test_the_page_looks_harder_where_nothing_is_found(server, tmp_path):
    """At simulated views of a picture and the same picture seen from the side."""
    front = skimage.data.astronaut()[100:400, :320]
    side = tilt_picture(front, 6.0, 0.2, np.random.default_rng(0))[0]
    for k, image in enumerate((front, side)):
        (tmp_path / f"p{k}.png").write_bytes(png(image))
    with browser_page() as page:
        page.goto(server.address)
        for k, place in enumerate(page.locator("input[type=file]").all()):
            place.set_input_files(tmp_path / f"p{k}.png")
        page.get_by_role("button", name="Find common objects").click()
        page.locator("#result").wait_for()
        assert page.locator("#told").inner_text() == "No common object"
        lines = page.locator("#lines").inner_text()  # what the page has, not the command's options
        assert "“Look harder” also matches simulated views" in lines
        assert "--" not in lines
        assert page.frame_locator("#report").locator("header").is_hidden()
        page.get_by_role("button", name="Look harder").click()
        page.locator("#told", has_text="1 object in both").wait_for(timeout=1000 * PATIENCE)
        assert page.get_by_role("button", name="Look harder").count() == 0
        assert page.complaints == []


def test_a_sample_pair_shows_its_result_in_the_window(server):
    with browser_page(viewport={"width": 1280, "height": 800}) as page:
        page.goto(server.address)
        page.get_by_role("button", name="Try a sample pair").click()
        page.locator("#result").wait_for()
        assert page.locator("#told").inner_text().startswith("2 objects in both")
        box = page.locator("#report").bounding_box()
        assert page.evaluate("scrollY") == 0
        assert box["y"] + box["height"] <= 800
        assert box["height"] > 500
        report = page.frame_locator("#report")
        assert report.locator(".warps img").count() == 4  # both objects, both ways
        with page.expect_download() as download:
            page.get_by_role("link", name="Objects (JSON)").click()
        assert download.value.suggested_filename == "sample0-sample1-matches.json"
        names = page.locator(".drop .name")
        page.get_by_role("button", name="Swap the pictures").click()
        assert names.all_inner_texts() == ["sample1.jpg", "sample0.jpg"]
        assert page.locator("#result").is_hidden()
        page.get_by_role("button", name="Clear").click()
        assert names.all_inner_texts() == ["", ""]
        assert page.get_by_role("button", name="Find common objects").is_disabled()
        assert page.get_by_role("button", name="Swap the pictures").is_disabled()
        assert page.complaints == []


def test_downloads_are_named_after_the_pictures():
    shown = name_download(["Größe.v2.jpg", "b.png"], "matches.npz")
    assert shown == "Größe.v2-b-matches.npz"


def heic(folder, size):
    pillow_heif = pytest.importorskip("pillow_heif")
    path = folder / "upload"
    pillow_heif.from_pillow(Image.new("RGB", size, "grey")).save(path, quality=30)
    return str(path)


def test_heic_is_taken_where_it_can_be_read(tmp_path, monkeypatch):
    path = heic(tmp_path, (200, 100))
    assert check(None, path, "p.heic", 20_000) is None
    assert check(None, path, "p.heic", 19_999)[0] == 413
    monkeypatch.setattr("matching.pictures.formats.find_spec", lambda name: None)
    status, reason = check(None, path, "p.heic", 20_000)
    assert status == 415
    assert "HEIC" not in reason


def test_a_damaged_heic_is_told(tmp_path):
    path = Path(heic(tmp_path, (200, 100)))
    path.write_bytes(path.read_bytes()[:60])
    assert check(None, str(path), "p.heic", 20_000) == (415, "p.heic: is a damaged picture")


def test_pictures_of_telephones_are_taken(tmp_path):
    Image.new("L", (8160, 6120)).save(tmp_path / "p", "PNG")
    assert check(None, str(tmp_path / "p"), "p.png", Limits().pixels) is None


def test_a_picture_changed_during_a_match_ends_it(server, pictures, tmp_path):
    for k, picture in enumerate(pictures):
        (tmp_path / f"p{k}.png").write_bytes(picture)
    with browser_page() as page:
        page.goto(server.address)
        button = page.get_by_role("button", name="Find common objects")
        inputs = page.locator("input[type=file]")
        for k in range(2):
            inputs.nth(k).set_input_files(tmp_path / f"p{k}.png")
        page.route(  # no news of the match
            "**/matches/*", lambda route: route.request.method == "GET" or route.continue_()
        )
        with page.expect_response("**/matches"), page.expect_request("**/matches/*"):
            button.click()
        with page.expect_request(lambda request: request.method == "DELETE"):
            inputs.nth(0).set_input_files(tmp_path / "p1.png")
        page.unroute("**/matches/*")
        assert page.locator("#progress").is_hidden()
        assert page.locator("#result").is_hidden()
        button.click()
        page.locator("#result").wait_for()
        with page.expect_download() as download:
            page.get_by_role("link", name="Objects (JSON)").click()
        images = json.loads(Path(download.value.path()).read_text())["images"]
        assert [image["path"] for image in images] == ["p1.png", "p1.png"]
        assert page.complaints == []


def test_a_machine_without_the_kind_of_address_is_told_of(monkeypatch, capsys):
    pytest.importorskip("uvicorn")

    def unknown(*_):
        raise OSError(97, "Address family not supported by protocol")

    with monkeypatch.context() as patch:
        patch.setattr(socket, "socket", unknown)
        status = main(["--host", "::1", "--port", "0"])
    assert status == 2
    assert capsys.readouterr().err == (
        "gdl-match serve: error: --host ::1 --port 0: Address family not supported by protocol\n"
    )


def test_the_stages_of_a_match_are_those_that_the_page_names():
    page = (files("matching.serve") / "static" / "page.js").read_text(encoding="utf-8")
    stages = {*list_stages(MatchConfig(view_synthesis=True)), *repeats.NAMES, "files"}
    assert all(f" {stage}: " in page for stage in stages)
    assert all(f'"{name}": ' in page for name in FILES)


def test_one_picture_shows_what_it_has_more_than_once(server, tmp_path):
    scene = np.hstack([object_pair()[0], object_pair()[0]])
    number = server.post(("shelf.png", png(scene))).json()["id"]
    status = server.wait(number)
    assert status["told"].startswith("1 thing that appears more than once")
    assert status["lines"] == ["thing 0: 2 places"]
    assert status["files"] == [name for name in FILES if name != "database.db"]
    summary = server.get(f"/matches/{number}/matches.json").json()
    assert [image["path"] for image in summary["images"]] == ["shelf.png"] * 2
    told = server.get(f"/matches/{number}/labels-coco.json").json()
    assert [entry["name"] for entry in told["categories"]] == ["thing 0"]
    lefts = sorted(entry["bbox"][0] for entry in told["annotations"])
    assert lefts[1] - lefts[0] == pytest.approx(scene.shape[1] / 2, abs=5)
    flat = server.wait(server.post(("flat.png", png(scene[:20, :20] * 0))).json()["id"])
    assert flat["lines"] == ["flat.png: no features: it is too small, flat, transparent or masked"]
    answer = server.post(png(scene), settings="?view_synthesis=1")
    assert (answer.status_code, answer.json()["error"]) == (400, "view_synthesis needs two pictures")


def test_copies_are_counted_and_labelled(server):
    own = crops()
    shelf = np.hstack([own["astronaut"], own["coffee"], own["astronaut"]])
    number = server.post(("front.png", png(own["astronaut"])), ("shelf.png", png(shelf))).json()["id"]
    assert server.wait(number)["lines"][0] == "front: 2 copies (objects 0, 1)"
    rows = server.get(f"/matches/{number}/labels.csv").text.splitlines()
    assert [row.split(",")[1] for row in rows] == ["class", "front", "front"]


def test_labels_and_other_formats_are_downloaded(server, pictures):
    """The first picture of the pair is no single thing, so its parts have the names of things."""
    number = server.post(("left.png", pictures[0]), ("right.png", pictures[1])).json()["id"]
    server.wait(number)

    def read(name):
        answer = server.get(f"/matches/{number}/{name}")
        assert answer.headers["content-disposition"].startswith("attachment")
        assert f"left-right-{name}" in answer.headers["content-disposition"]
        return answer

    (image,) = read("labels-coco.json").json()["images"]
    assert image["file_name"] == "right.png"
    shapes = read("labels-labelme.json").json()["shapes"]
    assert {shape["label"] for shape in shapes} == {"thing 0 of left", "thing 1 of left"}
    assert read("labels-labelme.json").json()["imagePath"] == "right.png"
    rows = read("labels.csv").text.splitlines()
    assert len(rows) == 3
    assert "<filename>right.png</filename>" in read("labels-voc.xml").text
    with zipfile.ZipFile(io.BytesIO(read("labels-yolo.zip").content)) as archive:
        assert archive.namelist() == ["labels/right.txt", "data.yaml"]
        assert len(archive.read("labels/right.txt").splitlines()) == 2
    assert read("matches.csv").text.startswith("object,x0,y0,x1,y1,score")
    assert read("database.db").content.startswith(b"SQLite format 3")
    same = server.post(("a.png", pictures[0]), ("a.png", pictures[1])).json()["id"]
    assert "database.db" not in server.wait(same)["files"]  # COLMAP needs two names


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("?max_pixels=0", "max_pixels must be a whole number from 1 to 1000000000, got '0'"),
        ("?max_pixels=1e6", "max_pixels must be a whole number"),
        ("?max_matches=", "max_matches must be a whole number from 1 to 1000000, got ''"),
        ("?mirrored=yes", "mirrored must be 0 or 1, got 'yes'"),
        ("?bandwidth=3", "bandwidth: there is no such setting; the settings are max_pixels, max_matches,"),
    ],
)
def test_wrong_settings_are_refused(server, pictures, settings, reason):
    answer = server.post(*pictures, settings=settings)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(reason)


def test_the_settings_of_the_page_are_those_of_the_match(server, pictures, tmp_path):
    for k, picture in enumerate(pictures):
        (tmp_path / f"p{k}.png").write_bytes(picture)
    with browser_page() as page:
        page.goto(server.address)
        for k, place in enumerate(page.locator("input[type=file]").all()):
            place.set_input_files(tmp_path / f"p{k}.png")
        page.get_by_text("Options").click()
        field = page.get_by_label("Maximum megapixels")
        field.fill("-1")
        page.get_by_text("Options").click()  # a field that can't be seen is told of, too
        page.get_by_role("button", name="Find common objects").click()
        page.get_by_role("alert").wait_for()
        assert page.get_by_role("alert").inner_text() == (
            "“Maximum megapixels” must be a number from 0.01 to 1000, or empty."
        )
        page.get_by_text("Options").click()
        field.fill("0.1")
        page.get_by_label("Maximum candidates").fill("900")
        page.get_by_label("Also find mirrored objects").check()
        page.get_by_role("button", name="Find common objects").click()
        page.locator("#result").wait_for()
        assert "Matched at 0.1 of 0.1 and 0.1 of 0.2 megapixels." in page.locator("#lines").inner_text()
        with page.expect_download() as download:
            page.get_by_role("link", name="Objects (JSON)").click()
        parameters = json.loads(Path(download.value.path()).read_text())["parameters"]
        assert parameters["max_pixels"] == 100_000
        assert parameters["candidates"]["max_matches"] == 900
        assert parameters["mirrored"]
        assert page.complaints == []


SCROLLED = """() => [...document.querySelectorAll("*")].filter((node) => {
    const { overflowX, overflowY } = getComputedStyle(node);
    const scrolls = (overflow, size, room) => /auto|scroll/.test(overflow) && size > room + 1;
    return node !== document.documentElement && (scrolls(overflowX, node.scrollWidth, node.clientWidth)
        || scrolls(overflowY, node.scrollHeight, node.clientHeight));
}).map((node) => node.className)"""


@pytest.mark.parametrize("n", [1, 2])
def test_on_a_telephone_only_the_page_scrolls(server, pictures, tmp_path, n):
    (tmp_path / "p1.png").write_bytes(pictures[1])
    (tmp_path / "p0.png").write_bytes(png(np.hstack([object_pair()[0]] * 2)) if n == 1 else pictures[0])
    with browser_page(viewport={"width": 390, "height": 800}) as page:
        page.goto(server.address)
        for k in range(n):
            page.locator("input[type=file]").nth(k).set_input_files(tmp_path / f"p{k}.png")
        page.locator("button.main").click()
        page.locator("#result").wait_for()
        page.frame_locator("#report").locator("footer").wait_for()
        report = page.frames[-1]
        drawn = "0-1" if n == 1 else "Object 0"
        assert report.locator("figure.drawn").count() == (n == 1)  # the picture once, and first

        def shows_all():
            while not report.evaluate("document.documentElement.scrollHeight <= innerHeight"):
                page.wait_for_timeout(50)
            assert report.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert report.evaluate(SCROLLED) == page.evaluate(SCROLLED) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= 390

        shows_all()
        report.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        shows_all()
        assert drawn in report.locator(".objects tbody tr").first.inner_text()
        page.get_by_text("Labels and other formats").click()
        with page.expect_download() as download:
            page.get_by_role("link", name="Labels (CSV)").click()
        assert download.value.suggested_filename == ("p0-labels.csv" if n == 1 else "p0-p1-labels.csv")
        assert page.complaints == []


def test_hints_of_the_page_name_its_fields():
    from matching.grouping.rejections import REASONS
    from matching.serve.uploaded_pictures import _reword

    said = {stage: _reword(reason.hint) for stage, reason in REASONS.items()}
    assert said["graph"] == "try 6000 in “Maximum candidates”, or a larger picture"
    assert said["textures"] == "try cropping the texture out"
    assert said["evidence"] == ""
    assert not any("--" in text or "Python" in text for text in said.values())
    page = (files("matching.serve") / "static" / "index.html").read_text(encoding="utf-8")
    assert "Maximum candidates <input" in page
