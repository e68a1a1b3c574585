"""A picture that describes itself when asked, so that it can be matched with many others."""

from functools import cached_property

from matching._common.threads import default_threads
from matching.config import MatchConfig
from matching.features.views import ViewedPicture
from matching.pictures.images import Picture
from matching.pipelines.description import (
    DescribedPicture,
    describe_details,
    describe_picture,
    is_larger,
    prepare_views,
)
from matching.pipelines.mirrored import may_be_mirrored
from matching.pipelines.pair import match_described
from matching.result import MatchResult
from matching.stages import Stages


class ImageSource:
    """A picture in memory, and what matching needs to know about it, each part computed once, when needed."""

    def __init__(self, picture: Picture, config: MatchConfig) -> None:
        self.picture, self.config, self._n_threads = picture, config, default_threads()

    @cached_property
    def described(self) -> DescribedPicture:
        """The features at the working size."""
        return describe_picture(self.picture, self.config, self._n_threads)

    @cached_property
    def details(self) -> DescribedPicture:
        """The features at the full size."""
        return describe_details(self.picture, self.described, self.config, self._n_threads)

    @cached_property
    def views(self) -> ViewedPicture:
        """The picture as it is prepared for simulated views."""
        return prepare_views(self.picture, self.config)


def search(thing: ImageSource, scene: ImageSource, stages: Stages | None = None) -> MatchResult:
    """Match two pictures with all that both show: their views, details, and pixels."""
    return match_described(
        thing.described,
        scene.described,
        thing.config,
        stages=stages,
        views=(lambda: thing.views, lambda: scene.views),
        details=(lambda: thing.details, lambda: scene.details),
        pictures=(thing.picture, scene.picture),
    )


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
