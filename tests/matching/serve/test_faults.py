"""The page's server when the system denies it something, or a process or task of it dies."""

import asyncio
import errno
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from patience import PATIENCE

pytest.importorskip("fastapi", reason="the page needs FastAPI")
httpx = pytest.importorskip("httpx", reason="the tests of the page need httpx")
formparsers = pytest.importorskip("starlette.formparsers")

from matching.serve import jobs as jobs_module  # noqa: E402
from matching.serve import processes  # noqa: E402
from matching.serve.app import create_app  # noqa: E402
from matching.serve.folders import LOCK, PREFIX  # noqa: E402
from matching.serve.jobs import Jobs  # noqa: E402
from matching.serve.limits import Limits  # noqa: E402

QUEUE = 2
PAGE = ("matching.serve.", "starlette.formparsers", "shutil", "tempfile", "asyncio.subprocess")
CALLS = {  # every call of the page that opens, makes, deletes or allocates
    "random id": (secrets, "token_urlsafe"),
    "folder of all": (tempfile, "mkdtemp"),
    "folder": (Path, "mkdir"),
    "upload in memory": (formparsers, "SpooledTemporaryFile"),
    "open": (Path, "open"),
    "copy": (shutil, "copyfileobj"),
    "process": (asyncio, "create_subprocess_exec"),
    "message": (processes.json, "dumps"),
    "answer": (processes.json, "loads"),
    "read": (asyncio.StreamReader, "readline"),
    "task": (asyncio, "create_task"),
    "list": (Path, "iterdir"),
    "delete": (Path, "unlink"),
    "delete all": (shutil, "rmtree"),
    "size": (Path, "stat"),
    "size of open file": (os, "fstat"),
    "disk": (shutil, "disk_usage"),
}
LACKS = {"files": OSError(errno.EMFILE, "Too many open files"), "memory": MemoryError()}


class Fault:
    """Makes the k-th call from the page to a function fail, once."""

    def __init__(self, monkeypatch, place, name, error, k):
        self.called, self.failed = 0, False
        original = getattr(place, name)

        def call(*args, **options):
            if sys._getframe(1).f_globals.get("__name__", "").startswith(PAGE):
                self.called += 1
                if self.called == k:
                    self.failed = True
                    for arg in args:
                        if asyncio.iscoroutine(arg):
                            arg.close()
                    raise error
            return original(*args, **options)

        monkeypatch.setattr(place, name, call)


@asynccontextmanager
async def page(limits):
    """A client of a page in this process."""
    app = create_app(limits)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield client


async def post(client, content=b"12"):
    return await client.post("/matches", files={f"image{k}": ("a.png", content) for k in range(2)})


