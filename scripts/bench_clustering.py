#!/usr/bin/env python3
"""Time, memory and quality of gdl_core beside what a user would take instead, all measured in one run.

Prints Markdown tables. Times are medians; ratios are between medians of one run. Run it on a quiet machine.
Needs Linux or macOS.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eval.common.options import check_least, exit_status, peak_megabytes

SETS = {"coil20": 20, "coil100": 100, "usps9298": 10, "mnist_test": 10, "yaleb": 38}
SIZES = (4_000, 8_000, 16_000, 32_000, 64_000, 128_000)
NEIGHBOURS = (8, 10, 15, 20, 30, 40)  # K
SMALLEST = (1, 2, 3, 5, 8, 10, 20)  # min_cluster_size
NEEDED = {
    "merging": ("mnist_test",),
    "neighbours": ("mnist_test",),
    "quality": tuple(SETS),
    "bandwidth": tuple(SETS),
}  # sets by part
PARTS = ("merging", "scaling", "peers", "memory", "neighbours", "million", "quality", "bandwidth")
ON_REQUEST = ("neighbours", "million")


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"of {', '.join(PARTS)}; default: all but {' and '.join(ON_REQUEST)}",
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("GDL_DATA"), help="folder with clustering/"
    )
    parser.add_argument("--repeats", type=int, default=5, help="runs a time is the median of")
    parser.add_argument("--jobs", type=int, default=2, help="threads, for every method that takes them")
    parser.add_argument("--figure", type=Path, help="PNG for the part quality")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    return exit_status(lambda: measure(options))


def measure(options):
    check_least(options, repeats=1, jobs=1, child=1)
    if options.child:
        return print_fit_of_blobs(options.child, options.jobs)
    parts = options.parts or [p for p in PARTS if p not in ON_REQUEST]
    unknown = [p for p in parts if p not in PARTS]
    if unknown:
        raise ValueError(f"PART must be one of {', '.join(PARTS)}, got {unknown[0]}")
    for part in parts:
        check_data(options.data, part)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in parts:
            globals()[part](options)
    print(f"\nload average of the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    return None


def check_data(data, part):
    """Raises ValueError where the folder lacks a set that the part needs."""
    for name in NEEDED.get(part, ()):
        if data is None or not (Path(data) / "clustering" / f"{name}.npz").is_file():
            needed = f"with clustering/{name}.npz, got {data}"
            raise ValueError(f"{part}: --data or GDL_DATA must name a folder {needed}")


class Seconds(NamedTuple):
    wall: float
    cpu: float  # of all threads; what a busy machine inflates least


def median_time(call, repeats):
    """Median `Seconds` of ``call`` after one run that may compile, and its last result."""
    result, wall, cpu = call(), [], []
    for _ in range(repeats):
        start = time.perf_counter(), time.process_time()
        result = call()
        wall.append(time.perf_counter() - start[0])
        cpu.append(time.process_time() - start[1])
    return Seconds(statistics.median(wall), statistics.median(cpu)), result


def format_table(title, header, rows):
    print(f"\n### {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    sys.stdout.flush()


def nmi(y, labels):
    from sklearn.metrics import normalized_mutual_info_score

    return normalized_mutual_info_score(y, labels, average_method="geometric")


def blobs(n):
    from sklearn.datasets import make_blobs

    x, y = make_blobs(n, n_features=16, centers=50, cluster_std=2.0, random_state=0)
    return x.astype(np.float32), y


def images(options, name):
    from eval.images.datasets import load

    found = load(name, Path(options.data) / "clustering")
    return found.images.reshape(len(found), -1) / np.float32(255), found.labels


def merging(options):
    """Merging alone and the whole fit on the MNIST test set, beside the neighbour search."""
    from sklearn.neighbors import NearestNeighbors

    from gdl_core import GraphDegreeLinkage, affinity_graph, agdl, gdl_u, initial_clusters, knn_graph

    x, y = images(options, "mnist_test")
    repeats = options.repeats
    model = GraphDegreeLinkage(n_clusters=10, algorithm="gdl-u", n_jobs=options.jobs)
    searching, _ = median_time(
        lambda: NearestNeighbors(n_neighbors=20, n_jobs=options.jobs).fit(x).kneighbors(), repeats
    )
    ours, knn = median_time(lambda: knn_graph(x, 20, n_jobs=options.jobs), repeats)
    whole, _ = median_time(lambda: model.fit(x), repeats)
    graph, labels = affinity_graph(knn), initial_clusters(knn)
    exact, tree = median_time(lambda: gdl_u(graph, labels), repeats)
    fast, tree_fast = median_time(lambda: agdl(graph, labels), repeats)
    steps = {
        "exact 20-NN search, scikit-learn": (searching, ""),
        "`knn_graph`": (ours, ""),
        "whole fit, `gdl-u`": (whole, f"{nmi(y, model.labels_):.4f}"),
        "`gdl_u`: all merges": (exact, f"{nmi(y, tree.cut(10)):.4f}"),
        "`agdl`: all merges": (fast, f"{nmi(y, tree_fast.cut(10)):.4f}"),
    }
    rows = [
        (
            step,
            f"{t.wall:.3f}",
            f"{t.cpu:.3f}",
            f"{t.wall / searching.wall:.3f}",
            f"{t.cpu / searching.cpu:.3f}",
            score,
        )
        for step, (t, score) in steps.items()
    ]
    header = ("step", "seconds", "CPU s", "ratio", "ratio of CPU s", "NMI")
    format_table("MNIST test set, 10,000 x 784, K=20, K0=1, a=1", header, rows)


def scaling(options):
    """Merging time against n."""
    from gdl_core import affinity_graph, agdl, gdl_u, initial_clusters, knn_graph

    rows, times = [], {"one": [], "two": [], "agdl": []}
    for n in SIZES:
        x, y = blobs(n)
        knn = knn_graph(x, 20, n_jobs=options.jobs, search="exact")
        graph, labels = affinity_graph(knn), initial_clusters(knn)
        one, tree = median_time(lambda g=graph, c=labels: gdl_u(g, c), options.repeats)
        two, _ = median_time(lambda g=graph, c=labels: gdl_u(g, c, n_jobs=options.jobs), options.repeats)
        fast, _ = median_time(lambda g=graph, c=labels: agdl(g, c), options.repeats)
        for name, value in zip(times, (one, two, fast), strict=True):
            times[name].append(value)
        cells = (f"{t.wall:.3f} ({t.cpu:.3f})" for t in (one, two, fast))
        rows.append((f"{n:,}", f"{tree.n_initial:,}", *cells, f"{nmi(y, tree.cut(50)):.4f}"))
    slopes = [np.polyfit(np.log(SIZES), np.log(t), 1)[0] for t in times.values()]
    rows.append(("exponent", "", *(f"{wall:.2f} ({cpu:.2f})" for wall, cpu in slopes), ""))
    header = ("n", "initial clusters", "`gdl_u`", f"`gdl_u`, {options.jobs} threads", "`agdl`", "NMI")
    format_table("Merging alone, 50 blobs in 16 dimensions, K=20: seconds (CPU seconds)", header, rows)


def peers(options):
    """The whole fit beside scikit-learn's clusterers."""
    from sklearn.cluster import HDBSCAN, AgglomerativeClustering, SpectralClustering
    from sklearn.neighbors import kneighbors_graph

    from gdl_core import GraphDegreeLinkage

    def average_linkage(x):
        near = kneighbors_graph(x, 20, include_self=False, n_jobs=options.jobs)
        return AgglomerativeClustering(50, linkage="average", connectivity=near).fit(x)

    def spectral(x):
        return SpectralClustering(
            50, affinity="nearest_neighbors", n_neighbors=20, random_state=0, n_jobs=options.jobs
        ).fit(x)

    def gdl_of(algorithm):
        return lambda x: GraphDegreeLinkage(50, algorithm, n_jobs=options.jobs).fit(x)

    methods = {
        16_000: {
            "GraphDegreeLinkage, `gdl-u`": gdl_of("gdl-u"),
            "GraphDegreeLinkage, `agdl`": gdl_of("agdl"),
            "HDBSCAN(min_cluster_size=20)": lambda x: HDBSCAN(20, n_jobs=options.jobs, copy=False).fit(x),
            "AgglomerativeClustering(average, 20-NN)": average_linkage,
        },
        8_000: {"GraphDegreeLinkage, `gdl-u`": gdl_of("gdl-u"), "SpectralClustering(20-NN)": spectral},
    }
    rows = []
    for n, those in methods.items():
        x, y = blobs(n)
        first = None
        for name, fit in those.items():
            slow = not name.startswith("Graph")
            seconds, model = median_time(lambda f=fit, x=x: f(x), 1 if slow else options.repeats)
            first = first or seconds
            ratios = f"{seconds.wall / first.wall:.1f}", f"{seconds.cpu / first.cpu:.1f}"
            times = f"{seconds.wall:.2f}", f"{seconds.cpu:.2f}"
            rows.append((f"{n:,}", name, *times, *ratios, f"{nmi(y, model.labels_):.4f}"))
    header = ("n", "method", "seconds", "CPU s", "ratio", "ratio of CPU s", "NMI")
    format_table("Whole fits on the same blobs", header, rows)


