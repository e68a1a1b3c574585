"""Matching of two pictures of a collection."""

from matching.pipelines.description import ImageSource, is_larger
from matching.pipelines.mirrored import may_be_mirrored
from matching.pipelines.pair import match_described
from matching.result import MatchResult


def search_collection(first: ImageSource, second: ImageSource) -> MatchResult:
    """Match two pictures of a collection, most of whose pairs share nothing.

    The details of two large pictures are not matched, because each pair would take ten times as long.
    Mirrored objects are found without being asked for.
    """
    config, views = first.config, (lambda: first.views, lambda: second.views)
    one_is_small = is_larger(first.described, config) != is_larger(second.described, config)
    details = (lambda: first.details, lambda: second.details) if one_is_small else None
    result = match_described(first.described, second.described, config, views=views, details=details)
    can_be = config.way.is_tested and not config.mirrored
    if can_be and may_be_mirrored(first.described.features, second.described.features, config):
        turned = match_described(first.described, second.described, config.with_settings(mirrored=True))
        has_mirrored = any(o.motion is not None and o.motion.mirrored for o in turned.objects)
        if has_mirrored and (turned.cluster >= 0).sum() > (result.cluster >= 0).sum():
            return turned
    return result
