"""What merging leaves behind: the hierarchy, and the partitions that it can be cut into."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class MergeTree:
    """The merges of one run, in order.

    Node numbers: 0 .. n_initial - 1 are the initial clusters, n_initial + t is what merge t made.

    Attributes
    ----------
    initial_labels : (n,) int64
        The initial cluster of each sample.
    children : (m, 2) int64
        The two nodes that each merge joins, the smaller number first.
    affinities : (m,) float64
        Their affinity (Eq. 4). It is not monotone; 0 for a merge that joins clusters without any.
    """

    initial_labels: np.ndarray
    children: np.ndarray
    affinities: np.ndarray

    @property
    def n_initial(self):
        return int(self.initial_labels.max()) + 1 if len(self.initial_labels) else 0

    def cut(self, n_clusters):
        """The partition into ``n_clusters`` clusters, or the nearest number that the merges reach.

        Parameters
        ----------
        n_clusters : int
            At least 1. More than ``n_initial`` gives the initial clusters, fewer than ``n_initial - m``
            what is left after the last merge.

        Returns
        -------
        (n,) int64
            Labels 0, 1, ... in the order of the clusters' smallest members.
        """
        if n_clusters < 1:
            raise ValueError(f"n_clusters must be at least 1, got {n_clusters}")
        return self.after(min(max(self.n_initial - n_clusters, 0), len(self.children)))

    def after(self, n_merges):
        """The partition after the first ``n_merges`` merges, labelled as in `cut`."""
        from .graph import number_by_first

        n = self.n_initial
        root = np.arange(n + n_merges)
        for t in range(n_merges - 1, -1, -1):  # a parent comes after its children
            root[self.children[t]] = root[n + t]
        return number_by_first(root[self.initial_labels])
