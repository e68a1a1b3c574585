"""`--paper`: every stage against the text's definitions, written out as loops."""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image
from planting import bent, crops, distances_of, object_pair, strangers, together

from gdl_core import KnnGraph
from matching import MatchConfig
from matching.cli import main as cli
from matching.correspondences.candidates import match_with_reserve
from matching.correspondences.correspondences import Correspondences
from matching.errors import InputError
from matching.features.extraction import DESCRIPTOR_NORM, FeatureConfig, extract_features
from matching.grouping.clusters import ClusteringConfig
from matching.grouping.group import group
from matching.grouping.groups import label_groups
from matching.grouping.ledger import Ledger, name_steps
from matching.grouping.methods import GIVEN, GIVEN_ALONE, MANY, PAIR, PAPER, REPEATS, VIEWS, choose_method
from matching.grouping.paper import make_initial_clusters
from matching.pictures.images import make_picture_of_array
from matching.searches.search import group_candidates


def group_by_paper(correspondences, n_listed, config, ledger=None):
    """The groups, and the group of each match."""
    groups = group(correspondences, n_listed, config, PAPER, ledger)
    return groups, label_groups(len(correspondences), groups)


def planted():
    """60 strangers and 40 correspondences of an object that bends, shuffled."""
    rng = np.random.default_rng(5)
    joined, _ = together(bent(rng, 40), strangers(rng, 60))
    joined = joined[rng.permutation(100)]
    return Correspondences(joined.xy0, joined.xy1, joined.maps)


def settings(**changes):
    paper = MatchConfig.paper()
    return replace(paper, clustering=replace(paper.clustering, **changes))


def literal_graph(correspondences, k, a):
    """W (m, m) of Eq. 1, and the neighbours (m, k)."""
    d = distances_of(correspondences)
    m = len(d)
    near = [
        sorted((j for j in range(m) if j != i), key=lambda j: (np.float32(d[i, j]), j))[:k] for i in range(m)
    ]
    sigma2 = a / (m * k) * sum(d[i, j] ** 2 for i in range(m) for j in near[i])
    w = np.zeros((m, m))
    for i in range(m):
        for j in near[i]:
            w[i, j] = np.exp(-(d[i, j] ** 2) / sigma2)
    return w, near


def literal_components(near, k0):
    """Weakly connected components (Definition 1), as a list of sets."""
    clusters = [{i} for i in range(len(near))]
    for i, row in enumerate(near):
        for j in row[:k0]:
            a, b = (next(c for c in clusters if n in c) for n in (i, j))
            if a is not b:
                a |= b
                clusters.remove(b)
    return clusters


def literal_affinity(w, a, b):
    """Eq. 4 by Definition 2: sums over vertices of average indegree times average outdegree."""
    a, b = sorted(a), sorted(b)
    forth = sum(sum(w[j, i] for j in a) * sum(w[i, j] for j in a) for i in b) / len(a) ** 2
    back = sum(sum(w[j, i] for j in b) * sum(w[i, j] for j in b) for i in a) / len(b) ** 2
    return forth + back


def literal_groups(correspondences, k, k0, a, n_t):
    """Algorithm 1 and the supplement's largest gap: [(score, members)], the highest score first."""
    w, near = literal_graph(correspondences, k, a)
    clusters = literal_components(near, k0)
    while len(clusters) > n_t:
        pairs = [(p, q) for p in range(len(clusters)) for q in range(p)]
        values = [literal_affinity(w, clusters[p], clusters[q]) for p, q in pairs]
        p, q = pairs[int(np.argmax(values))]
        clusters[q] |= clusters.pop(p)
    scores = [2 * w[np.ix_(sorted(c), sorted(c))].sum() / len(c) for c in clusters]
    order = np.argsort(scores)[::-1]
    gaps = [scores[a] - scores[b] for a, b in pairwise(order)]
    return [(scores[n] / (2 * k), clusters[n]) for n in order[: int(np.argmax(gaps)) + 1]]


