"""The steps of the Dockerfile, without docker: what it copies, installs and starts is there."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from matching.cli import main

ROOT = Path(__file__).parents[1]
STEPS = re.findall(r"^([A-Z]+) (.+)$", (ROOT / ".docker/Dockerfile").read_text(), re.MULTILINE)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def steps(name):
    return [text for kind, text in STEPS if kind == name]


def test_its_python_is_one_that_the_project_allows():
    (image,) = steps("FROM")
    version = re.fullmatch(r"python:([\d.]+)-slim", image)[1]
    assert version in SpecifierSet(PROJECT["requires-python"])


def test_what_it_installs_is_there():
    install = shlex.split(steps("RUN")[0].split("&&")[0])
    constraints = install[install.index("-c") + 1]
    assert steps("COPY") == [". /src"]
    assert (ROOT / Path(constraints).relative_to("/src")).is_file()
    assert Path(constraints).name not in (ROOT / ".dockerignore").read_text()
    (extras,) = re.findall(r"/src\[(.+)\]", install[-1])
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("line", [["serve", "--host", "::", "--help"], ["--demo", "--out", "x", "--help"]])
def test_its_commands_are_commands(line, capsys):
    assert json.loads(steps("ENTRYPOINT")[0]) == ["gdl-match"]
    assert "gdl-match" in PROJECT["scripts"]
    with pytest.raises(SystemExit) as ended:
        main.main(line)
    assert ended.value.code == 0
    assert "usage: gdl-match" in capsys.readouterr().out
    assert "gdl-match --demo --out /tmp/demo" in steps("RUN")[2]


def test_its_port_is_the_default_one(capsys):
    with pytest.raises(SystemExit):
        main.main(["serve", "--help"])
    assert f"default: {steps('EXPOSE')[0]})" in capsys.readouterr().out
