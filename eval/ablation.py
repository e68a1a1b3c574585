"""What each step of the matching is worth: the same composites with one step changed at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from eval.metrics import count_objects, score_matches
from matching import MatchConfig
from matching.candidates import match_with_reserve
from matching.features import FeatureConfig, extract_features
from matching.images import picture_of_array
from matching.pipeline import find_objects
from synth.composite import CompositePair, composite_pair, true_instance
from synth.photographs import Photographs

SETTINGS = ((1, 5.0), (3, 5.0), (5, 5.0), (3, 0.0), (3, 15.0), (1, 15.0), (2, 10.0), (5, 0.0))  # M, sigma_n


def variants() -> dict[str, MatchConfig]:
    """The default, the paper's text, steps between them, and the default without one step each."""
    default, paper = MatchConfig(), MatchConfig.paper()
    clustering, parts, verification = default.clustering, default.parts, default.verification
    refinement = default.refinement
    plain = replace(
        default, whole_objects=False, clustering=replace(clustering, min_score=0.0, score_slope=0.0)
    )
    no_seams = replace(default.features, montage=None)
    return {
        "default": default,
        "the paper's text": paper,
        "text, mutual K0 links": replace(paper, clustering=replace(paper.clustering, mutual_links=True)),
        "text, mutual links, scores at 12 px": replace(plain, features=paper.features),
        "the same, MSER and SIFT regions": plain,
        "default, weak K0 links": replace(default, clustering=replace(clustering, mutual_links=False)),
        "default, ACC distance alone": replace(default, clustering=replace(clustering, gap_slope=0.0)),
        "default, scores at 12 px near and far": replace(
            default, clustering=replace(clustering, score_slope=0.0)
        ),
        "default, checks alike near and far": replace(
            default, verification=replace(verification, frame_slope=0.0, slope=0.0)
        ),
        "default, close alike near and far": replace(default, parts=replace(parts, slope=0.0)),
        "default, seams up to 18 px off": replace(default, parts=replace(parts, seam_tolerance=18.0)),
        "default, MSER only": replace(default, features=FeatureConfig(regions=("mser",))),
        "default, SIFT only": replace(default, features=FeatureConfig(regions=("sift",))),
        "default without the affine check": replace(
            default, verification=replace(verification, tolerance=1e9)
        ),
        "default without the smooth map": replace(default, refinement=replace(refinement, rounds=0)),
        "default without growing": replace(default, refinement=replace(refinement, reach=0.0)),
        "default without joining": replace(default, parts=replace(parts, seam_reach=0.0)),
        "default without the place of its own": replace(default, parts=replace(parts, covered_share=2.0)),
        "default without the second look": replace(
            default, second_look=replace(default.second_look, share=0.0)
        ),
        "default without the reserve": replace(default, candidates=replace(default.candidates, reserve=0.0)),
        "default without seams": replace(default, features=no_seams),
        "default without seams and repeats": replace(
            default, features=no_seams, repeats=replace(default.repeats, covered_share=2.0)
        ),
    }


def ablate(
    photographs: Photographs, seeds: range, copies: int = 1, sigma: float | None = None
) -> Iterator[dict]:
    """A row for each variant and pair: its name, the pair's settings and seed, F, and the objects found.

    sigma : sigma_n of every pair, in place of that of its settings
    """
    given = sigma
    for seed in seeds:
        n_common, sigma = SETTINGS[seed % len(SETTINGS)]
        n_common, sigma = min(n_common, max(9 // copies, 1)), sigma if given is None else given
        pair = composite_pair(photographs, n_common, sigma, seed, copies=copies)
        features = {}
        for name, config in variants().items():
            row = {"variant": name, "n_common": n_common, "sigma": sigma, "copies": copies, "seed": seed}
            yield row | _measured(pair, _features(pair, config, features), config)


def _features(pair: CompositePair, config: MatchConfig, known: dict):
    if config.features not in known:
        greys = [picture_of_array(image).grey for image in (pair.image0, pair.image1)]
        known[config.features] = [extract_features(grey, config.features) for grey in greys]
    return known[config.features]


def _measured(pair: CompositePair, features, config: MatchConfig) -> dict:
    best, reserve = match_with_reserve(*features, config.candidates)
    candidates, clustered = find_objects(best, reserve, config)
    # What joins from the reserve comes on top of the best, so that none that was missed leaves the list.
    listed = (np.arange(len(candidates)) < len(best)) | (clustered.labels >= 0)
    candidates, labels = candidates[listed], clustered.labels[listed]
    instance = true_instance(pair, candidates.xy0, candidates.xy1)
    score = score_matches(labels >= 0, instance >= 0)
    objects = count_objects(labels, instance, pair.n_instances)
    return {
        "f": score.f,
        "true_kept": int(np.count_nonzero((labels >= 0) & (instance >= 0))),
        "objects": objects.total,
        "found": objects.found,
        "clusters": objects.clusters,
        "mixed": objects.mixed,
    }


def table(rows: list[dict]) -> str:
    """Markdown: a line for each variant."""
    lines = [
        "| variant | mean F | worst F | true matches kept | objects found | clusters each | mixed |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["variant"] for row in rows):
        own = [row for row in rows if row["variant"] == name]
        f = [row["f"] for row in own]
        kept, objects, found, clusters, mixed = (
            sum(row[k] for row in own) for k in ("true_kept", "objects", "found", "clusters", "mixed")
        )
        lines.append(
            f"| {name} | {np.mean(f):.3f} | {min(f):.3f} | {kept} | {found} of {objects}"
            f" | {clusters / max(found, 1):.2f} | {mixed} |"
        )
    return "\n".join(lines)
