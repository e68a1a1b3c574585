"""All settings of a match; each stage has its own part."""

from __future__ import annotations

from dataclasses import dataclass, fields

from matching.candidates import CandidateConfig
from matching.clustering import ClusteringConfig
from matching.errors import InputError, check_at_least
from matching.features import FeatureConfig
from matching.parts import PartsConfig
from matching.refinement import RefinementConfig
from matching.repeats import RepeatsConfig
from matching.second_look import SecondLookConfig
from matching.verification import VerificationConfig


@dataclass(frozen=True)
class MatchConfig:
    """Settings of `match`, stage by stage.

    whole_objects : verify the correspondences of each cluster, and make its connected parts whole; without
        it the clusters stay as AGDL leaves them.
    """

    max_pixels: int = (
        2_000_000  # larger pictures are matched at a coarser scale; all tolerances count its pixels
    )
    features: FeatureConfig = FeatureConfig()
    candidates: CandidateConfig = CandidateConfig()
    clustering: ClusteringConfig = ClusteringConfig()
    verification: VerificationConfig = VerificationConfig()
    parts: PartsConfig = PartsConfig()
    refinement: RefinementConfig = RefinementConfig()
    repeats: RepeatsConfig = RepeatsConfig()
    second_look: SecondLookConfig = SecondLookConfig()
    whole_objects: bool = True

    def __post_init__(self):
        for field in fields(self):
            kind, value = type(field.default), getattr(self, field.name)
            if kind not in (int, bool) and not isinstance(value, kind):
                raise InputError(f"{field.name} must be a {kind.__name__}, got {type(value).__name__}")
        check_at_least(self, max_pixels=1)

    @classmethod
    def paper(cls):
        """Every stage as the paper's text has it: MSER only, weak components, scores from the a = 10
        weights, plain largest gap.
        """
        return cls(
            features=FeatureConfig(regions=("mser",)),
            candidates=CandidateConfig(reserve=0.0),
            clustering=ClusteringConfig(mutual_links=False, score_scale=None, min_score=0.0, gap_slope=0.0),
            whole_objects=False,
        )


def check_config(config: MatchConfig) -> None:
    """Raise TypeError for what is no MatchConfig."""
    if not isinstance(config, MatchConfig):
        raise TypeError(f"config must be a MatchConfig, got {type(config).__name__}")
