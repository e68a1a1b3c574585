"""The settings that grouping reads: a part for each of its stages."""

from dataclasses import dataclass

from matching.correspondences.candidates import CandidateConfig
from matching.grouping.clustering import ClusteringConfig
from matching.grouping.graph import GraphConfig
from matching.grouping.merging import MergingConfig
from matching.grouping.objects import ObjectsConfig
from matching.grouping.refinement.smooth_map import SmoothMapConfig
from matching.grouping.refinement.suppression import SuppressionConfig


@dataclass(frozen=True)
class GroupingSettings:
    """Settings of all stages of grouping; `matching.config.MatchConfig` describes them."""

    candidates: CandidateConfig = CandidateConfig()
    graph: GraphConfig = GraphConfig()
    clustering: ClusteringConfig = ClusteringConfig()
    smooth_map: SmoothMapConfig = SmoothMapConfig()
    merging: MergingConfig = MergingConfig()
    suppression: SuppressionConfig = SuppressionConfig()
    objects: ObjectsConfig = ObjectsConfig()