async def ended(client, number):
    """The status of a match when it has ended."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = await client.get(f"/matches/{number}")
        if answer.status_code != 503 and answer.json().get("state") in ("done", "failed"):
            return answer.json()
        await asyncio.sleep(0.005)
    raise AssertionError("the match does not end")


async def visit(client):
    """All that a client may ask for; answers may be refusals."""
    answers = [await client.get("/health"), await post(client)]
    if answers[-1].status_code == 202:
        number = answers[-1].json()["id"]
        await ended(client, number)
        answers.append(await client.get(f"/matches/{number}/matches.json"))
        answers.append(await client.delete(f"/matches/{number}"))
    return answers


async def assert_sound(client):
    """Everything works, every place of the queue is free, and nothing is left on the disk."""
    numbers = []
    for _ in range(QUEUE):
        answer = await post(client)
        assert answer.status_code == 202, answer.text
        numbers.append(answer.json()["id"])
    for number in numbers:
        assert (await ended(client, number))["state"] == "done"
        assert (await client.get(f"/matches/{number}/matches.json")).text == "12"
        assert (await client.delete(f"/matches/{number}")).status_code == 204
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        health = (await client.get("/health")).json()
        if health["healthy"] and not own_folders():
            break
        await asyncio.sleep(0.01)
    assert health["healthy"], health
    assert own_folders() == []
    assert health["waiting"] == health["running"] == health["kept_bytes"] == 0


def own_folders():
    roots = Path(tempfile.gettempdir()).glob(f"{PREFIX}*")
    return [path for root in roots for path in root.iterdir() if path.name != LOCK]


@pytest.fixture
def own_tempdir(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.parametrize("lack", LACKS)
@pytest.mark.parametrize("call", CALLS)
def test_a_lack_costs_one_request_at_most(call, lack, quick_workers, own_tempdir, monkeypatch):
    async def run(k):
        async with page(Limits(queue=QUEUE)) as client:
            with monkeypatch.context() as patch:
                fault = Fault(patch, *CALLS[call], LACKS[lack], k)
                answers = await visit(client)
            assert {answer.status_code for answer in answers} <= {200, 202, 204, 404, 503}
            for answer in answers:
                assert answer.status_code != 503 or "error" in answer.json() or "problems" in answer.json()
            await assert_sound(client)
        return fault.failed

    k = 1
    while asyncio.run(run(k)):
        k += 1
    assert k > 1  # the page makes this call
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


def test_a_lack_that_lasts_is_told(quick_workers, own_tempdir, monkeypatch):
    async def fail(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files")

    async def run():
        async with page(Limits(queue=QUEUE)) as client:
            with monkeypatch.context() as patch:
                patch.setattr(asyncio, "create_subprocess_exec", fail)
                answer = await post(client)
                assert answer.status_code == 503
                assert "Too many open files" in answer.json()["error"]
                assert int(answer.headers["retry-after"]) > 0
                health = await client.get("/health")
                assert health.status_code == 503
                assert health.json()["problems"] == ["no process could be started: Too many open files"]
            await assert_sound(client)

    asyncio.run(run())


def children():
    """The ids of this process's worker processes."""
    found = []
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return [child for child in found if b"standing_in.py" in Path(f"/proc/{child}/cmdline").read_bytes()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_processes_that_die_idle_fail_no_match(quick_workers, own_tempdir):
    async def run():
        async with page(Limits(queue=QUEUE)) as client:
            for _ in range(3):
                await assert_sound(client)
                for process in children():
                    os.kill(process, signal.SIGKILL)
            await assert_sound(client)
        assert children() == []

    asyncio.run(run())


def test_a_match_that_kills_or_stops_its_process_fails_alone(quick_workers, own_tempdir):
    async def run():
        async with page(Limits(queue=QUEUE, match_seconds=1.5)) as client:
            status = await ended(client, (await post(client, b"die")).json()["id"])
            assert status["error"].startswith("the process that matched the pictures died")
            await assert_sound(client)
            status = await ended(client, (await post(client, b"hang")).json()["id"])
            assert status["error"] == "the match took more than 1.5 s and was stopped"
            await assert_sound(client)

    asyncio.run(run())


def test_a_match_that_runs_can_be_deleted(quick_workers, own_tempdir):
    async def run():
        async with page(Limits(queue=QUEUE)) as client:
            number = (await post(client, b"hang")).json()["id"]
            while (await client.get(f"/matches/{number}")).json()["state"] != "running":
                await asyncio.sleep(0.01)
            assert (await client.delete(f"/matches/{number}")).status_code == 204
            assert (await client.get(f"/matches/{number}")).status_code == 404
            await assert_sound(client)

    asyncio.run(run())


def test_tasks_that_end_are_told_and_started_again(quick_workers, own_tempdir, monkeypatch):
    end = Jobs._end

    def fail(jobs, job):
        end(jobs, job)
        raise RuntimeError("a task dies")

    monkeypatch.setattr(jobs_module, "SWEEP", PATIENCE)  # or it might start the task again before the look

    async def run():
        async with page(Limits(queue=QUEUE)) as client:
            with monkeypatch.context() as patch:
                patch.setattr(Jobs, "_end", fail)
                number = (await post(client)).json()["id"]
                async with asyncio.timeout(PATIENCE):
                    while (health := (await client.get("/health")).json())["healthy"]:
                        await asyncio.sleep(0.01)
                assert health["problems"] == ["a task ended: match (0)"]
                assert (await ended(client, number))["state"] == "done"
                await client.delete(f"/matches/{number}")
            await assert_sound(client)
            assert (await client.get("/health")).json()["restarts"] == 1

    asyncio.run(run())


def test_a_folder_that_is_deleted_is_made_again(quick_workers, own_tempdir):
    async def run():
        async with page(Limits(queue=QUEUE)) as client:
            number = (await post(client)).json()["id"]
            await ended(client, number)
            for root in Path(tempfile.gettempdir()).iterdir():
                shutil.rmtree(root)
            assert (await client.get(f"/matches/{number}/matches.json")).status_code == 404
            assert (await client.delete(f"/matches/{number}")).status_code == 204
            await assert_sound(client)
            (root,) = Path(tempfile.gettempdir()).iterdir()
            assert root.stat().st_mode & 0o777 == 0o700

    asyncio.run(run())


def test_results_are_bounded_in_bytes(quick_workers, own_tempdir):
    async def run():
        async with page(Limits(queue=QUEUE, keep_bytes=2 * 2 * 1000)) as client:  # results of two matches
            numbers = []
            for _ in range(4):
                numbers.append((await post(client, bytes(1000))).json()["id"])
                assert (await ended(client, numbers[-1]))["state"] == "done"
            kept = [(await client.get(f"/matches/{number}")).status_code for number in numbers]
            assert kept == [404, 404, 200, 200]
            assert (await client.get("/health")).json()["kept_bytes"] == 4000
            large = (await post(client, bytes(5000))).json()["id"]  # the last is kept, however large
            assert (await ended(client, large))["state"] == "done"
            assert len(own_folders()) == 1

    asyncio.run(run())


def test_the_sweep_survives_what_it_lacks(quick_workers, own_tempdir, monkeypatch):
    async def run():
        async with page(Limits(queue=QUEUE, keep_seconds=0.2)) as client:
            with monkeypatch.context() as patch:
                patch.setattr(jobs_module.shutil, "rmtree", lambda *_, **__: None)  # deletes nothing
                number = (await post(client)).json()["id"]
                while (await client.get(f"/matches/{number}")).status_code != 404:
                    await asyncio.sleep(0.01)
                assert len(own_folders()) == 1
            while own_folders():
                await asyncio.sleep(0.01)

    asyncio.run(run())
