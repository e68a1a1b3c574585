import sys
from collections import Counter
from pathlib import Path

import pytest
import skimage.data
from PIL import Image

from eval.common.options import peak_megabytes
from eval.matching.photographs import fuzz
from matching import match
from matching.errors import InputError
from matching.pictures.images import read_picture

resource = pytest.importorskip("resource")  # not on Windows

PICTURE = skimage.data.coffee()[100:180, 150:270]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs wait4")


def test_each_format_and_damage_in_turn_and_the_same_again():
    files = fuzz.make_damaged_files(PICTURE, 24, seed=1)
    kinds = Counter(name.split("-", 1)[1] for name, _ in files)
    assert len(kinds) == 12
    assert set(kinds.values()) == {2}
    assert files == fuzz.make_damaged_files(PICTURE, 24, seed=1)
    assert files != fuzz.make_damaged_files(PICTURE, 24, seed=2)


def test_damaged_files_are_read_or_told_in_one_line(tmp_path):
    told = 0
    for name, content in fuzz.make_damaged_files(PICTURE, 120, seed=3):
        path = tmp_path / name
        path.write_bytes(content)
        try:
            assert read_picture(path).rgb.ndim == 3
        except InputError as error:
            assert name in str(error)
            assert "\n" not in str(error)
            told += 1
    assert 60 < told < 120


@pytest.fixture(scope="module")
def compiled():
    """A run that compiles would be taken for one that hangs."""
    match(PICTURE, PICTURE)


@pytest.mark.parametrize("k", [1, 10])
def test_the_command_takes_damaged_files(tmp_path, compiled, k):
    Image.fromarray(PICTURE).save(tmp_path / "whole.png")
    outcome = fuzz.check(*fuzz.make_damaged_files(PICTURE, 12, seed=4)[k], tmp_path / "whole.png")
    assert outcome.fault == ""
    assert outcome.status in (0, 1, 2)
    own = peak_megabytes(resource.getrusage(resource.RUSAGE_SELF))  # a child begins with as much on Linux
    assert 20 < outcome.memory < max(own, 600) + 400


def test_faults_are_seen(tmp_path):
    def fault(status, error="", seconds=1.0, memory=100.0, out="none"):
        return fuzz._fault(status, seconds, memory, error, tmp_path / out, Path("a.png"))

    assert fault(0) == fault(1) == fault(2, "error: a.png: damaged") == ""
    assert fault(2, "Traceback (most recent call last):\n") == "traceback"
    assert fault(-11) == "ended by signal 11"
    assert fault(70) == "exit status 70"
    assert fault(0, seconds=99) == "hang"
    assert fault(0, memory=2500) == "2500 MB"
    assert fault(2) == "no reason given"
    assert fault(2, "error: damaged") != ""
    assert fault(2, "warning\nerror: a.png") != ""
    assert fault(0, "libtiff: warning") == "unexpected output on standard error"
    (tmp_path / "out").mkdir()
    assert fault(2, "error: a.png", out="out") == "left an output folder"
