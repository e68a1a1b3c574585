"""All settings of a match; each stage has its own part."""

from __future__ import annotations

from dataclasses import dataclass, field

from matching.candidates import CandidateConfig
from matching.errors import check_at_least
from matching.features import FeatureConfig
from matching.grouping.clustering import ClusteringConfig
from matching.grouping.graph import GraphConfig
from matching.grouping.objects import ObjectsConfig
from matching.grouping.smooth_map import SmoothMapConfig
from matching.grouping.suppression import SuppressionConfig


@dataclass(frozen=True)
class MatchConfig:
    """Settings of `match`, stage by stage.

    Attributes
    ----------
    max_pixels : int
        Larger pictures are matched at a coarser scale; all tolerances count its pixels.
    """

    max_pixels: int = 2_000_000
    features: FeatureConfig = field(default_factory=FeatureConfig)
    candidates: CandidateConfig = field(default_factory=CandidateConfig)
    graph: GraphConfig = field(default_factory=GraphConfig)
    clustering: ClusteringConfig = field(default_factory=ClusteringConfig)
    smooth_map: SmoothMapConfig = field(default_factory=SmoothMapConfig)
    suppression: SuppressionConfig = field(default_factory=SuppressionConfig)
    objects: ObjectsConfig = field(default_factory=ObjectsConfig)

    def __post_init__(self):
        check_at_least(self, max_pixels=1)