def print_fit_of_blobs(n, jobs):
    """One fit in a process of its own: seconds, CPU seconds, NMI, memory before and at the peak in MB."""
    from gdl_core import GraphDegreeLinkage

    warnings.simplefilter("ignore")
    GraphDegreeLinkage(2, "gdl-u").fit(blobs(200)[0])
    x, y = blobs(n)
    before = peak_megabytes(resource.getrusage(resource.RUSAGE_SELF))
    start, cpu = time.perf_counter(), time.process_time()
    labels = GraphDegreeLinkage(50, "gdl-u", n_jobs=jobs).fit_predict(x)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = peak_megabytes(resource.getrusage(resource.RUSAGE_SELF))
    print(seconds, cpu, nmi(y, labels), before, peak)


def fit_in_child(n, jobs):
    command = [sys.executable, __file__, "--child", str(n), "--jobs", str(jobs)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [float(value) for value in out.split()]


def memory(options):
    """Peak memory of a whole fit against n."""
    rows = []
    for n in SIZES:
        seconds, cpu, score, before, peak = fit_in_child(n, options.jobs)
        rows.append(
            (f"{n:,}", f"{seconds:.2f}", f"{cpu:.2f}", f"{before:.0f}", f"{peak:.0f}", f"{score:.4f}")
        )
    header = ("n", "seconds", "CPU s", "MB before the fit", "MB at the peak", "NMI")
    format_table("One whole fit in a process of its own, `gdl-u`", header, rows)


def neighbours(options):
    """Approximate neighbours beside faiss and pynndescent, where these are installed: time and recall."""
    from gdl_core import knn_graph

    rng = np.random.default_rng(0)
    centres = rng.normal(0, 4, (100, 16))
    points = (centres[rng.integers(0, 100, 200_000)] + rng.normal(size=(200_000, 16))).astype(np.float32)
    pictures = images(options, "mnist_test")[0].reshape(-1, 28, 28)
    shifts = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (-1, -1))
    shifted = np.concatenate([np.roll(pictures, shift, (1, 2)).reshape(-1, 784) for shift in shifts])
    rows = []
    for x, k, lists in ((points, 15, (1024, 16)), (shifted, 20, (256, 16))):
        knn_graph(x[:3000], k, search="approximate")  # compiles
        methods = {
            "`knn_graph`, approximate": lambda x, k: (
                knn_graph(x, k, search="approximate", n_jobs=options.jobs).indices
            ),
            f"faiss IVFFlat, {lists[0]:,} lists, {lists[1]} probed": lambda x, k, lists=lists: (
                search_with_faiss(x, k, *lists)
            ),
            "pynndescent": search_with_pynndescent,
        }
        chosen = rng.choice(len(x), 1000, replace=False)
        exact = exact_neighbours(x, chosen, k)
        for name, search in methods.items():
            start = time.process_time()
            try:
                found = search(x, k)[chosen]
            except ImportError:
                continue
            seconds = time.process_time() - start
            shared = [len(set(a) & set(b)) for a, b in zip(found.tolist(), exact.tolist(), strict=True)]
            size = f"{len(x):,} x {x.shape[1]}"
            rows.append((size, name, f"{seconds:.1f}", f"{sum(shared) / exact.size:.3f}"))
    format_table("Approximate neighbours", ("samples", "method", "CPU s", "recall"), rows)


