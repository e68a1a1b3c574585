"""What the benchmark of the clusterer measures, on a few samples."""

import math

import numpy as np
import pytest

from eval.clustering import figures, growth, rivals
from eval.common.measuring import peak_megabytes, run_apart


def test_a_fit_from_files_is_the_fit_of_the_samples(tmp_path):
    n = 1_500
    assert not growth.has_graph(n, tmp_path / "graph")
    growth.write_graph(n, tmp_path / "graph", 1)
    assert growth.has_graph(n, tmp_path / "graph")
    whole, given = growth.fit_blobs(n, 1), growth.fit_given_graph(tmp_path / "graph", 1)
    assert whole.n == given.n == n
    assert whole.score == given.score > 0.95
    for fit in (whole, given):
        assert 0 < fit.merging < fit.cpu
        assert 0 < fit.before <= fit.peak


def test_a_graph_of_another_size_is_refused(tmp_path):
    growth.write_graph(100, tmp_path, 1)
    with pytest.raises(ValueError, match=r"indices.npy must have shape \(200, 20\), got \(100, 20\)"):
        growth.has_graph(200, tmp_path)


def test_a_process_apart_does_not_hold_what_this_one_does():
    held = np.ones(60_000_000)
    assert run_apart(peak_megabytes) < peak_megabytes() - held.nbytes / 2**21


@pytest.mark.filterwarnings("ignore:the number of connected components")
@pytest.mark.parametrize("name", ["gdl", "gdl-u", "agdl", "fit-gdl-u", "fit-hdbscan", "fit-average"])
def test_methods_find_the_blobs(name):
    rows = rivals.measure_method(name, (1_000, 1_500), 60.0, 1)
    assert [n for n, _, _ in rows] == [1_000, 1_500]
    assert all(seconds > 0 and score > 0.85 for _, seconds, score in rows)


def test_patience_ends_the_runs_of_a_method():
    assert len(rivals.measure_method("gdl-u", (1_000, 1_500), 0.0, 1)) == 1


def test_exponent_of_a_power_of_n_from_where_starting_is_over():
    curve = [(1_000, 7.0), *((n, 3e-9 * n**1.5) for n in (4_000, 8_000, 16_000))]
    assert rivals.growth_exponent(curve) == pytest.approx(1.5)
    assert rivals.growth_exponent([(1_000, 1.0), (2_000, 4.0)]) == pytest.approx(2)


def test_rows_become_a_table_and_a_figure(tmp_path):
    rows = [
        {"method": name, "kind": method.kind, "n": n, "seconds": 1e-6 * n, "nmi": 1.0}
        for name, method in rivals.METHODS.items()
        for n in (4_000, 8_000, 16_000)
    ]
    rows.append(
        {"method": "GDL-U, authors", "kind": rivals.PAPER, "n": 1_440, "seconds": 0.2, "nmi": math.nan}
    )
    rows.append(
        {"method": "GDL-U, authors", "kind": rivals.PAPER, "n": 2_880, "seconds": 0.8, "nmi": math.nan}
    )
    table = rivals.exponent_rows(rows)
    assert table[0] == ["GDL (Algorithm 1)", "merging", "0.008", "16,000", "0.016", "1.00", "1.0000"]
    assert ["GDL-U, authors", "published", "", "2,880", "0.8", "2.00", ""] in table
    figures.draw_growth(rows, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes()[1:4] == b"PNG"
