import sys

import pytest

from eval.matching.rivals._modules import list_modules, load_module


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "made_package"
    folder.mkdir()
    for name in ("__init__", "_private", "zebra", "big_cat"):
        (folder / f"{name}.py").write_text(f"NAME = {name!r}")
    (folder / "notes.txt").write_text("no module")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder.name
    for name in [name for name in sys.modules if name.startswith(folder.name)]:
        del sys.modules[name]


def test_modules_are_listed_in_order_without_being_loaded(package):
    assert list_modules(package) == ("big-cat", "zebra")
    assert f"{package}.big_cat" not in sys.modules


def test_module_with_hyphen_is_loaded(package):
    assert load_module(package, "big-cat").NAME == "big_cat"