def exact_neighbours(x, chosen, k):
    """The k nearest others of the chosen samples, (c, k)."""
    from sklearn.neighbors import NearestNeighbors

    found = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(x).kneighbors(x[chosen])[1]
    return np.array([row[row != i][:k] for i, row in zip(chosen, found, strict=True)])


def search_with_faiss(x, k, n_lists, n_probes):
    import faiss

    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(x.shape[1]), x.shape[1], n_lists)
    index.train(x)
    index.add(x)
    index.nprobe = n_probes
    return index.search(x, k + 1)[1][:, 1:]


def search_with_pynndescent(x, k):
    from pynndescent import NNDescent

    return NNDescent(x, n_neighbors=k + 1, n_jobs=1, random_state=0).neighbor_graph[0][:, 1:]


def million(options):
    """A million samples: approximate neighbours, time and memory of the whole process."""
    seconds, cpu, score, before, peak = fit_in_child(1_000_000, options.jobs)
    minutes = f"{seconds / 60:.1f}", f"{cpu / 60:.1f}"
    row = ("1,000,000 x 16", *minutes, f"{before / 1024:.2f}", f"{peak / 1024:.2f}", f"{score:.4f}")
    header = ("samples", "minutes", "CPU minutes", "GB before the fit", "GB at the peak", "NMI")
    format_table("A million samples, `gdl-u`", header, [row])


