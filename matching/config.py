"""All settings of a match; each stage has its own part."""

from __future__ import annotations

from dataclasses import dataclass, fields

from matching.correspondences.candidates import CandidateConfig
from matching.correspondences.view_candidates import ViewCandidatesConfig
from matching.errors import InputError, check_at_least
from matching.features.extraction import FeatureConfig
from matching.grouping.clustering import ClusteringConfig
from matching.grouping.graph import GraphConfig
from matching.grouping.objects import ObjectsConfig
from matching.grouping.planes import PlanesConfig
from matching.grouping.smooth_map import SmoothMapConfig
from matching.grouping.suppression import SuppressionConfig

GROUPINGS = ("default", "paper")


@dataclass(frozen=True)
class MatchConfig:
    """Settings of `match`, stage by stage.

    Attributes
    ----------
    max_pixels : int
        Larger pictures are matched at a coarser scale; all tolerances count its pixels.
    grouping : str
        How candidates become objects: "default" (`matching.grouping.objects`) or "paper"
        (`matching.grouping.paper`), which reads `clustering` alone.
    view_synthesis : bool
        Whether features of simulated views of both pictures are matched as well where nothing sure is found
        without them (`matching.view_synthesis`).
    sure_score : float
        Score of the best object from which on a pair counts as solved, so that no (further) views are
        looked at. Unrelated pictures stay below 0.18; pairs whose objects score less than this are often
        matched in part only.
    """

    max_pixels: int = 2_000_000
    grouping: str = "default"
    view_synthesis: bool = False
    sure_score: float = 0.3
    features: FeatureConfig = FeatureConfig()
    candidates: CandidateConfig = CandidateConfig()
    graph: GraphConfig = GraphConfig()
    clustering: ClusteringConfig = ClusteringConfig()
    smooth_map: SmoothMapConfig = SmoothMapConfig()
    suppression: SuppressionConfig = SuppressionConfig()
    objects: ObjectsConfig = ObjectsConfig()
    view_candidates: ViewCandidatesConfig = ViewCandidatesConfig()
    planes: PlanesConfig = PlanesConfig()

    def __post_init__(self):
        for field in fields(self):
            kind, value = type(field.default), getattr(self, field.name)
            if kind not in (int, float) and not isinstance(value, kind):
                raise InputError(f"{field.name} must be a {kind.__name__}, got {type(value).__name__}")
        check_at_least(self, max_pixels=1, sure_score=0)
        if self.grouping not in GROUPINGS:
            raise InputError(f"grouping must be one of {GROUPINGS}, got {self.grouping!r}")
        if self.grouping == "paper" and self.view_synthesis:
            raise InputError("view_synthesis must be off where grouping is 'paper', which has no views")
        if self.grouping == "paper" and self.clustering.n_clusters is None:
            raise InputError("n_clusters must be a number where grouping is 'paper', got None")

    @classmethod
    def paper(cls) -> MatchConfig:
        """Every stage as the paper's text has it; docs/matching.md lists what the text leaves open."""
        return cls(
            grouping="paper",
            features=FeatureConfig(
                regions=("mser",), mser_window=2.0, mser_orientations=1, mser_cell=0.0, descriptor="sift"
            ),
            candidates=CandidateConfig(reserve=0.0, duplicate_radius=0.0, per_polarity=False),
            clustering=ClusteringConfig(n_clusters=50, min_affinity=0.0, min_degree=0.0, min_score=0.0),
        )


def check_config(config: MatchConfig) -> None:
    """Raise TypeError for what is no MatchConfig."""
    if not isinstance(config, MatchConfig):
        raise TypeError(f"config must be a MatchConfig, got {type(config).__name__}")
