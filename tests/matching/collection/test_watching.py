"""Watching a folder: what arrives is added, and told where it shows the thing; killed, and gone."""

import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE
from PIL import Image
from planting import crops, object_pair

from matching import InputError, MatchConfig
from matching.cli.main import main
from matching.collection.kept_index._store import open_index
from matching.collection.watching import watch_folder

pytest.importorskip("watchfiles")
CODE = "import sys; from matching.cli.main import main; sys.exit(main(['index', *sys.argv[1:]]))"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Files outside of what is watched: the thing, a scene that shows it, another one, a text."""
    folder = tmp_path_factory.mktemp("made")
    Image.fromarray(crops(200)["coffee"]).save(folder / "coffee.png")
    Image.fromarray(object_pair(200)[0]).save(folder / "scene.png")
    Image.fromarray(crops(200)["rocket"]).save(folder / "rocket.png")
    (folder / "text.png").write_text("not a picture")
    return folder


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "photos").mkdir()
    return tmp_path / "photos"


def names(update):
    added, _ = update
    return [Path(path).name for path in added.paths]


def test_arriving_pictures_are_added_and_matched(made, folder, cache, tmp_path):
    shutil.copy(made / "rocket.png", folder)
    thing = made / "coffee.png"
    index = folder / "index"  # what is written in there is not heard
    updates = watch_folder(index, folder, cache=cache, thing=thing)
    first = next(updates)
    assert (names(first), [len(pair.objects) for pair in first[1].values()]) == (["rocket.png"], [0])
    shutil.copy(made / "text.png", folder)
    second = next(updates)
    assert (names(second), len(second[0].errors), second[1]) == ([], 1, {})
    (folder / ".hidden.png").write_bytes((made / "scene.png").read_bytes())
    (folder / "note.txt").write_text("nothing")
    content = (made / "scene.png").read_bytes()
    with (folder / "scene.png").open("wb") as file:  # slowly
        file.write(content[:1000])
        file.flush()
        time.sleep(0.2)
        file.write(content[1000:])
    third = next(updates)
    assert names(third) == ["scene.png"]
    (pair,) = third[1].values()
    assert len(pair.objects) == 1
    assert pair.objects[0].n_matches > 20
    (folder / "rocket.png").unlink()
    fourth = next(updates)
    assert (names(fourth), fourth[0].removed, fourth[0].counts.indexed) == ([], 1, 1)
    (made / "rocket.png").rename(folder / "text.png")  # a picture in place of what failed
    shutil.copy(folder / "text.png", made / "rocket.png")
    assert names(next(updates)) == ["text.png"]
    updates.close()
    with open_index(index, MatchConfig()) as opened:
        assert opened.counts().indexed == 2


def test_folders_that_arrive_are_watched_too(made, folder, cache, tmp_path):
    updates = watch_folder(tmp_path / "index", folder, cache=cache, recursive=True)
    assert names(next(updates)) == []
    (tmp_path / "new").mkdir()
    shutil.copy(made / "scene.png", tmp_path / "new")
    (tmp_path / "new").rename(folder / "new")
    assert names(next(updates)) == ["scene.png"]
    shutil.rmtree(folder)
    with pytest.raises(InputError, match="photos: the folder no longer exists"):
        for _ in range(3):
            next(updates)


@contextmanager
def watching(folder, index, cache, *more):
    """A process that watches, and its lines as they come."""
    command = ["watch", str(folder), "--index", str(index), "--cache", str(cache.folder), *more]
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    lines = {"out": [], "err": []}
    threads = [
        threading.Thread(target=lambda n=n, s=s: lines[n].extend(iter(s.readline, "")), daemon=True)
        for n, s in (("out", process.stdout), ("err", process.stderr))
    ]
    for thread in threads:
        thread.start()
    try:
        yield process, lines
    finally:
        process.kill()
        process.wait()
        for thread in threads:
            thread.join()
        process.stdout.close()
        process.stderr.close()


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
def test_command_reports_sightings_until_interrupted(made, folder, cache, tmp_path):
    query = ["--query", str(made / "coffee.png")]
    with watching(folder, tmp_path / "index", cache, *query) as (process, lines):
        wait_for(lambda: any("the index has 0 pictures" in line for line in lines["err"]))
        shutil.copy(made / "rocket.png", folder)
        wait_for(lambda: any("the index has 1 picture " in line for line in lines["err"]))
        assert lines["out"] == []
        shutil.copy(made / "scene.png", folder)
        wait_for(lambda: lines["out"])
        assert re.search(r"scene.png: seen around (29|30)\d,", lines["out"][0])
        assert re.search(r"\d+ matches, sure, the same \(nothing larger than \d+ px\)\n", lines["out"][0])
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
    assert lines["err"][-1] == "gdl-match index: interrupted; run the same command again to continue\n"


def test_wrong_usage_is_rejected(made, folder, cache, tmp_path, capsys, monkeypatch):
    where = ["--index", str(tmp_path / "index"), "--cache", str(cache.folder)]
    assert main(["index", "watch", str(tmp_path / "none"), *where]) == 2
    assert "none: is not a folder" in capsys.readouterr().err
    assert main(["index", "watch", str(folder), "--query", str(tmp_path / "none.png"), *where]) == 2
    assert "none.png: no such file" in capsys.readouterr().err
    Image.fromarray(np.full((50, 50), 9, np.uint8)).save(tmp_path / "plain.png")
    assert main(["index", "watch", str(folder), "--query", str(tmp_path / "plain.png"), *where]) == 2
    assert "plain.png: no features" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert main(["index", "watch", str(folder), *where]) == 2
    assert "pip install watchfiles" in capsys.readouterr().err
    assert not (tmp_path / "index").exists()
