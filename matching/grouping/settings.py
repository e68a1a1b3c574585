"""The settings that grouping reads, with a part for each of its stages."""

from __future__ import annotations

from typing import Protocol

from matching.correspondences.candidates import CandidateConfig
from matching.grouping.clustering import ClusteringConfig
from matching.grouping.graph import GraphConfig
from matching.grouping.merging import MergingConfig
from matching.grouping.objects import ObjectsConfig
from matching.grouping.refinement.smooth_map import SmoothMapConfig
from matching.grouping.refinement.suppression import SuppressionConfig


class GroupingSettings(Protocol):
    """Settings of all stages of grouping, a part of `matching.config.MatchConfig`."""

    @property
    def candidates(self) -> CandidateConfig:
        """Settings of the candidates."""

    @property
    def graph(self) -> GraphConfig:
        """Settings of the graph of correspondences."""

    @property
    def clustering(self) -> ClusteringConfig:
        """Settings of graph degree linkage."""

    @property
    def smooth_map(self) -> SmoothMapConfig:
        """Settings of the smooth map that the matches of an object follow."""

    @property
    def merging(self) -> MergingConfig:
        """What makes two parts one object."""

    @property
    def suppression(self) -> SuppressionConfig:
        """What makes an object a part of the texture of larger ones."""

    @property
    def objects(self) -> ObjectsConfig:
        """Settings of the stages from clusters to objects."""
