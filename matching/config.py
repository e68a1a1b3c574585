"""All settings of a match; each stage has its own part."""

from __future__ import annotations

from dataclasses import dataclass, fields

from matching.candidates import CandidateConfig
from matching.errors import InputError, check_at_least
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
    features: FeatureConfig = FeatureConfig()
    candidates: CandidateConfig = CandidateConfig()
    graph: GraphConfig = GraphConfig()
    clustering: ClusteringConfig = ClusteringConfig()
    smooth_map: SmoothMapConfig = SmoothMapConfig()
    suppression: SuppressionConfig = SuppressionConfig()
    objects: ObjectsConfig = ObjectsConfig()

    def __post_init__(self):
        for field in fields(self):
            kind, value = type(field.default), getattr(self, field.name)
            if kind not in (int, bool) and not isinstance(value, kind):
                raise InputError(f"{field.name} must be a {kind.__name__}, got {type(value).__name__}")
        check_at_least(self, max_pixels=1)


def check_config(config: MatchConfig) -> None:
    """Raise TypeError for what is no MatchConfig."""
    if not isinstance(config, MatchConfig):
        raise TypeError(f"config must be a MatchConfig, got {type(config).__name__}")
