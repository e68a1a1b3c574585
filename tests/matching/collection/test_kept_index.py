"""A kept index: growing, dropping, asking, refusing; killed, damaged, and with two writers."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import pytest
from patience import PATIENCE
from PIL import Image
from planting import crops, object_pair

from matching import InputError, MatchConfig
from matching.cli.main import main
from matching.collection.kept_index import _index, _store
from matching.collection.kept_index._index import add_pictures, find_candidates
from matching.collection.kept_index._store import open_index
from matching.collection.plan import list_pictures
from matching.collection.records import ImageRecord
from matching.collection.retrieval import _inverted
from matching.collection.retrieval._codes import encode


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """Four photographs and a scene that shows two of them, a text, and a query that shows one."""
    folder = tmp_path_factory.mktemp("gallery")
    for name, picture in crops(200).items():
        Image.fromarray(picture).save(folder / f"{name}.png")
    Image.fromarray(object_pair(200)[0]).save(folder / "scene.png")
    (folder / "text.png").write_text("not a picture")
    return folder


@pytest.fixture
def pictures(gallery, tmp_path):
    return shutil.copytree(gallery, tmp_path / "pictures")


def add(folder, pictures, cache, **more):
    return add_pictures(folder, list_pictures(pictures), inside=[str(pictures)], cache=cache, jobs=1, **more)


def best(folder, query, cache, n=3):
    found = find_candidates(folder, [str(query)], n, cache=cache)
    return [(path.rsplit("/", 1)[-1], votes) for path, votes in found[str(query)].items()]


def table(folder, query="SELECT path, status, sha256, n_entries, error FROM pictures ORDER BY path"):
    with closing(sqlite3.connect(folder / "index.db")) as db:
        return db.execute(query).fetchall()


def test_query_finds_the_pictures_and_their_objects(pictures, cache, tmp_path, capsys):
    where = ["--index", str(tmp_path / "i"), "--cache", str(cache.folder), "--quiet"]
    assert main(["index", "add", str(pictures), "--jobs", "1", *where]) == 0
    told = capsys.readouterr()
    assert "5 pictures added (1 failed), 0 dropped; the index has 5 pictures and takes" in told.out
    assert "failed: " in told.err
    assert "text.png" in told.err
    query = str(pictures / "coffee.png")
    assert main(["index", "query", query, "--shortlist", "2", "--json", *where]) == 0
    (result,) = json.loads(capsys.readouterr().out)["queries"]
    assert result["query"] == query
    (picture,) = result["pictures"]
    assert picture["path"].endswith("scene.png")
    (found,) = picture["objects"]
    assert found["n_matches"] > 20
    assert round(picture["score"], 4) == found["score"] > picture["rank"] > 0
    assert np.allclose(
        found["frame1"], [[199.5, -0.5], [399.5, -0.5], [399.5, 199.5], [199.5, 199.5]], atol=2
    )
    assert main(["index", "query", query, "--html", str(tmp_path / "q.html"), *where]) == 0
    page = (tmp_path / "q.html").read_text()
    assert "<h1>coffee.png</h1>" in page
    assert "<strong>1 copy</strong>" in page
    assert page.count('<li data-names="coffee.png scene.png" data-reference="coffee.png"') == 1
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["rank", "score", "objects", "matches", "votes", "picture"]
    assert row.startswith(f"{picture['rank']:.3f}")
    assert row.endswith("scene.png")
    Image.fromarray(np.full((50, 50), 9, np.uint8)).save(tmp_path / "plain.png")
    assert (
        main(["index", "add", str(pictures / "text.png"), "--index", str(tmp_path / "none"), *where[2:]]) == 2
    )
    assert "0 pictures added (1 failed), 0 dropped; the index has 0 pictures and" in capsys.readouterr().out
    assert main(["index", "query", str(pictures / "text.png"), *where]) == 2
    assert "text.png: is not a picture that can be read" in capsys.readouterr().err
    query = ["index", "query", str(tmp_path / "plain.png"), "--db", str(tmp_path / "c.db"), *where]
    assert main(query) == 1
    assert capsys.readouterr().err == ""  # quiet
    query.remove("--quiet")
    assert main(query) == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"matches written to {tmp_path / 'c.db'}"


def test_animation_is_added_by_its_first_frame_with_a_warning(pictures, cache, tmp_path, capsys):
    frames = [Image.fromarray(picture) for picture in crops(200).values()]
    frames[0].save(pictures / "moving.gif", save_all=True, append_images=frames[1:])
    where = ["--index", str(tmp_path / "i"), "--cache", str(cache.folder), "--quiet", "--jobs", "1"]
    assert main(["index", "add", str(pictures), *where]) == 0
    warned = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    text = f"only the first of its {len(frames)} frames or pages is looked at"
    assert warned == [f"gdl-match: warning: {pictures / 'moving.gif'}: {text}"]


def test_changed_index_equals_a_new_one(pictures, cache, tmp_path):
    index, new = tmp_path / "i", tmp_path / "new"
    coffee, scene = pictures / "coffee.png", pictures / "scene.png"
    scene.rename(tmp_path / "scene.png")
    assert len(add(index, pictures, cache).paths) == 4
    assert "scene.png" not in dict(best(index, coffee, cache))
    (tmp_path / "scene.png").rename(scene)
    grown = add(index, pictures, cache)
    assert (len(grown.paths), len(grown.errors), grown.removed) == (1, 0, 0)
    assert dict(best(index, coffee, cache))["scene.png"] > 20
    (pictures / "rocket.png").unlink()
    shutil.copy(pictures / "chelsea.png", pictures / "astronaut.png")  # another picture under its name
    changed = add(index, pictures, cache)
    assert (len(changed.paths), changed.removed) == (1, 1)
    add(new, pictures, cache)
    assert table(index) == table(new)
    for query in sorted(pictures.glob("*.png")):
        if query.name != "text.png":
            assert sorted(best(index, query, cache)) == sorted(best(new, query, cache))
    again = add(index, pictures, cache)
    assert (len(again.paths), len(again.errors), again.removed) == (0, 0, 0)
    shutil.rmtree(pictures)
    pictures.mkdir()
    where = ["--index", str(index), "--cache", str(cache.folder), "--quiet"]
    assert main(["index", "add", str(pictures), *where]) == 1
    assert not table(index)


def test_file_that_is_gone_is_not_in_the_answer(pictures, cache, tmp_path):
    add(tmp_path / "i", pictures, cache)
    (pictures / "scene.png").unlink()
    assert "scene.png" not in dict(best(tmp_path / "i", pictures / "coffee.png", cache))


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("code", '"0"', "made in another way: code is 0, not "),
        ("format", "1", "made in another way: format is 1, not 9; give another folder, or delete this"),
    ],
)
def test_another_version_is_refused_by_name(tmp_path, name, value, told):
    with open_index(tmp_path, MatchConfig(), create=True):
        pass
    with closing(sqlite3.connect(tmp_path / "index.db")) as db:
        db.execute("UPDATE settings SET value = ? WHERE name = ?", (value, name))
        db.commit()
    for create in (False, True):
        with pytest.raises(InputError, match=told), open_index(tmp_path, MatchConfig(), create):
            pass


def test_other_features_and_no_index_are_refused(tmp_path, capsys):
    with open_index(tmp_path / "i", MatchConfig(), create=True):
        pass
    with (
        pytest.raises(InputError, match=r"made in another way: features\."),
        open_index(tmp_path / "i", MatchConfig.paper()),
    ):
        pass
    with (
        pytest.raises(InputError, match="there is no index in this folder"),
        open_index(tmp_path / "none", MatchConfig()),
    ):
        pass
    (tmp_path / "i" / "index.db").write_bytes(b"no database" * 100)
    with (
        pytest.raises(InputError, match=r"is not the database of an index, or is damaged"),
        open_index(tmp_path / "i", MatchConfig()),
    ):
        pass
    assert main(["index", "query", "x.png", "--index", str(tmp_path / "i")]) == 2
    assert "x.png: no such file or folder" in capsys.readouterr().err
    assert main(["index", "query", "x.png"]) == 2
    assert "--index" in capsys.readouterr().err


def records_of(rng, numbers, n=30):
    """What `describe_file` gives for made-up pictures."""
    from test_retrieval import made_up

    return [
        ImageRecord(k, f"{k:064}", bytes=1, modified=1, entries=encode(made_up(rng, n), picture=k))
        for k in numbers
    ]


def test_segments_are_merged_and_dead_entries_go(tmp_path):
    rng = np.random.default_rng(0)
    with open_index(tmp_path, MatchConfig(), create=True) as index:
        for k in range(20):
            paths = [f"/pictures/{k}-{j}" for j in range(2)]
            index.update(paths)
            numbers = [number for number, _ in index.pending()]
            index.add(records_of(rng, numbers))
            index.merge_small_segments()
            index.update([], missing=paths[1:])
        assert len(index.shards()) < _store.SEGMENTS_PER_MERGE
        assert index.counts().indexed == 20
        entries = sum(
            len(_inverted.open_segment(tmp_path / name).entries.ids)
            for (name,) in index.rows("SELECT name FROM segments")
        )
        assert 20 * 30 <= entries < 40 * 30
        assert len(list(tmp_path.glob("*.seg"))) == len(index.shards())
        assert index.counts().bytes == sum(p.stat().st_size for p in tmp_path.iterdir())


def test_pictures_of_two_writers_are_added_once(pictures, cache, tmp_path, monkeypatch):
    """The second one starts when the first has looked at its pictures and has not written them."""
    index = tmp_path / "i"
    batched = _index.split_in_batches

    def meanwhile(records, size):
        some = list(batched(records, size))
        monkeypatch.setattr(_index, "split_in_batches", batched)
        add(index, pictures, cache)
        return some

    monkeypatch.setattr(_index, "split_in_batches", meanwhile)
    assert add(index, pictures, cache).counts.indexed == 5
    add(tmp_path / "one", pictures, cache)
    assert table(index) == table(tmp_path / "one")
    for name in ("coffee.png", "astronaut.png"):
        assert best(index, pictures / name, cache) == best(tmp_path / "one", pictures / name, cache)


@pytest.mark.parametrize("damage", ["missing", "short"])
def test_damaged_part_is_an_input_error(pictures, cache, tmp_path, damage):
    add(tmp_path / "i", pictures, cache)
    (path,) = (tmp_path / "i").glob("*.seg")
    data = path.read_bytes()
    path.unlink()
    if damage == "short":
        path.write_bytes(data[:-9])
    with pytest.raises(InputError, match=r"this part of the index is missing or damaged"):
        best(tmp_path / "i", pictures / "coffee.png", cache)


KILLED = """
import os, signal, sys
from pathlib import Path
from matching.collection import FeatureCache
from matching.collection.kept_index import _index, _store
from matching.collection.plan import list_pictures
from matching.collection.records import ImageRecord
from matching.collection.retrieval import _inverted

