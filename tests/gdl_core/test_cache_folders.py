"""Where kernels are kept, and where not: others could plant code there."""

import os
import tempfile
from pathlib import Path

import pytest

from gdl_core._common import cache_folders
from gdl_core._common.cache_folders import list_cache_folders, read_entry, write_entry

needs_users = pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs user ids")


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """A folder for temporary files, and a home."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))


def own_folder(tmp_path):
    return tmp_path / "temporary" / f"gdl-numba-cache-{os.getuid()}"


@needs_users
def test_the_folder_that_is_chosen_comes_first(tmp_path):
    folders = list_cache_folders(str(tmp_path / "kernel.py"), str(tmp_path / "chosen"))
    assert folders == [tmp_path / "chosen", own_folder(tmp_path)]


@needs_users
def test_else_it_is_beside_the_source_or_of_the_user(tmp_path):
    beside, home, temporary = list_cache_folders(str(tmp_path / "kernel.py"), "")
    assert (beside, temporary) == (tmp_path / "__pycache__", own_folder(tmp_path))
    assert str(home).startswith(str(tmp_path / "home"))
    assert not home.exists()  # made when something is kept
    assert temporary.stat().st_mode & 0o777 == 0o700


def test_a_module_of_a_zip_file_has_no_folder_beside(tmp_path):
    (tmp_path / "packed.zip").write_bytes(b"")
    folders = list_cache_folders(str(tmp_path / "packed.zip" / "kernel.py"), "")
    assert not any("packed.zip" in str(folder) for folder in folders)


def test_without_a_home_none_is_made(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    assert all(folder.is_absolute() for folder in list_cache_folders(str(tmp_path / "kernel.py"), ""))
    assert not any("~" in str(folder) for folder in list_cache_folders(str(tmp_path / "kernel.py"), ""))


def test_the_next_folder_is_taken_where_one_cannot_be_written(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    folders = [tmp_path / "file", tmp_path / "below" / "it"]
    assert write_entry(folders, "one", b"key", b"code") == folders[1]
    assert read_entry(folders, "one", b"key") == b"code"
    assert read_entry(folders, "one", b"another key") is None
    assert write_entry(folders[:1], "one", b"key", b"code") is None
    assert read_entry(folders[:1], "one", b"key") is None


def test_a_folder_that_can_only_be_read_is_read(tmp_path, monkeypatch):
    folders = [tmp_path / "read", tmp_path / "write"]
    write_entry(folders, "one", b"key", b"code")

    def fail(*_):
        raise PermissionError

    monkeypatch.setattr(Path, "write_bytes", fail)
    assert read_entry(folders, "one", b"key") == b"code"
    assert write_entry(folders, "one", b"key", b"code") is None


def test_nothing_unfinished_is_left(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_entry([tmp_path / "cache"], "one", b"key", b"code")
    assert list((tmp_path / "cache").iterdir()) == []


@needs_users
@pytest.mark.parametrize("kind", ["link", "file", "open to all", "of another user"])
def test_no_cache_where_others_could_plant_code(kind, tmp_path, monkeypatch):
    folder = own_folder(tmp_path)
    if kind == "link":
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        folder.write_text("")
    elif kind == "open to all":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        user = os.getuid() + 1
        folder = folder.with_name(f"gdl-numba-cache-{user}")
        folder.mkdir()
        monkeypatch.setattr(cache_folders.os, "getuid", lambda: user)
    assert folder not in list_cache_folders(str(tmp_path / "kernel.py"), "")