def quality(options):
    """NMI over K and min_cluster_size."""
    from gdl_core import (
        affinity_graph,
        gdl_u,
        give_to_neighbours,
        initial_clusters,
        knn_graph,
        select_clusters,
    )

    scores = np.empty((len(SETS), len(NEIGHBOURS), len(SMALLEST)))
    for i, (name, n_clusters) in enumerate(SETS.items()):
        x, y = images(options, name)
        full = knn_graph(x, max(NEIGHBOURS), n_jobs=options.jobs)
        for j, k in enumerate(NEIGHBOURS):
            knn = full.first(k)
            graph = affinity_graph(knn)
            tree = gdl_u(graph, initial_clusters(knn))
            for s, size in enumerate(SMALLEST):
                labels = select_clusters(tree, n_clusters, size).labels
                scores[i, j, s] = nmi(y, give_to_neighbours(graph, labels))
    rows = [
        (name, k, *(f"{score:.3f}" for score in scores[i, j]))
        for i, name in enumerate(SETS)
        for j, k in enumerate(NEIGHBOURS)
    ]
    header = ("set", "K", *(f"size {size}" for size in SMALLEST))
    format_table("NMI against min_cluster_size: gdl-u, K0=1, a=1", header, rows)
    if options.figure:
        draw_quality(scores, options.figure)


def draw_quality(scores, path):
    """NMI against K, with and without counting small clusters."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for name, row, colour in zip(
        SETS, scores, ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7"), strict=True
    ):
        axes.plot(NEIGHBOURS, row[:, SMALLEST.index(5)], "-o", color=colour, label=name)
        axes.plot(NEIGHBOURS, row[:, 0], ":o", color=colour, markerfacecolor="white")
    axes.plot([], [], "-ok", label="min_cluster_size=5")
    axes.plot([], [], ":ok", markerfacecolor="white", label="min_cluster_size=1 (the paper)")
    axes.set(xlabel="neighbours K", ylabel="NMI (geometric mean)", ylim=(0, 1), xticks=NEIGHBOURS)
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def bandwidth(options):
    """NMI over the bandwidth, and with a scale of each sample's own."""
    from gdl_core import (
        AffinityGraph,
        affinity_graph,
        gdl_u,
        give_to_neighbours,
        initial_clusters,
        knn_graph,
        select_clusters,
    )

    def own_scale(knn):
        scale = knn.distances[:, 6]
        weights = np.exp(-(knn.distances**2) / (scale[:, None] * scale[knn.indices]))
        plain = affinity_graph(knn)
        return AffinityGraph(plain.indptr, plain.indices, weights.ravel())

    rows = []
    for name, n_clusters in SETS.items():
        x, y = images(options, name)
        knn = knn_graph(x, 20, n_jobs=options.jobs)
        graphs = [affinity_graph(knn, a) for a in (0.1, 1.0, 10.0, 100.0)]
        graphs += [affinity_graph(knn, 0.1, min_nearest_weight=1e-5), own_scale(knn)]
        for size in (1, 5):
            trees = [gdl_u(graph, initial_clusters(knn)) for graph in graphs]
            labels = [select_clusters(tree, n_clusters, size).labels for tree in trees]
            scores = [nmi(y, give_to_neighbours(g, c)) for g, c in zip(graphs, labels, strict=True)]
            rows.append((name, size, *(f"{s:.3f}" for s in scores)))
    header = ("set", "size", "a=0.1", "a=1", "a=10", "a=100", "a=0.1, nearest >= 1e-5", "own scale")
    format_table("NMI against the bandwidth: gdl-u, K=20, K0=1", header, rows)


if __name__ == "__main__":
    sys.exit(main())
