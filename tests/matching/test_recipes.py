"""The recipes of docs/recipes.md, run as they stand there, on the pictures that an experiment makes."""

import re
import shlex
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from eval import door
from matching.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = re.findall(
    r"^## (.*?)\n(.*?)(?=^## |\Z)", (ROOT / "docs" / "recipes.md").read_text("utf-8"), re.S | re.M
)
STEP = re.compile(r"^```(bash|python)\n(.*?)^```\n\n```text\n(.*?)^```", re.S | re.M)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "recipes"
    assert door.main(["recipe-pictures", "--out", str(folder)]) == 0
    return folder


def assert_similar(output, expected):
    """The same words, and numbers that differ no more than on other processors."""
    assert NUMBER.sub("#", output).split() == NUMBER.sub("#", expected).split(), output
    numbers = [[float(text) for text in NUMBER.findall(page)] for page in (output, expected)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.05, abs=2), output


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), SECTIONS, ids=[name for name, _ in SECTIONS])
def test_recipe(name, text, pictures, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(pictures)
    kernels, cache = user_cache_path("gdl-match", appauthor=False) / "kernels", tmp_path / "gdl-match"
    kernels.mkdir(parents=True, exist_ok=True)
    cache.mkdir()
    (cache / "kernels").symlink_to(kernels)  # features are new, and kernels need not be compiled again
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    steps = STEP.findall(text)
    assert [language for language, _, _ in steps] == ["bash", "python"]
    for language, code, expected in steps:
        if language == "bash":
            assert main(shlex.split(code)[1:]) == 0
        else:
            exec(compile(code, name, "exec"), {})
        assert_similar(capsys.readouterr().out, expected)


def test_page_has_recipes():
    assert len(SECTIONS) == 10
