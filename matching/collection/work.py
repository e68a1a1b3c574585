"""The two kinds of work: describe a picture, match a pair. Each call is independent and can be repeated.

The calls run in any process on any machine that can read the files, and return errors as records.
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from matching._common.threads import limit_threads
from matching.collection.cache import FeatureCache, entry_key
from matching.collection.plan import BAD_NAME
from matching.collection.records import ImageRecord, PairRecord, make_pair_record
from matching.config import MatchConfig
from matching.errors import InputError, one_line
from matching.features.detectors import Detector, list_registered, register_detector
from matching.features.views import ViewedPicture
from matching.output.commit import compute_digest
from matching.output.provenance import origin
from matching.pictures.images import Picture, read_picture
from matching.pictures.names import is_file
from matching.pipelines.description import (
    DescribedPicture,
    describe_details,
    describe_picture,
    is_larger,
    prepare_views,
)
from matching.pipelines.mirrored import may_be_mirrored
from matching.pipelines.pair import match_described

Made = TypeVar("Made")

INTERNAL = "internal error: "  # begins the reason of a failure if the program itself failed
KEPT_IN_MEMORY = 8  # described pictures per process, each at most about 20 MB
DETAILS_IN_MEMORY = 2  # pictures per process whose details are kept, each 40 MB for 6 megapixels
VIEWS_IN_MEMORY = 2  # pictures per process whose simulated views are kept, each at most about 60 MB


@dataclass(frozen=True)
class Settings:
    """The data that all tasks of a collection share."""

    config: MatchConfig
    cache: FeatureCache
    detectors: tuple[Detector, ...] = field(default_factory=list_registered)  # for new processes

    def register(self) -> None:
        """Make the detectors known in this process."""
        for detector in self.detectors:
            register_detector(detector)


@dataclass(frozen=True)
class Source:
    """The file of a picture."""

    path: str
    content: str | None  # the `compute_digest` of the file when it was described


def describe_file(number: int, path: str, settings: Settings) -> ImageRecord:
    """Describe a picture, and keep its features in the cache."""
    settings.register()
    content = None
    try:
        content = compute_digest(path)
        with limit_threads(1):
            entry = get_described(Source(path, content), settings)
    except Exception as error:
        return ImageRecord(number, content, error=explain_failure(error), origin=origin())
    width, height = map(int, entry.size)
    return ImageRecord(number, content, width, height, len(entry.features), origin=origin())


def explain_failure(error: Exception) -> str:
    """Explain an error in a record: bad input in one line, an error of the program by its traceback."""
    return one_line(error) if isinstance(error, InputError) else INTERNAL + traceback.format_exc()


def match_files(number: int, source0: Source, source1: Source, settings: Settings) -> PairRecord:
    """Match two pictures."""
    settings.register()
    contents = source0.content, source1.content
    try:
        with limit_threads(1):
            sources = source0, source1
            first, second = (get_described(source, settings) for source in sources)
            views = [partial(_read_view, source, settings.config) for source in sources]
            # The details of two large pictures are not matched: most pairs of a collection share nothing, and
            # each pair would take ten times as long.
            one_is_small = is_larger(first, settings.config) != is_larger(second, settings.config)
            get_details = partial(_describe_details_or_load, config=settings.config, cache=settings.cache)
            details = [partial(get_details, source) for source in sources] if one_is_small else None
            result = match_described(first, second, settings.config, views=views, details=details)
            config = settings.config
            can_be = config.way.is_tested and not config.mirrored
            if can_be and may_be_mirrored(first.features, second.features, config):
                turned = match_described(first, second, config.with_settings(mirrored=True))
                has_mirrored = any(o.motion is not None and o.motion.mirrored for o in turned.objects)
                if has_mirrored and (turned.cluster >= 0).sum() > (result.cluster >= 0).sum():
                    result = turned
    except Exception as error:
        return PairRecord(number, contents, error=explain_failure(error), origin=origin())
    return make_pair_record(number, contents, result, origin())


def get_described(source: Source, settings: Settings) -> DescribedPicture:
    """Take a described picture from memory or from the cache, or describe it and keep it in both."""
    return _describe_or_load(source, settings.config, settings.cache)


@lru_cache(maxsize=KEPT_IN_MEMORY)
def _describe_or_load(source: Source, config: MatchConfig, cache: FeatureCache) -> DescribedPicture:
    if source.content is None:
        raise InputError(explain_unreadable(source.path))
    key = entry_key(source.content, config)
    entry = cache.get(key)
    if entry is None:
        entry = _make_from_picture(source, partial(describe_picture, config=config))
        cache.put(key, entry)
    return entry


def _make_from_picture(source: Source, make: Callable[[Picture], Made]) -> Made:
    """Call a function with the picture of a Source; raise InputError if the file has changed."""
    made = make(read_picture(source.path))
    if compute_digest(source.path) != source.content:
        raise InputError(f"{source.path}: the file changed during the run")
    return made


@lru_cache(maxsize=DETAILS_IN_MEMORY)
def _describe_details_or_load(source: Source, config: MatchConfig, cache: FeatureCache) -> DescribedPicture:
    """The result of `describe_details`, taken from memory or the cache, or computed."""
    described = _describe_or_load(source, config, cache)
    key = entry_key(str(source.content), config, has_details=True)
    entry = cache.get(key)
    if entry is None:
        describe = partial(describe_details, described=described, config=config)
        entry = _make_from_picture(source, describe)
        cache.put(key, entry)
    return entry


@lru_cache(maxsize=VIEWS_IN_MEMORY)
def _read_view(source: Source, config: MatchConfig) -> ViewedPicture:
    return _make_from_picture(source, partial(prepare_views, config=config))


def explain_unreadable(path: str) -> str:
    """Explain in one line why a file can't be read."""
    try:
        Path(path).stat()
    except (OSError, ValueError) as error:
        if BAD_NAME in path:
            return f"{path}: the name is not UTF-8; rename the file"
        if isinstance(error, FileNotFoundError):
            return f"{path}: no such file"
        return f"{path}: can't be read ({getattr(error, 'strerror', None) or error})"
    return f"{path}: can't be read" if is_file(path) else f"{path}: is not a file"
