"""All settings of a match; each step has a part of its own."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any

from matching.correspondences.candidates import CandidateConfig
from matching.correspondences.view_candidates import ViewCandidatesConfig
from matching.errors import InputError
from matching.features.extraction import FeatureConfig
from matching.grouping.clusters import ClusteringConfig
from matching.grouping.graph import GraphConfig
from matching.grouping.groups import ObjectsConfig
from matching.grouping.merging import MergingConfig, MergingRules
from matching.grouping.planes import PlanesConfig
from matching.grouping.smooth_map import SmoothMapConfig
from matching.grouping.suppression import SuppressionConfig
from matching.settings import MAX_PIXELS, MIRRORED, VIEW_SYNTHESIS, check_settings, setting

GROUPINGS = "default", "paper"


@dataclass(frozen=True, repr=False)
class MatchConfig:
    """Settings of `match`, step by step.

    Parameters
    ----------
    max_pixels : int
        A larger picture is reduced to about this many pixels, and finer details are ignored. By default, no
        readable picture is larger.
    working_pixels : int
        Larger pictures are first matched at a coarser scale, and tolerances are in pixels of that scale.
        Objects too small for it are then searched for at the full size of the picture
        (`matching.searches.details`).
    grouping : str
        How candidates become objects: "default", or "paper", which reads only the settings `clustering`
        (`matching.grouping.paper`).
    mirrored : bool
        Whether mirrored objects of two pictures are found whatever their size, also among details, and
        mirrored copies in one picture with more than 10,000 features.
        This doubles the number of candidates, because the mirrored features are matched as well. Without it,
        mirrored objects of two pictures are found if they are large (`matching.searches.reversals`).
    view_synthesis : bool
        Whether to also match simulated views of both pictures, unless an object is sure or likely without
        them and objects have matches at 100 places or more (`matching.searches.views`). The result
        of the views is used if it has more matches.
    features : FeatureConfig
        Detection and description.
    candidates : CandidateConfig
        Descriptor matching.
    graph : GraphConfig
        The graph of candidates.
    clustering : ClusteringConfig
        Graph degree linkage.
    smooth_map : SmoothMapConfig
        The smooth map that the matches of an object follow.
    merging : MergingConfig
        What makes two parts one object.
    suppression : SuppressionConfig
        What makes an object a part of the texture of larger ones.
    objects : ObjectsConfig
        The steps from clusters to objects.
    view_candidates : ViewCandidatesConfig
        Descriptor matching of views.
    planes : PlanesConfig
        Planes that simulated views show.
    """

    max_pixels: int = MAX_PIXELS.field()
    working_pixels: int = setting(2_000_000, 1, 10**9)
    grouping: str = setting("default", choices=GROUPINGS)
    mirrored: bool = MIRRORED.field()
    view_synthesis: bool = VIEW_SYNTHESIS.field()
    features: FeatureConfig = FeatureConfig()
    candidates: CandidateConfig = CandidateConfig()
    graph: GraphConfig = GraphConfig()
    clustering: ClusteringConfig = ClusteringConfig()
    smooth_map: SmoothMapConfig = SmoothMapConfig()
    merging: MergingConfig = MergingConfig()
    suppression: SuppressionConfig = SuppressionConfig()
    objects: ObjectsConfig = ObjectsConfig()
    view_candidates: ViewCandidatesConfig = ViewCandidatesConfig()
    planes: PlanesConfig = PlanesConfig()

    def __post_init__(self) -> None:
        for field in fields(self):
            kind, value = type(field.default), getattr(self, field.name)
            if is_dataclass(kind) and not isinstance(value, kind):
                raise InputError(f"{field.name} must be a {kind.__name__}, got {type(value).__name__}")
        check_settings(self)
        if self.view_synthesis and self.is_paper:
            raise InputError(
                f"view_synthesis must be False if grouping is {self.grouping!r}, which has no simulated views"
            )
        if self.is_paper and self.clustering.n_clusters is None:
            raise InputError(f"n_clusters must be a number if grouping is {self.grouping!r}, got None")

    def __repr__(self) -> str:
        """The settings that differ from the defaults, so that signatures stay short."""
        return _describe_changes(self, MatchConfig())

    @property
    def is_paper(self) -> bool:
        """Whether candidates are grouped by the paper's text."""
        return self.grouping == "paper"

    @property
    def first_pixels(self) -> int:
        """The largest number of pixels at which a picture is first matched."""
        return min(self.max_pixels, self.working_pixels)

    @property
    def merging_rules(self) -> MergingRules:
        """The settings that the comparison of two parts reads."""
        return MergingRules(self.merging, self.smooth_map)

    def with_settings(self, **settings: Any) -> MatchConfig:
        """Change some settings; a setting of a step is given by its name alone.

        If several steps have a setting of the same name, the one of `clustering` is changed, as on the
        command line; write ``step__name`` for the setting of another step.

        Parameters
        ----------
        **settings : object
            New values.

        Returns
        -------
        MatchConfig
            A changed copy.

        Raises
        ------
        TypeError
            There is no such setting, or several steps have it, but `clustering` does not.
        InputError
            A value can't be used.

        Examples
        --------
        >>> changed = MatchConfig().with_settings(max_matches=5000, n_neighbors=20, graph__rounds=3)
        >>> changed.candidates.max_matches, changed.clustering.n_neighbors, changed.graph.rounds
        (5000, 20, 3)
        """
        of_no_step: dict[str, Any] = {}
        of_steps: dict[str, dict[str, Any]] = {}
        for name, value in settings.items():
            step, setting = self._find_setting(name)
            (of_no_step if step is None else of_steps.setdefault(step, {}))[setting] = value
        steps = {step: replace(getattr(self, step), **changed) for step, changed in of_steps.items()}
        return replace(self, **of_no_step, **steps)

    def _find_setting(self, name: str) -> tuple[str | None, str]:
        """Find the step (None for a setting of no step) and the setting that a keyword refers to."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        settings_of = {
            key: [field.name for field in fields(value)] if is_dataclass(value) else []
            for key, value in values.items()
        }
        step, _, setting = name.partition("__")
        if setting in settings_of.get(step, []):
            return step, setting
        if name in settings_of:
            return None, name
        steps = [key for key, settings in settings_of.items() if name in settings]
        if "clustering" in steps:
            return "clustering", name
        if len(steps) == 1:
            return steps[0], name
        if steps:
            choices = " or ".join(f"{key}__{name}" for key in steps)
            raise TypeError(f"{name!r} is a setting of several steps: write {choices}")
        settings_of_step = settings_of.get(step, []) if setting else []
        if settings_of_step:
            close = [f"{step}__{other}" for other in get_close_matches(setting, sorted(settings_of_step), 1)]
        else:
            known = {*settings_of, *(other for settings in settings_of.values() for other in settings)}
            close = get_close_matches(name, sorted(known), 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise TypeError(f"there is no setting {name!r}{hint}")

    @classmethod
    def paper(cls) -> MatchConfig:
        """Make the settings of the paper's text; docs/paper.md lists what the text leaves open.

        Returns
        -------
        MatchConfig
            The settings.
        """
        return cls(
            grouping="paper",
            features=FeatureConfig(
                regions=("mser",), mser_window=2.0, mser_orientations=1, mser_cell=0.0, descriptor="sift"
            ),
            candidates=CandidateConfig(reserve=0.0, duplicate_radius=0.0, per_polarity=False),
            clustering=ClusteringConfig(n_clusters=50, min_affinity=0.0, min_degree=0.0),
        )


def _describe_changes(config: Any, default: Any) -> str:
    """Write the call that makes settings from the defaults, for all settings or for one step."""
    changed = []
    for field in fields(config):
        value, usual_value = getattr(config, field.name), getattr(default, field.name)
        if value != usual_value:
            text = _describe_changes(value, usual_value) if is_dataclass(value) else repr(value)
            changed.append(f"{field.name}={text}")
    return f"{type(config).__name__}({', '.join(changed)})"


def check_config(config: MatchConfig) -> None:
    """Raise TypeError unless the settings are a MatchConfig."""
    if not isinstance(config, MatchConfig):
        raise TypeError(f"config must be a MatchConfig, got {type(config).__name__}")