index, pictures, cache, moment = sys.argv[1:]
_index.PICTURES_PER_SEGMENT = 2
written = []
def dying(path, cells, entries, lists, write=_inverted.write_segment):
    if len(written) == int(moment) // 2:
        if int(moment) % 2:
            write(path, cells, entries, lists)
        os.kill(os.getpid(), signal.SIGKILL)
    written.append(path)
    return write(path, cells, entries, lists)
_store.write_segment = dying
_index.add_pictures(Path(index), list_pictures(pictures), cache=FeatureCache(Path(cache), 10**9), jobs=1)
"""


@pytest.mark.slow
def test_command_killed_at_any_moment_continues(pictures, cache, tmp_path):
    add(tmp_path / "undisturbed", pictures, cache)
    index = tmp_path / "i"
    for moment in (1, 2):
        arguments = [sys.executable, "-c", KILLED, index, pictures, cache.folder, str(moment)]
        assert subprocess.run(arguments, timeout=PATIENCE).returncode == -9
        with open_index(index, MatchConfig()) as opened:
            assert opened.counts().pending
    assert add(index, pictures, cache).counts.indexed == 5
    assert table(index) == table(tmp_path / "undisturbed")
    for name in ("coffee.png", "astronaut.png"):
        query = pictures / name
        assert best(index, query, cache) == best(tmp_path / "undisturbed", query, cache)
    past = time.time() - 2 * _store.ABANDONED_SECONDS
    for path in index.glob("*.seg"):
        os.utime(path, (past, past))
    with open_index(index, MatchConfig()) as opened:
        opened.remove_unused()
        assert len(list(index.glob("*.seg"))) == len(opened.shards())


@pytest.mark.slow
def test_groups_are_those_of_a_collection_of_all_pairs(pictures, cache, tmp_path, capsys):
    shutil.copy(pictures / "scene.png", pictures / "again.png")
    where = ["--jobs", "1", "--cache", str(cache.folder), "--quiet"]
    main(["collection", "--all", str(pictures), "--db", str(tmp_path / "all.db"), "--groups", *where])
    expected = capsys.readouterr().out
    main(["index", "add", str(pictures), "--index", str(tmp_path / "i"), *where])
    capsys.readouterr()
    where += ["--db", str(tmp_path / "g.db"), "--html", str(tmp_path / "g.html")]
    assert main(["index", "groups", "--index", str(tmp_path / "i"), *where]) == 0
    assert (tmp_path / "g.html").read_text().count("<figcaption>") == expected.count("\n  ")
    assert capsys.readouterr().out == expected
    assert "copy" in expected
    assert "scene.png" in expected
    with closing(sqlite3.connect(tmp_path / "g.db")) as db:
        pairs = db.execute("SELECT min(image0, image1), max(image0, image1) FROM pairs").fetchall()
    assert len(set(pairs)) == len(pairs)


def test_shortlists_are_written_as_hloc_pairs(pictures, cache, tmp_path, capsys):
    """Read as hloc's parse_retrieval reads them."""
    where = ["--index", str(tmp_path / "i"), "--cache", str(cache.folder), "--quiet"]
    main(["index", "add", str(pictures), "--jobs", "1", *where])
    (tmp_path / "queries").mkdir()
    shutil.copy(pictures / "scene.png", tmp_path / "queries" / "a.png")
    shutil.copy(pictures / "scene.png", tmp_path / "b b.png")
    pairs = ["--hloc-pairs", str(tmp_path / "pairs.txt"), "--images", str(tmp_path), *where]
    assert main(["index", "query", str(tmp_path / "queries"), "--shortlist", "2", *pairs]) == 0
    found = [line.split() for line in (tmp_path / "pairs.txt").read_text("utf-8").rstrip("\n").split("\n")]
    (ranked,) = find_candidates(
        tmp_path / "i", [str(tmp_path / "queries" / "a.png")], 2, cache=cache
    ).values()
    assert found == [["queries/a.png", os.path.relpath(path, tmp_path)] for path in ranked]
    assert found[0][1] == "pictures/scene.png"
    for query, images, reason in (
        (tmp_path / "b b.png", tmp_path, "hloc's list of pairs can't hold a name with white space"),
        (tmp_path / "queries", pictures, "is not in"),
    ):
        before = (tmp_path / "pairs.txt").read_bytes()
        pairs = ["--hloc-pairs", str(tmp_path / "pairs.txt"), "--images", str(images), *where]
        capsys.readouterr()
        assert main(["index", "query", str(query), *pairs]) == 2
        assert reason in capsys.readouterr().err
        assert (tmp_path / "pairs.txt").read_bytes() == before
    assert (
        main(["index", "query", str(tmp_path / "queries"), "--hloc-pairs", str(tmp_path / "p"), *where]) == 2
    )
    assert "--hloc-pairs and --images must be given together" in capsys.readouterr().err
