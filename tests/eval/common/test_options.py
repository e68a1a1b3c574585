import argparse
import sys
from types import SimpleNamespace

import pytest
import skimage.data
import skimage.io

from eval.common.measuring import peak_megabytes
from eval.common.options import add_options, choose_photographs


def options(*words, names=("models", "tiles"), **changed):
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_options(parser, *names, **changed)
    return parser.parse_args([str(w) for w in words])


def test_defaults_and_other_properties_of_shared_options():
    assert options(names=["seed"], pairs=3, jobs={"type": str}).__dict__ == {
        "seed": 0,
        "pairs": 3,
        "jobs": -1,
    }
    assert options("--jobs", "-2", names=["jobs"]).jobs == -2
    assert options("--jobs", "x", names=(), jobs={"type": str}).jobs == "x"


def test_data_are_those_of_the_variable(monkeypatch, capsys):
    monkeypatch.setenv("GDL_DATA", "here")
    assert str(options(names=["data"]).data) == "here"
    monkeypatch.delenv("GDL_DATA")
    with pytest.raises(SystemExit):
        options(names=["data"])
    assert "required: --data" in capsys.readouterr().err


def test_photographs_of_folders_or_the_shipped_ones(tmp_path):
    skimage.io.imsave(tmp_path / "cat.png", skimage.data.chelsea())
    assert choose_photographs(options()).name == "shipped"
    both = choose_photographs(options("--models", tmp_path, "--tiles", tmp_path))
    assert [p.shape for p in both.models + both.tiles] == [(300, 451, 3)] * 2


@pytest.mark.parametrize("option", ["--models", "--tiles"])
def test_one_folder_alone_is_refused(option, tmp_path):
    with pytest.raises(ValueError, match="--models and --tiles must be given together, got only one of them"):
        choose_photographs(options(option, tmp_path))


@pytest.mark.parametrize(("platform", "told"), [("linux", 3 * 1024), ("darwin", 3 * 1024 * 1024)])
def test_peak_memory_in_the_units_of_the_system(platform, told, monkeypatch):
    monkeypatch.setattr(sys, "platform", platform)
    assert peak_megabytes(SimpleNamespace(ru_maxrss=told)) == 3
