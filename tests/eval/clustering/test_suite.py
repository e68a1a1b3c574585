import numpy as np
import pytest
from sklearn.datasets import make_blobs

from eval.clustering import suite


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "clustering" / "suite"
    folder.mkdir(parents=True)
    for name, k in (("sipu_a2", 3), ("other_iris", 4)):
        x, y = make_blobs(300, centers=30 * np.eye(k), random_state=0)
        coarse = np.minimum(y, 1)
        np.savez(folder / f"{name}.npz", X=x, labels=np.stack([y + 1, np.where(y == 0, 0, coarse)]))
    return tmp_path


def test_tables(data, monkeypatch):
    monkeypatch.setattr(suite, "METHODS", {n: suite.METHODS[n] for n in ("GraphDegreeLinkage", "Ward")})
    scores, seconds = suite.score_methods(data)
    assert scores["Ward"] == pytest.approx({"sipu_a2": 1.0, "other_iris": 1.0})
    head, rows = suite.kind_rows(scores, seconds)
    assert head == ["method", "blobs (1)", "measurements (1)", "all", "CPU s"]
    assert rows[0][:4] == ["GraphDegreeLinkage", "1.000", "1.000", "1.000"]
    head, rows = suite.each_rows(scores)
    assert rows == [["other_iris", "1.00", "1.00"], ["sipu_a2", "1.00", "1.00"]]


def test_numbers_of_clusters(data, monkeypatch):
    monkeypatch.setattr(suite, "COUNTERS", {"ten": lambda x: np.arange(len(x)) % 10, **suite.COUNTERS})
    rows = suite.count_rows(data)
    assert rows[0] == ["ten", "0%", "0%", f"{np.sqrt(10 / 3 * 10 / 4):.2f}"]
    assert rows[1][:3] == ["GraphDegreeLinkage()", "100%", "100%"]


def test_a_method_that_is_not_installed_is_left_out(data, monkeypatch):
    def missing(x, k):
        raise ImportError

    monkeypatch.setattr(suite, "METHODS", {"missing": missing})
    assert suite.score_methods(data) == ({}, {})
