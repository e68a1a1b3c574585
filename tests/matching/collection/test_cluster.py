"""On a real Dask cluster: a scheduler and two workers, processes of their own."""

import itertools
import json
import subprocess
import sys
import time

import pytest
from database import content
from patience import PATIENCE

from matching import InputError
from matching.collection import (
    FeatureCache,
    backends,
    match_collection,
    plan_folder,
    plan_list,
)
from matching.collection.kept_index._index import add_pictures, find_candidates
from matching.collection.retrieval import _shards

pytest.importorskip("distributed", reason="the cluster's tests need dask.distributed")


class Cluster:
    """A scheduler and its workers."""

    def __init__(self, folder, n):
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", folder, "--port", "0", "--no-show")
        options = "--nthreads", "1", "--no-nanny", "--local-directory", folder
        self.workers = [self._start("worker", folder, *options) for _ in range(n)]

    def _start(self, kind, folder, *options):
        return subprocess.Popen(
            [
                *(sys.executable, "-W", "ignore", "-m", f"distributed.cli.dask_{kind}"),
                *("--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", self.file, *options),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )

    def address(self):
        """The scheduler's address, once all workers are there."""
        from distributed import Client

        end = time.monotonic() + PATIENCE
        while not self.file.exists() or not self.file.read_text():
            assert time.monotonic() < end
            time.sleep(0.1)
        address = json.loads(self.file.read_text())["address"]
        with Client(address, timeout=PATIENCE, set_as_default=False) as client:
            client.wait_for_workers(len(self.workers), timeout=PATIENCE)
        return address

    def kill(self, k=0):
        """Kill one of the workers that live."""
        worker = self.workers.pop(k)
        worker.kill()
        worker.wait()

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Of three workers; each test that uses it kills one."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), 3)
    yield cluster
    cluster.close()


@pytest.mark.slow
def test_killed_worker_changes_no_result(cluster, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(backends, "CONNECT_SECONDS", PATIENCE)
    names = [folder / name for name in ("a first.png", "b second.png", "c.jpg", "d plain.png", "f text.png")]
    (tmp_path / "list").write_text("".join(f"{a}\t{b}\n" for a, b in itertools.product(names, repeat=2)))
    plan = plan_list(tmp_path / "list")
    for name in ("cache", "other"):
        (tmp_path / name).mkdir()
    killed = []

    def progress(records, total, desc):
        for k, record in enumerate(records):
            yield record
            if desc == "pairs" and k == 2:
                cluster.kill()
                killed.append(total - k)

    options = {"scheduler": cluster.address(), "cache": FeatureCache(tmp_path / "cache", 10**9)}
    summary = match_collection(plan, tmp_path / "cluster.db", progress=progress, **options)
    assert killed == [14]
    assert (summary.matched, summary.failed_pairs, summary.failed_images) == (16, 9, 1)
    match_collection(plan, tmp_path / "here.db", jobs=1, cache=FeatureCache(tmp_path / "other", 10**9))
    assert content(tmp_path / "cluster.db") == content(tmp_path / "here.db")


@pytest.mark.slow
def test_shards_on_workers_give_the_same_shortlist_and_answers(cluster, folder, tmp_path, monkeypatch):
    """One worker is killed during the search."""
    monkeypatch.setattr(backends, "CONNECT_SECONDS", PATIENCE)
    monkeypatch.setattr(_shards, "QUERIES_PER_TASK", 1)
    for name in ("cache", "other"):
        (tmp_path / name).mkdir()
    there, here = (FeatureCache(tmp_path / name, 10**9) for name in ("cache", "other"))
    killed = []

    def progress(records, total, desc):
        for k, record in enumerate(records):
            yield record
            if desc == "shortlist" and k == 0:
                cluster.kill()
                killed.append(total)

    plan, address = plan_folder(folder), cluster.address()
    add_pictures(tmp_path / "i", list(plan.paths), cache=there, scheduler=address)
    shared = {"scheduler": address, "cache": there, "shortlist": 1}
    match_collection(plan, tmp_path / "cluster.db", progress=progress, **shared)
    assert killed == [4]  # a task for each query
    monkeypatch.undo()
    match_collection(plan, tmp_path / "here.db", shortlist=1, jobs=1, cache=here)
    assert content(tmp_path / "cluster.db") == content(tmp_path / "here.db")

    queries = [str(folder / name) for name in ("a first.png", "c.jpg")]
    found = find_candidates(tmp_path / "i", queries, 3, cache=there, scheduler=address)
    assert sum(map(len, found.values())) >= 3
    assert found == find_candidates(tmp_path / "i", queries, 3, cache=here, jobs=1)
    add_pictures(tmp_path / "new", list(plan.paths), cache=here, jobs=1)
    assert found == find_candidates(tmp_path / "new", queries, 3, cache=here, jobs=1)


def test_missing_scheduler_is_an_input_error(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(backends, "CONNECT_SECONDS", 1)
    (tmp_path / "list").write_text(f"'{folder / 'c.jpg'}' '{folder / 'c.jpg'}'\n")
    plan = plan_list(tmp_path / "list")
    for address in ("tcp://127.0.0.1:9", "nonsense://x:1"):
        with pytest.raises(InputError, match="no Dask scheduler answers"):
            match_collection(plan, tmp_path / "c.db", scheduler=address, cache=FeatureCache(tmp_path, 10**9))