@pytest.mark.parametrize("method", ["agdl", "gdl-u", "gdl"])
def test_groups_are_those_of_the_text(method):
    correspondences = planted()
    expected = literal_groups(correspondences, 8, 1, 10.0, 12)
    numbers = {"n_neighbors": 8, "n_initial_neighbors": 1, "n_clusters": 12, "n_neighbor_clusters": 100}
    groups, _ = group_by_paper(correspondences, 100, settings(method=method, **numbers))
    assert 1 < len(expected) < 12
    assert np.allclose([found.score for found in groups], [score for score, _ in expected], rtol=1e-4)
    assert [set(found.rows) for found in groups] == [members for _, members in expected]


def test_clusters_below_the_largest_gap_are_rejected_with_their_scores():
    correspondences, ledger = planted(), Ledger(100)
    config = settings(n_neighbors=8, n_initial_neighbors=1, n_clusters=12)
    groups, labels = group_by_paper(correspondences, 100, config, ledger)
    steps, rejected = ledger.close(labels, correspondences.xy0, correspondences.xy1)
    assert len(groups) + len(rejected) == 12
    assert set(name_steps(steps)[labels < 0]) == {"largest gap"}
    assert {item.bound for item in rejected} == {min(found.score for found in groups)}
    assert all(item.measure < item.bound for item in rejected)


def test_what_is_not_listed_is_an_outlier():
    correspondences = planted()
    config = settings(n_neighbors=8, n_initial_neighbors=1, n_clusters=12)
    alone, more = (group_by_paper(c, 80, config) for c in (correspondences[:80], correspondences))
    assert np.array_equal(more[1][:80], alone[1])
    assert (more[1][80:] == -1).all()
    assert len(alone[0]) > 0


def pairs_in_a_row():
    """The neighbours of ten points: two by two they are each other's nearest, the next one is in a row."""
    nearest = [[i ^ 1, (i + 2) % 10] for i in range(10)]
    return KnnGraph(np.array(nearest), np.tile([1.0, 2.0], (10, 1)))


@pytest.mark.parametrize(
    ("n_clusters", "k0", "n_found"), [(1, 2, 1), (2, 1, 5), (5, 1, 5), (6, 0, 10), (50, 0, 10)]
)
def test_k0_falls_until_there_are_enough_initial_clusters(n_clusters, k0, n_found):
    config = ClusteringConfig(n_initial_neighbors=2, n_clusters=n_clusters)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        labels = make_initial_clusters(pairs_in_a_row(), config)
    assert labels.max() + 1 == n_found
    expected = f"n_initial_neighbors=2 gives fewer initial clusters than n_clusters={n_clusters}: using {k0}"
    assert [str(w.message) for w in told] == [expected] * (k0 < 2)


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_to_group(n):
    assert group_by_paper(planted()[:n], n, MatchConfig.paper())[0] == []


@pytest.mark.parametrize("method", [PAIR, MANY, VIEWS, REPEATS, GIVEN, GIVEN_ALONE])
def test_the_settings_choose_the_method_of_the_paper(method):
    assert choose_method(MatchConfig.paper(), method) is PAPER
    assert choose_method(MatchConfig(), method) is method


def test_candidates_are_grouped_as_their_places_and_maps_are():
    rng = np.random.default_rng(1)
    candidates, _ = together(bent(rng, 100), strangers(rng, 100))
    config = settings(n_initial_neighbors=1, n_clusters=20)
    correspondences = Correspondences(candidates.xy0, candidates.xy1, candidates.maps)
    found = group_candidates(candidates, candidates[:0], config, PAPER)
    assert len(found.candidates) == found.n_listed == 200
    labels = label_groups(200, found.groups)
    assert np.array_equal(labels, group_by_paper(correspondences, 200, config)[1])
    other = group_candidates(candidates, candidates[:0], replace(config, grouping="default"))
    assert not np.array_equal(labels, label_groups(200, other.groups))


