"""The examples of docs/gallery.md, run as they stand there."""

import re
from pathlib import Path

import matplotlib as mpl
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M)
CODE = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", re.S | re.M)
PICTURE = re.compile(r"!\[.+?\]\(gallery/(.*?)\)")


@pytest.fixture(autouse=True)
def _no_windows():
    from matplotlib import pyplot as plt

    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.mark.parametrize(("name", "text"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_example_prints_and_draws_what_the_page_shows(name, text, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    ((code, expected),) = CODE.findall(text)
    exec(compile(code, name, "exec"), {})
    assert capsys.readouterr().out == expected
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == set(PICTURE.findall(text))
    assert all((ROOT / "docs" / "gallery" / picture).exists() for picture in drawn)
