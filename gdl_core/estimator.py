"""The scikit-learn clusterer, a thin wrapper around the functions of this package."""

import warnings
from typing import Any, Self

import numpy as np
import scipy
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._common.checks import check_bandwidth, check_integer, check_one_of, check_square
from ._common.jobs import effective_jobs
from ._common.types import Floats, Ints, Metric
from ._common.units import find_unit
from .completion import complete_by_distance, make_distances_among
from .graph import KnnGraph, affinity_graph, enough_initial_clusters, number_by_first
from .isolation import branch_costs, count_isolated_branches, select_isolated_branches
from .merging import agdl, gdl, gdl_u
from .neighbors import knn_graph
from .outliers import connectivity_scores, split_at_largest_gap
from .paths import PATH_BANDWIDTH, find_paths, path_graph
from .prediction import conductances, graph_memberships, nearest_of_new, persistences, weigh_neighbours
from .selection import explain_selection, place_by_tree, select_clusters
from .smoothing import smooth_labels
from .strangers import find_strangers
from .tree import MergeTree

PATHS, PAPER = "paths", "paper"  # values of the parameter ``weights``
MAX_NEIGHBORS, MIN_NEIGHBORS = 30, 5  # bounds of the default K


class GraphDegreeLinkage(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]  # scikit-learn has no types
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Agglomerative clustering by graph degree linkage (Zhang, Wang, Zhao, Tang, ECCV 2012).

    Clusters are merged by the product of average indegree and average outdegree between them on the directed
    K-nearest-neighbour graph.

    Parameters
    ----------
    n_clusters : int or None, default=None
        n_T. None: the number after which one more cluster would cost many times as much as the last one
        (`count_isolated_branches`).
    algorithm : {"agdl", "gdl-u", "gdl"}, default="agdl"
        "gdl-u" is exact, and as fast as the accelerated "agdl"; "gdl" is the plain Algorithm 1, for checking.
    n_neighbors : int or None, default=None
        K, not counting the sample itself. None: 30, or a tenth of the samples if that is less, but at least
        5; in a given graph, at most that many neighbours of each row are used, and a row may have fewer or
        none. If K is larger than the number of other samples, all of these are used, with a warning.
    n_initial_neighbors : int, default=1
        K0 of the initial clusters, at most K; 0 starts from single samples. If this gives fewer initial
        clusters than n_clusters, K0 is lowered to the largest value that gives enough, with a warning.
    bandwidth : float or None, default=None
        The factor a of Eq. 1. None: 1, or 0.5 if the weights come from paths.
    n_neighbor_clusters : int, default=10
        K^c, for "agdl".
    min_cluster_size : int or None, default=None
        The rule for which clusters count. None: the branches of the hierarchy that are linked to themselves
        and not to the rest (`select_isolated_branches`); random walks place the other samples and draw the
        boundaries (`smooth_labels`). A number: the hierarchy is cut where n_clusters clusters have at least
        that many samples (`select_clusters`); samples of the others go where the hierarchy joins them
        (`place_by_tree`). 1 is the rule of the paper, and the default if the weights are the paper's.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn without parameters, or "precomputed": X is then an (n, n) array of
        distances, or a sparse matrix with at least K of them in each row, or any number if n_neighbors is
        None. Distances need not be symmetric: row i holds those from sample i. In a sparse matrix a stored
        zero is a distance of 0, and a sample that is not stored is not a neighbour.
    n_jobs : int, optional
        Threads. The result is the same for any number.
    search : {"auto", "exact", "approximate"}, default="auto"
        The search for neighbours, see `knn_graph`.
    small_clusters : {"absorb", "noise"}, default="absorb"
        What happens to the samples that are in no cluster that counts: "absorb" puts them into clusters that
        do, and "noise" labels them -1. By the rule of isolated branches (min_cluster_size=None), "noise" also
        leaves out the edges of strangers (`find_strangers`), before anything is merged.
    drop_outliers : bool, default=False
        Whether clusters with connectivity scores below the largest gap are labelled -1
        (`split_at_largest_gap`).
    verbose : int, default=0
        1 shows progress bars.
    weights : {"paths", "paper"} or None, default=None
        The weights of the edges. "paths": those of the best paths between neighbours (`path_graph`). "paper":
        those of Eq. 1 (`affinity_graph`). None: "paths", or "paper" if n_neighbors is given, because a user
        who gives the paper's K wants the paper's method.

    Attributes
    ----------
    labels_ : (n,) int64
        0, 1, ... in the order of the clusters' smallest members; -1 for samples that are in no cluster.
    n_clusters_ : int
        The number of clusters in labels_.
    conductances_ : (n_clusters_,) float64
        For each cluster the share of its edge weight that leads to others: 0 is well separated.
    children_ : (m, 2) int64
        The nodes that each merge joins: 0 .. n_initial - 1 are initial clusters, and each merge makes a new
        node.
    affinities_ : (m,) float64
        The affinity of each merge; 0 if clusters without affinity were joined by distance.
    tree_ : MergeTree
        The hierarchy, down to one cluster if distances allow that.
    graph_ : AffinityGraph
        The graph, without edges of strangers if there are any; its sigma2 is in squared units of X, or of X
        divided by a power of two if squares of X would exceed the range of float64.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> x, y = load_digits(return_X_y=True)
    >>> model = GraphDegreeLinkage(n_clusters=10).fit(x)
    >>> round(float(normalized_mutual_info_score(y, model.labels_)), 2)
    0.89
    >>> len(set(model.cut(3).tolist()))
    3
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        algorithm: str = "agdl",
        n_neighbors: int | None = None,
        n_initial_neighbors: int = 1,
        bandwidth: float | None = None,
        n_neighbor_clusters: int = 10,
        min_cluster_size: int | None = None,
        metric: Metric = "euclidean",
        n_jobs: int | None = None,
        search: str = "auto",
        small_clusters: str = "absorb",
        drop_outliers: bool = False,
        verbose: int = 0,
        weights: str | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.algorithm = algorithm
        self.n_neighbors = n_neighbors
        self.n_initial_neighbors = n_initial_neighbors
        self.bandwidth = bandwidth
        self.n_neighbor_clusters = n_neighbor_clusters
        self.min_cluster_size = min_cluster_size
        self.metric = metric
        self.n_jobs = n_jobs
        self.search = search
        self.small_clusters = small_clusters
        self.drop_outliers = drop_outliers
        self.verbose = verbose
        self.weights = weights

    def fit(self, X: Any, y: None = None) -> Self:
        """Cluster X.

        Parameters
        ----------
        X : array, sparse matrix or pair of arrays
            (n, d) samples. With metric="precomputed", distances, dense or sparse, or a pair of arrays
            (indices, distances) of neighbours found elsewhere (see `knn_graph`).
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is out of range, a distance is nan, infinite or negative, or a sparse row has fewer
            than K entries.
        """
        self._check_parameters()
        X = self._check_input(X)
        self._unit = 1.0 if isinstance(X, tuple) else find_unit(X, self.metric)
        if self._unit != 1:
            X = X / X.dtype.type(self._unit)
        knn = self._neighbours(X)
        n_neighbors = knn.n_neighbors
        self._strangers = np.zeros(knn.n_samples, bool)
        if self.small_clusters == "noise" and self._min_size is None:
            self._strangers = find_strangers(knn)
            knn = knn.without(self._strangers)
        self._paths = find_paths(knn) if self._weights == PATHS else None
        if self._paths is None:
            self.graph_ = affinity_graph(knn, self._bandwidth)
        else:
            self.graph_ = path_graph(knn, self._bandwidth, paths=self._paths)
        initial = enough_initial_clusters(knn, self.n_initial_neighbors, self.n_clusters or 1, stacklevel=2)
        del knn  # because merging needs no distances, but much memory
        merged = self._merge(initial)
        is_given_graph = isinstance(X, tuple) or (scipy.sparse.issparse(X) and self.metric == "precomputed")
        distances_among = None if is_given_graph else make_distances_among(X, self.metric)
        self.tree_ = complete_by_distance(merged, n_neighbors, self.graph_, distances_among)
        self.children_, self.affinities_ = self.tree_.children, self.tree_.affinities
        n_clusters, min_size = self.n_clusters, self._min_size
        needs_costs = n_clusters is None or min_size is None
        self._costs = branch_costs(self.tree_, self.graph_) if needs_costs else None
        if n_clusters is None:
            n_clusters = count_isolated_branches(self.tree_, self.graph_, min_size or 1, costs=self._costs)
        self.labels_ = self._choose_labels(n_clusters, may_warn=self.n_clusters is not None)
        self.n_clusters_ = int(self.labels_.max(initial=-1)) + 1
        self.conductances_ = conductances(self.graph_, self.labels_)
        self._fit_X = None if self.metric == "precomputed" else X
        self._n_neighbors = n_neighbors
        return self

    def predict(self, X: Any) -> Ints:
        """Find the clusters of new samples by the weights of their edges to the clustered samples.

        Nothing is merged again. If X holds a sample that was clustered, this sample is its own nearest
        neighbour, so its label may differ from that in labels_.

        Parameters
        ----------
        X : array or sparse matrix
            (m, d) samples. With metric="precomputed", (m, n) distances to the samples that were clustered,
            dense or sparse.

        Returns
        -------
        (m,) int64
            The labels (ties: the smaller one); -1 if all neighbours are outliers.
        """
        shares = self.predict_memberships(X)
        labels: Ints = np.insert(shares, 0, 0.0, axis=1).argmax(axis=1) - 1
        return labels

    def predict_memberships(self, X: Any) -> Floats:
        """Compute how strongly new samples belong to each cluster.

        Parameters
        ----------
        X : array or sparse matrix
            As for `predict`.

        Returns
        -------
        (m, n_clusters_) float64
            The share of each cluster in the weights of the edges to the K nearest samples. Each row
            adds up to 1, or is 0 if all neighbours are outliers.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=["csr"], dtype=[np.float64, np.float32], reset=False)
        if self._unit != 1:
            X = X / X.dtype.type(self._unit)
        k = max(self._n_neighbors, 1)
        indices, distances = nearest_of_new(X, self._fit_X, k, self.metric, self.n_jobs)
        factors = None if self._paths is None else self._paths.weights_of_new(indices, distances)
        return weigh_neighbours(indices, distances, self.labels_, self.graph_.sigma2, factors)

    def transform(self, X: Any) -> Floats:
        """`predict_memberships` for pipelines; ``set_output(transform="pandas")`` makes it a table.

        Parameters
        ----------
        X : array or sparse matrix
            As for `predict`.

        Returns
        -------
        (m, n_clusters_) float64
        """
        return self.predict_memberships(X)

    @property
    def _n_features_out(self) -> int:
        """The number of columns of `transform`, for scikit-learn."""
        return self.n_clusters_

    def memberships(self) -> Floats:
        """Compute how strongly the clustered samples belong to each cluster, see `graph_memberships`.

        Returns
        -------
        (n, n_clusters_) float64
        """
        check_is_fitted(self)
        return graph_memberships(self.graph_, self.labels_)

    def persistences(self) -> Floats:
        """Compute how long each cluster lasts in the hierarchy, see `gdl_core.prediction.persistences`.

        Returns
        -------
        (n_clusters_,) float64
        """
        check_is_fitted(self)
        return persistences(self.tree_, self.labels_)

    def cut(self, n_clusters: int) -> Ints:
        """Choose another partition of the same hierarchy by the rules of `fit`, without merging again.

        The hierarchy begins with the initial clusters of the fit. If you need more clusters than these, fit
        again with that n_clusters or with a smaller n_initial_neighbors.

        Parameters
        ----------
        n_clusters : int
            At least 1. If it exceeds the number of initial clusters, these are returned, with a warning.

        Returns
        -------
        (n,) int64
            Labels, as in labels_.
        """
        check_is_fitted(self)
        return self._choose_labels(check_integer("n_clusters", n_clusters, 1), may_warn=True)

    def linkage(self) -> Floats:
        """Return the hierarchy as SciPy's linkage matrix, see `MergeTree.linkage`.

        Returns
        -------
        (n - 1, 4) float64
        """
        check_is_fitted(self)
        return self.tree_.linkage()

    def _check_parameters(self) -> None:
        """Raise ValueError if a parameter is out of range."""
        for name in ("n_clusters", "n_neighbors", "min_cluster_size"):
            if (value := getattr(self, name)) is not None:
                check_integer(name, value, 1)
        check_integer("n_initial_neighbors", self.n_initial_neighbors, 0)
        check_integer("n_neighbor_clusters", self.n_neighbor_clusters, 1)
        check_one_of("algorithm", self.algorithm, ("agdl", "gdl-u", "gdl"))
        check_one_of("small_clusters", self.small_clusters, ("absorb", "noise"))
        check_one_of("drop_outliers", self.drop_outliers, (False, True))
        check_one_of("weights", self.weights, (None, PATHS, PAPER))
        check_bandwidth(self._bandwidth)
        effective_jobs(self.n_jobs)
        if self.n_neighbors is not None and self.n_initial_neighbors > self.n_neighbors:
            raise ValueError(
                f"n_initial_neighbors must be at most n_neighbors={self.n_neighbors}, "
                f"got {self.n_initial_neighbors}"
            )

    def _check_input(self, X: Any) -> Any:
        """Check the samples or distances, and return them as arrays of floats."""
        is_precomputed = self.metric == "precomputed"
        if is_precomputed and isinstance(X, tuple):
            self.n_features_in_ = len(X[0])
            return X
        X = validate_data(self, X, accept_sparse=["csr"], dtype=[np.float64, np.float32])
        if is_precomputed:
            check_square("precomputed distances", X)
        return X

    def _neighbours(self, X: Any) -> KnnGraph:
        """Make the graph of the K nearest neighbours, with a warning if there are fewer than K others."""
        n = len(X[0]) if isinstance(X, tuple) else X.shape[0]
        if n == 1:
            return KnnGraph(np.empty((1, 0), np.int32), np.empty((1, 0)))
        n_neighbors = self.n_neighbors
        if n_neighbors is None:
            n_neighbors = min(MAX_NEIGHBORS, max(MIN_NEIGHBORS, n // 10))
        elif n_neighbors > n - 1:
            message = f"n_neighbors={n_neighbors} is too large for {n} samples: using {n - 1}"
            warnings.warn(message, stacklevel=3)
        return knn_graph(
            X,
            min(n_neighbors, n - 1),
            metric=self.metric,
            search=self.search,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            allow_fewer=self.n_neighbors is None,
        )

    def _merge(self, labels: Ints) -> MergeTree:
        """Merge the initial clusters (n,) by the chosen algorithm."""
        if self.algorithm == "gdl":
            return gdl(self.graph_, labels)
        options: Any = {"n_jobs": self.n_jobs, "verbose": self.verbose}
        if self.algorithm == "gdl-u":
            return gdl_u(self.graph_, labels, **options)
        return agdl(self.graph_, labels, n_neighbor_clusters=self.n_neighbor_clusters, **options)

    @property
    def _weights(self) -> str:
        """The value of ``weights``, or what None means."""
        return self.weights or (PATHS if self.n_neighbors is None else PAPER)

    @property
    def _bandwidth(self) -> float:
        """The factor a of Eq. 1."""
        if self.bandwidth is not None:
            return self.bandwidth
        return PATH_BANDWIDTH if self._weights == PATHS else 1.0

    @property
    def _min_size(self) -> int | None:
        """The smallest size of a cluster that counts, or None if the isolated branches count."""
        if self.min_cluster_size is None and self._weights == PAPER:
            return 1
        return self.min_cluster_size

    def _choose_labels(self, n_clusters: int, may_warn: bool) -> Ints:
        """Choose the partition into n_clusters clusters -> labels (n,), -1 for noise and outliers."""
        min_size, absorbs = self._min_size, self.small_clusters == "absorb"
        if min_size is None:
            selection = select_isolated_branches(self.tree_, self.graph_, n_clusters, costs=self._costs)
            labels = smooth_labels(self.graph_, selection.labels, places_noise=absorbs, n_jobs=self.n_jobs)
        else:
            selection = select_clusters(self.tree_, n_clusters, min_size)
            labels = selection.labels
        labels = place_by_tree(self.tree_, labels) if absorbs else np.where(self._strangers, -1, labels)
        if may_warn and (remark := explain_selection(self.tree_, selection, n_clusters, min_size)):
            warnings.warn(f"n_clusters={n_clusters}: {remark}", stacklevel=3)
        if self.drop_outliers:
            is_kept = split_at_largest_gap(connectivity_scores(self.graph_, labels))
            labels = np.where((labels >= 0) & is_kept[labels], labels, -1)
        return number_by_first(labels)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.metric == "precomputed"
        return tags
