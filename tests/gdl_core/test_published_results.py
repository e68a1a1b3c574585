"""Published results, with the paper's rule: its tables and the partitions of the authors' program."""

import os
from pathlib import Path

import numpy as np
import pytest
from graphs import same_partition
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import normalized_mutual_info_score

from gdl_core import GraphDegreeLinkage

PAPER = {"n_neighbors": 20, "min_cluster_size": 1}
DATA = Path(os.environ.get("GDL_DATA", "/nonexistent"))
ORACLE = DATA / "oracle" / "gdl_u_labels.npz"
needs_data = pytest.mark.skipif(not ORACLE.exists(), reason="GDL_DATA is not set to the data folder")


def images(name):
    with np.load(DATA / "clustering" / f"{name}.npz") as z:
        return z["X"].reshape(len(z["X"]), -1), z["y"]


def oracle_input(name):
    if name == "digits":
        return load_digits().data, 10
    if name.startswith("blobs"):
        options = {
            "n_features": 20,
            "centers": 10,
            "cluster_std": 4.0,
            "center_box": (-5, 5),
            "random_state": 0,
        }
        return make_blobs(n_samples=int(name[5:]), **options)[0], 10
    return images("coil20")[0].astype(float), 20


@needs_data
def test_partitions_equal_those_of_the_authors_program():
    with np.load(ORACLE) as oracle:
        assert len(oracle.files) == 7
        for key in oracle.files:
            name, setting = key.split("__")
            bandwidth = float(setting.split("_a")[1])
            x, n_clusters = oracle_input(name)
            model = GraphDegreeLinkage(
                n_clusters=n_clusters, algorithm="gdl-u", bandwidth=bandwidth, **PAPER
            ).fit(x)
            assert same_partition(model.labels_, oracle[key]), key


@needs_data
def test_coil20_reaches_published_nmi():
    x, y = images("coil20")
    x = x.astype(np.float32) / 255
    model = GraphDegreeLinkage(n_clusters=20, algorithm="gdl-u", n_neighbors=20, min_cluster_size=5).fit(x)
    assert normalized_mutual_info_score(y, model.labels_, average_method="geometric") >= 0.94


@needs_data
@pytest.mark.parametrize("algorithm", ["gdl-u", "agdl"])
def test_mnist_test_reproduces_the_papers_table(algorithm):
    x, y = images("mnist_test")
    graph = GraphDegreeLinkage(10, algorithm, n_jobs=2, **PAPER).fit(x.astype(np.float32))
    nmi = normalized_mutual_info_score(y, graph.labels_, average_method="geometric")
    table = np.zeros((10, 10), int)
    np.add.at(table, (y, graph.labels_), 1)
    matched = table[linear_sum_assignment(-table)].sum()
    assert round(float(nmi), 3) == 0.844
    assert round(1 - matched / len(y), 3) == 0.150
