"""The variants of the grouping that the ablation compares: the default with one thing changed at a time."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from eval.matching.ablation.clusterings import CLUSTERINGS, as_step
from matching import MatchConfig
from matching.grouping.methods import PAIR, Method
from matching.settings import DECLARED

DEFAULT = MatchConfig()
BEHIND_CANDIDATES = ("graph", "clustering", "smooth_map", "merging", "suppression", "objects")


@dataclass(frozen=True)
class Variant:
    """Settings, and what the grouping does differently."""

    config: MatchConfig = DEFAULT
    method: Method = PAIR


def variants() -> dict[str, Variant]:
    """The default, the paper's text, replaced clusterings, and variants without a step or a constant."""
    replaced = {
        name: Variant(method=replace(PAIR, cluster=as_step(label))) for name, label in CLUSTERINGS.items()
    }
    return {
        **{name: Variant(config) for name, config in settings().items() if name in ("default", "paper")},
        **replaced,
        "no largest gap": Variant(method=replace(PAIR, find_above_gap=lambda scores: scores >= 0)),
        "no cut of seams": Variant(DEFAULT.with_settings(merging__seam=0.0)),
        "no merging": Variant(method=replace(PAIR, merge=_keep_parts)),
        **{name: Variant(config) for name, config in settings().items()},
    }


def _keep_parts(correspondences, parts, landmarks, rules):
    """Merge nothing, in place of `matching.grouping.merging.merge_parts`."""
    return np.arange(len(parts)), list(landmarks)


def settings() -> dict[str, MatchConfig]:
    """The variants that only change settings."""

    def changed(stage: str, **values) -> MatchConfig:
        return replace(DEFAULT, **{stage: replace(getattr(DEFAULT, stage), **values)})

    return {
        "default": DEFAULT,
        "paper": MatchConfig.paper(),
        "gdl-u": changed("clustering", method="gdl-u"),
        "K0 = 1": changed("clustering", n_initial_neighbors=1),
        "50 clusters, no minimum affinity": changed("clustering", n_clusters=50, min_affinity=0.0),
        "no outliers by degree": changed("clustering", min_degree=0.0),
        "no local maps": changed("graph", rounds=0),
        "three times as alike at a distance": changed("graph", slope=0.05),
        "first graph as fine as the second": changed("graph", coarseness=1.0),
        "no nearness": changed("graph", nearness=0.0),
        "no smooth map": changed("smooth_map", tolerance=1e9, reach=0.0),
        "bends between parts as within them": changed("merging", inflation=1.0),
        "creases at any distance": changed("merging", crease=1e9),
        "half of the landmarks": changed("merging", n_landmarks=12),
        "joining without agreement": changed("smooth_map", agreeing=0.0),
        "no suppression": changed("suppression", share=2.0),
        "one round": changed("objects", rounds=1),
        "no reach of objects": changed("objects", reach=0.0),
        "edges up to 90 px long": changed("objects", gap=90.0),
        "edges of any length": changed("objects", gap=1e6),
        "no test of the evidence": changed("objects", evidence=0.0),
        "no pool": changed("candidates", reserve=0.0),
        "no faint key points": changed("features", sift_contrast=0.04),
        "all faint key points": changed("features", sift_fill=1000),
        "MSER only": changed("features", regions=("mser",)),
        "SIFT only": changed("features", regions=("sift",)),
    }


def changed_settings() -> dict[str, Variant]:
    """The default, and each numeric setting of the steps after the candidates, halved and doubled."""
    found = {"default": Variant()}
    for part in BEHIND_CANDIDATES:
        own = getattr(DEFAULT, part)
        for field in fields(own):
            value, declared = getattr(own, field.name), field.metadata[DECLARED]
            # only the paper's method uses the bandwidth, and only given matches are tested for significance
            if field.name in ("bandwidth", "max_log_nfa") or not isinstance(value, int | float):
                continue
            for factor in (0.5, 2.0):
                other = type(value)(min(max(factor * value, declared.minimum), declared.maximum))
                if other != value:
                    config = DEFAULT.with_settings(**{f"{part}__{field.name}": other})
                    found[f"{part}.{field.name} = {other:g}"] = Variant(config)
    return found
