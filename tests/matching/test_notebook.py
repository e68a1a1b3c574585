"""The tutorial notebook, run as a reader runs it."""

import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks are run by nbclient")
client = pytest.importorskip("nbclient", reason="notebooks are run by nbclient")
pytest.importorskip("ipykernel", reason="notebooks are run by ipykernel")

pytestmark = pytest.mark.slow  # starts a kernel
PATH = Path(__file__).parents[2] / "docs" / "tutorial.ipynb"


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    read = nbformat.read(PATH, as_version=4)
    where = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    client.NotebookClient(read, timeout=600, kernel_name="python3", resources=where).execute()
    return read


def output(notebook, code, kind):
    (cell,) = [cell for cell in notebook.cells if cell.source.endswith(code)]
    return next(o.data[kind] for o in cell.outputs if kind in o.get("data", {}))


def printed(notebook, code):
    (cell,) = [cell for cell in notebook.cells if code in cell.source]
    return "".join(o.text for o in cell.outputs if o.output_type == "stream")


def test_results_are_displayed(notebook):
    shown = output(notebook, "\nresult", "text/html")
    assert "2 objects in both" in shown
    assert "picture 0: 2 copies (objects 0, 1)" in shown
    assert shown.count('<img src="data:image/jpeg;base64,') == 1
    assert output(notebook, "\nresult", "text/plain").startswith("<MatchResult: 2 objects, sure")
    repeats = output(notebook, "\nrepeats", "text/html")
    assert re.search(r"<td>2</td>", repeats)  # places
    assert printed(notebook, "name_place").split() == ["0", "['0-1',", "'0-2']"]


def test_rejected_groups_are_collapsed(notebook):
    shown = output(notebook, "\nnothing", "text/html")
    assert "No common object" in shown
    folded = re.search(r"<details><summary>Rejected matches, and why</summary>(.*)</details>", shown, re.S)
    assert "<th>reason</th>" in folded[1]
    assert "<table>" not in shown.replace(folded[0], "")


def test_table_motions_and_files(notebook):
    table = output(notebook, ".round(2)", "text/plain")
    assert re.findall(r"(True|False)$", table, re.M) == ["True", "True"]
    assert "turned 90° anticlockwise" in printed(notebook, "found.motion.words")
    assert "matches.html" in output(notebook, "folder.iterdir())", "text/plain")


def test_no_outputs_are_stored():
    stored = nbformat.read(PATH, as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in stored.cells)