def test_settings_of_the_text():
    own = MatchConfig.paper().clustering
    assert (own.method, own.n_clusters, own.bandwidth, own.n_neighbors) == ("agdl", 50, 10, 35)
    assert (own.n_initial_neighbors, own.n_neighbor_clusters) == (2, 10)
    assert MatchConfig().grouping == "default"


def test_bad_groupings_are_refused():
    with pytest.raises(InputError, match=r"grouping must be one of .*got 'text'"):
        MatchConfig(grouping="text")
    with pytest.raises(InputError, match=r"n_clusters must be a number if grouping is 'paper', got None"):
        MatchConfig(grouping="paper")
    with pytest.raises(InputError, match=r"descriptor must be one of .*got 'orb'"):
        FeatureConfig(descriptor="orb")


@pytest.fixture(scope="module")
def features():
    """Of a photograph and of its copy turned by a quarter, by the paper's settings."""
    grey = make_picture_of_array(crops()["astronaut"]).grey
    return [extract_features(g, MatchConfig.paper().features) for g in (grey, np.rot90(grey).copy())]


def test_descriptors_are_sift(features):
    """Of Lowe's clipping at 0.2 before the last normalisation, all clipped entries come out equal."""
    grey = make_picture_of_array(crops()["astronaut"]).grey
    root = extract_features(grey, replace(MatchConfig.paper().features, descriptor="rootsift"))
    assert np.array_equal(features[0].xy, root.xy)
    unit = features[0].descriptors / DESCRIPTOR_NORM
    assert np.abs(np.linalg.norm(unit, axis=1) - 1).max() < 0.005
    assert (features[0].descriptors.astype(np.int64) ** 2).sum(axis=1).max() < 2**24  # exact in float32
    squared = root.descriptors.astype(float) ** 2  # in proportion to the histogram, clipped
    expected = squared / np.linalg.norm(squared, axis=1, keepdims=True)
    assert np.abs(unit - expected).max() < 2e-3
    assert ((unit > 0.2) & (unit == unit.max(axis=1, keepdims=True))).sum(axis=1).max() > 1


def test_features_are_all_regions_with_one_orientation(features):
    own = features[0]
    assert (own.kind == 0).all()
    assert own.bright.any() and not own.bright.all()
    assert len(
        np.unique(np.column_stack([own.xy, np.linalg.det(own.frames), own.bright]), axis=0)
    ) > 0.99 * len(own)
    nested = extract_features(
        make_picture_of_array(crops()["astronaut"]).grey, replace(MatchConfig.paper().features, mser_cell=0.2)
    )
    assert len(own) > 1.3 * len(nested)


def test_candidates_are_the_best_pairs_whatever_they_are(features):
    config = replace(MatchConfig.paper().candidates, max_matches=500, per_feature=4)
    candidates, reserve = match_with_reserve(*features, config)
    d = (
        np.linalg.norm(features[0].descriptors[:, None] - features[1].descriptors[None], axis=2)
        / DESCRIPTOR_NORM
    )
    nearest = np.sort(d, axis=1)[:, :4].ravel()
    assert len(reserve) == 0
    assert np.allclose(candidates.score, np.sort(nearest[nearest < 1])[:500], atol=1e-5)
    ends = np.rint(np.hstack([candidates.xy0, candidates.xy1]) / 3)
    assert len(np.unique(ends, axis=0)) < 400  # the same place again and again


@pytest.mark.filterwarnings("always:n_initial_neighbors")
def test_the_command_warns_of_a_smaller_k0_in_one_line(tmp_path, capsys):
    pictures = [str(tmp_path / f"{k}.png") for k in range(2)]
    for path, picture in zip(pictures, object_pair(), strict=True):
        Image.fromarray(picture).save(path)
    options = ["--paper", "--max-matches", "1000", "--n-initial-neighbors", "9", "--n-clusters", "100"]
    cli.main([*pictures, *options, "--out", str(tmp_path / "out"), "--quiet", "--no-figure"])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("gdl-match: warning: n_initial_neighbors=9 gives fewer initial clusters than")
