"""The pages of docs/: examples run, and defaults and options are those of the program."""

import importlib.util
import re
from functools import reduce
from pathlib import Path

import pytest
from PIL import Image
from planting import object_pair

from matching import MatchConfig
from matching.cli.subcommands import SUBCOMMANDS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_tutorial_example_finds_the_motorcycle(capsys):
    page = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    names = {}
    exec(compile(example, "tutorial.md", "exec"), names)
    row = re.search(r"^ +0 +(\d+) +([\d.]+)  sure", page, re.M)
    first = names["result"].objects[0]
    assert len(names["result"].objects) == 2
    assert first.n_matches == pytest.approx(int(row[1]), rel=0.02)  # processors differ in last bits
    assert first.score == pytest.approx(float(row[2]), abs=0.02)
    assert capsys.readouterr().out.startswith(f"0 {first.n_matches} sure")


def test_pipeline_example_replaces_the_clustering(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, picture in zip(("left", "right"), object_pair(), strict=True):
        Image.fromarray(picture).save(f"{name}.jpg", quality=95)
    page = (DOCS / "matching.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    names = {}
    exec(compile(example, "matching.md", "exec"), names)
    assert len(names["result"].objects) == 1  # two with the clustering as it is
    assert "smooth map" in names["result"].dropped_by


def test_page_of_missed_objects_names_the_defaults():
    page = (DOCS / "missed-split-merged.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_]+(?:\.[a-z_]+)?)` \(([\d.]+)\)", page)
    assert len(named) > 8
    for name, default in named:
        assert reduce(getattr, name.split("."), MatchConfig()) == float(default), name


def test_page_of_commands_lists_subcommands_and_options():
    spec = importlib.util.spec_from_file_location("commands", DOCS / "commands.py")
    commands = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(commands)
    page = commands.describe_commands()
    sections = re.split(r"(?<=\n)\n## (.*)\n", f"\n{page}")
    names = ["gdl-match", *(f"gdl-match {name}" for name in SUBCOMMANDS)]
    assert set(names) <= set(sections[1::2])
    assert {"gdl-match index add", "gdl-match index query"} <= set(sections[1::2])
    for option in ("`--db FILE`", "`--html-pairs N`"):
        assert option in sections[sections.index("gdl-match collection") + 1]
    assert "&lt;stem0&gt;-&lt;stem1&gt;-match" in sections[2]
    assert "```text\ngdl-match serve [-h]" in page
