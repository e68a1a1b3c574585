import argparse
import sys
from types import SimpleNamespace

import pytest
import skimage.data
import skimage.io

from eval.common.options import add_photograph_options, choose_photographs, exit_status, peak_megabytes


def options(*words):
    parser = argparse.ArgumentParser()
    add_photograph_options(parser)
    return parser.parse_args([str(w) for w in words])


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


def test_exit_status(capsys):
    def refuse():
        raise ValueError("x must be 1, got 2")

    def stop():
        raise KeyboardInterrupt

    assert exit_status(lambda: print("done")) == 0
    assert exit_status(lambda: 1) == 1
    assert exit_status(refuse) == 2
    assert exit_status(stop, "stopped here") == 130
    told = [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()]
    assert told == ["x must be 1, got 2", "stopped here"]


def test_errors_of_the_program_keep_their_traceback(capsys):
    assert exit_status(lambda: print(1 / 0)) == 3
    told = capsys.readouterr().err
    assert told.startswith("Traceback")
    assert told.endswith("ZeroDivisionError: division by zero\n")
