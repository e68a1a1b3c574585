"""A search: one picture is described once and matched with many others."""

from functools import cache

from matching._common.threads import default_threads
from matching.config import MatchConfig
from matching.pictures.images import Picture
from matching.pipelines.description import DescribedPicture, describe_details, describe_picture, prepare_views
from matching.pipelines.pair import match_described
from matching.result import MatchResult
from matching.stages import Stages


class Search:
    """Searches other pictures for the objects of one picture."""

    def __init__(self, picture: Picture, config: MatchConfig, stages: Stages | None = None) -> None:
        self._picture, self._config, self._stages = picture, config, stages
        self._n_threads = default_threads()
        self.described = describe_picture(picture, config, self._n_threads)
        self._views = cache(lambda: prepare_views(picture, config))
        self._details = cache(lambda: self._describe_details(picture, self.described))

    def match(self, picture: Picture) -> MatchResult:
        """Match the picture with another one."""
        described = describe_picture(picture, self._config, self._n_threads)
        return match_described(
            self.described,
            described,
            self._config,
            stages=self._stages,
            views=(self._views, lambda: prepare_views(picture, self._config)),
            details=(self._details, lambda: self._describe_details(picture, described)),
            pictures=(self._picture, picture),
        )

    def _describe_details(self, picture: Picture, described: DescribedPicture) -> DescribedPicture:
        return describe_details(picture, described, self._config, self._n_threads)
