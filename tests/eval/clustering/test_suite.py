import numpy as np
import pytest
from sklearn.datasets import make_blobs

from eval.clustering import changed, suite


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "clustering" / "suite"
    folder.mkdir(parents=True)
    for name, k in (("sipu_a2", 3), ("other_iris", 4)):
        x, y = make_blobs(300, centers=30 * np.eye(k), random_state=0)
        coarse = np.minimum(y, 1)
        np.savez(folder / f"{name}.npz", X=x, labels=np.stack([y + 1, np.where(y == 0, 0, coarse)]))
    return tmp_path


def test_tables(data):
    methods = {n: suite.METHODS[n] for n in ("GraphDegreeLinkage", "Ward")}
    scores, seconds = suite.score_methods(data, methods)
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

    monkeypatch.setattr(changed, "CHECKED", {"missing": missing})
    assert changed.changed_rows(data) == []
    assert suite.score_methods(data, {"missing": missing}) == ({}, {})


@pytest.mark.parametrize("kind", changed.CHANGES)
def test_changed_copies(kind):
    x, labels = np.random.default_rng(0).normal(size=(100, 3)), np.arange(100)[None]
    found, kept = changed.change(kind, x, labels, "a set")
    again, _ = changed.change(kind, x, labels, "a set")
    np.testing.assert_array_equal(found, again)
    assert len(found) == kept.shape[1] == {"jitter": 100, "subsample": 70, "rotate": 90, "scale": 80}[kind]
    of = x[kept[0]]
    length, expected = np.linalg.norm(found, axis=1), np.linalg.norm(of, axis=1)
    if kind == "subsample":
        np.testing.assert_array_equal(found, of)
    elif kind == "scale":
        np.testing.assert_allclose(sorted((found / of).mean(axis=0)), [1, 1, 1.5])
    else:
        assert 0 < np.median(abs(length - expected)) < 0.5
        assert np.allclose(found, of, atol=1.5) == (kind == "jitter")


def test_agreement_on_changed_copies(data, monkeypatch):
    monkeypatch.setattr(changed, "CHECKED", {"GraphDegreeLinkage": suite.METHODS["GraphDegreeLinkage"]})
    assert changed.changed_rows(data) == [["GraphDegreeLinkage", *["1.000"] * 5]]
