"""The packages that are annotated throughout pass the type checker, with the settings of pyproject.toml."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("gdl_core", "synth")  # others follow once they are annotated

PARTS = (  # of a package that is not annotated throughout yet
    "matching._lazy",
    "matching._opencv",
    "matching.collection.addresses",
    "matching.collection.cache",
    "matching.collection.export",
    "matching.collection.groups",
    "matching.collection.html_groups",
    "matching.collection.plan",
    "matching.collection.query_results",
    "matching.collection.records",
    "matching.collection.relations",
    "matching.collection.retrieval.codes",
    "matching.collection.retrieval.search",
    "matching.collection.retrieval.segments",
    "matching.collection.room",
    "matching.collection.run",
    "matching.collection.settings",
    "matching.collection.store",
    "matching.collection.work",
    "matching.correspondences.candidates",
    "matching.correspondences.correspondences",
    "matching.correspondences.distances",
    "matching.errors",
    "matching.features.extraction",
    "matching.features.keypoints",
    "matching.features.thinning",
    "matching.grouping._kernels",
    "matching.grouping._vote_kernels",
    "matching.grouping.clustering",
    "matching.grouping.graph",
    "matching.grouping.local_maps",
    "matching.grouping.paper",
    "matching.grouping.smooth_map",
    "matching.grouping.suppression",
    "matching.interchange",
    "matching.objects.deformation",
    "matching.output.exchange",
    "matching.output.folders",
    "matching.output.provenance",
    "matching.parent_watchdog",
    "matching.pictures",
    "matching.threads",
)

FIT = """
from gdl_core import GraphDegreeLinkage

model = GraphDegreeLinkage(3).fit([[0.0], [1.0]])
reveal_type(model)
reveal_type(model.labels_)
reveal_type(model.cut(2))
"""


def mypy(*arguments):
    command = [sys.executable, "-m", "mypy", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.parametrize("package", PACKAGES)
def test_annotations(package):
    assert (ROOT / package / "py.typed").exists()
    result = mypy("-p", package)
    assert result.returncode == 0, result.stdout


def test_annotations_of_parts():
    chosen = [
        word for part in PARTS for word in ("-p" if (ROOT / part.replace(".", "/")).is_dir() else "-m", part)
    ]
    result = mypy("--follow-imports=silent", "--allow-untyped-calls", *chosen)  # of what is not finished
    assert result.returncode == 0, result.stdout


def test_a_fitted_clusterer_is_still_one(tmp_path):
    """So that editors complete its attributes."""
    (tmp_path / "user.py").write_text(FIT)
    lines = mypy(str(tmp_path / "user.py")).stdout.splitlines()
    shown = [line.split("Revealed type is ")[1] for line in lines if "Revealed type" in line]
    assert "GraphDegreeLinkage" in shown[0]
    assert all("signedinteger[numpy._typing._nbit_base._64Bit]" in s or "int64" in s for s in shown[1:]), (
        shown
    )
