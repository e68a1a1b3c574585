import itertools

import pytest
from database import content, rows

from matching import InputError
from matching.collection import (
    match_collection,
    plan_folder,
    plan_gallery,
    run,
)
from matching.collection.retrieval import _shards


def test_only_the_shortlist_is_matched(folder, cache, tmp_path):
    plan = plan_gallery(folder, folder)
    summary = match_collection(plan, tmp_path / "c.db", cache=cache, jobs=1, shortlist=1)
    chosen = dict(rows(tmp_path / "c.db", "SELECT path0, path1 FROM results"))
    assert (summary.pairs, summary.matched, len(chosen)) == (3, 3, 3)  # two pictures failed, one is plain
    first, second, third = (str(folder / name) for name in ("a first.png", "b second.png", "c.jpg"))
    assert chosen[first] in (second, third)  # one shows all of it, the other a part larger
    assert chosen[second] in (first, third)
    assert chosen[third] in (first, second)
    before = content(tmp_path / "c.db")
    again = match_collection(plan, tmp_path / "c.db", cache=cache, jobs=1, shortlist=1)
    assert (again.matched, again.pairs) == (0, 3)
    assert content(tmp_path / "c.db") == before
    more = match_collection(plan, tmp_path / "c.db", cache=cache, jobs=1, shortlist=99)
    assert more.pairs == 6


def test_pairs_of_a_folder_are_listed_once(folder, cache, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "_match", lambda *_: 0)  # the pairs are enough
    plan = plan_folder(folder)
    for n in (1, 9):
        match_collection(plan, tmp_path / f"{n}.db", cache=cache, jobs=1, shortlist=n)
    names = {n: rows(tmp_path / f"{n}.db", "SELECT image0, image1 FROM pairs ORDER BY id") for n in (1, 9)}
    assert 2 <= len(names[1]) <= 3
    assert all(i < j for i, j in names[1])
    assert sorted(names[9]) == [(0, 1), (0, 2), (1, 2)]


@pytest.mark.parametrize("largest_exact", [0, 2000])
def test_any_shards_give_the_same_shortlist(folder, cache, tmp_path, monkeypatch, largest_exact):
    """Of a large gallery they are files with inverted lists."""
    monkeypatch.setattr(_shards, "MAX_EXACT_PICTURES", largest_exact)
    monkeypatch.setattr(run, "_match", lambda *_: 0)  # the pairs are enough
    plan = plan_gallery(folder, folder)
    match_collection(plan, tmp_path / "whole.db", cache=cache, jobs=1, shortlist=2)
    monkeypatch.setattr(_shards, "SHARD_PICTURES", 1)
    monkeypatch.setattr(_shards, "QUERIES_PER_TASK", 2)
    match_collection(plan, tmp_path / "cut.db", cache=cache, jobs=1, shortlist=2)
    assert content(tmp_path / "cut.db") == content(tmp_path / "whole.db")
    assert not any(cache.folder.glob("shards/*"))


def test_unwritable_shards_are_reported(folder, cache, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_shards, "MAX_EXACT_PICTURES", 0)
    monkeypatch.setattr("os.fsync", full)
    plan = plan_gallery(folder, folder)
    with pytest.raises(InputError, match=r"can't be written .No space left on device"):
        match_collection(plan, tmp_path / "a.db", cache=cache, jobs=1, shortlist=1)
    assert not any(cache.folder.glob("shards/*"))


def test_batches_hold_everything_in_order():
    assert list(_shards.split_in_batches(iter(range(5)), 2)) == [(0, 1), (2, 3), (4,)]
    assert list(itertools.chain(*_shards.split_in_batches([], 2))) == []
