"""What a killed server left goes when the next one begins; what a living one holds stays."""

import os
import subprocess
import sys
import tempfile

import pytest

from matching.serve import folders
from matching.serve.folders import ServerFolder, remove_abandoned

pytestmark = pytest.mark.skipif(folders.flock is None, reason="the system has no locks of files")
KILLED = """
import os, signal
from matching.serve.folders import ServerFolder
folder = ServerFolder()
(folder.path / "match").mkdir()
(folder.path / "match" / "upload0").write_text("a picture")
print(folder.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def listed(place):
    return sorted(path.name for path in place.iterdir())


def test_what_a_killed_server_left_goes(place):
    environment = {**os.environ, "TMPDIR": str(place)}
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, env=environment)
    assert done.returncode == -9
    assert [str(place / name) for name in listed(place)] == [done.stdout.strip()]
    living = ServerFolder()
    remove_abandoned()
    assert listed(place) == [living.path.name]
    living.remove()
    assert not listed(place)


def test_what_is_just_being_made_and_what_is_no_folder_of_a_server_stays(place):
    for name in (f"{folders.PREFIX}new", f"{folders.PREFIX}old", "gdl-match-other"):
        (place / name).mkdir()
    (place / f"{folders.PREFIX}file").touch()
    (place / f"{folders.PREFIX}link").symlink_to(place / "gdl-match-other")
    (place / "gdl-match-other" / folders.LOCK).touch()
    os.utime(place / f"{folders.PREFIX}old", (0, 0))
    remove_abandoned()
    kept = {f"{folders.PREFIX}{name}" for name in ("file", "link", "new")} | {"gdl-match-other"}
    assert set(listed(place)) == kept
    assert listed(place / "gdl-match-other") == [folders.LOCK]


def test_a_folder_of_another_user_stays(place, monkeypatch):
    (place / f"{folders.PREFIX}x").mkdir()
    (place / f"{folders.PREFIX}x" / folders.LOCK).touch()
    monkeypatch.setattr(os, "getuid", lambda: -1)
    remove_abandoned()
    assert listed(place)


def test_no_room_for_the_lock_leaves_no_folder(place, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.open", full)
    with pytest.raises(OSError, match="No space left"):
        ServerFolder()
    assert not listed(place)
