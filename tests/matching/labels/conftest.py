import json
from contextlib import chdir
from pathlib import Path

import pytest
from PIL import Image
from planting import crops, object_pair

from matching.cli import main as cli

QUICK = ("--quiet", "--max-matches", "800", "--jobs", "1")


def make_pictures():
    """An astronaut and a cup in the current folder, and pictures to label: one shows both, one neither."""
    Path("photos").mkdir()
    own = crops()
    Image.fromarray(own["astronaut"]).save("astronaut.png")
    Image.fromarray(own["coffee"]).save("cup.png")
    Image.fromarray(object_pair()[1]).save("photos/both.png")
    Image.fromarray(own["chelsea"]).save("photos/cat.png")


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """The folder of features that the tests share."""
    return tmp_path_factory.mktemp("features")


@pytest.fixture
def label(tmp_path, monkeypatch, capsys, cache):
    """Runs the command in a folder of `make_pictures`: (exit status, output, errors)."""
    monkeypatch.chdir(tmp_path)
    make_pictures()

    def call(*arguments):
        words = ["label", "--in", "photos", *map(str, arguments), "--cache", str(cache), *QUICK]
        return cli.main(words), *capsys.readouterr()

    return call


@pytest.fixture(scope="session")
def record(tmp_path_factory, cache):
    """The record of a run that found the astronaut and the cup, without the files that it wrote."""
    with chdir(tmp_path_factory.mktemp("labelled")):
        make_pictures()
        words = ["label", "--in", "photos", "astronaut.png", "cup.png", "--out", "labels"]
        assert cli.main([*words, "--cache", str(cache), *QUICK]) == 0
        lines = Path("labels", "labels.jsonl").read_text().splitlines(keepends=True)
    return "".join(line for line in lines if "written" not in json.loads(line))


@pytest.fixture
def begin(label, record):
    """Makes a folder with the record of a run, so that the same command finds the places there."""

    def make(out):
        Path(out).mkdir()
        Path(out, "labels.jsonl").write_text(record)

    return make
