"""The tasks of workers: to describe a picture, and to match a pair.

A task can run in any process on any machine that can read the files, and can be repeated. It returns errors
as records.
"""

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from matching._common.threads import limit_threads
from matching._common.types import Array
from matching.collection.cache import FeatureCache, entry_key
from matching.collection.records import ImageRecord, PairRecord, make_pair_record
from matching.drivers.pair import match_pair
from matching.errors import InputError, one_line
from matching.features.detectors import Detector, list_registered_detectors, register_detector
from matching.grouping.config import MatchConfig
from matching.grouping.methods import MANY
from matching.output.folders import compute_digest
from matching.pictures.images import Picture, read_picture
from matching.pictures.names import exists, is_file
from matching.searches.source import (
    DescribedPicture,
    ImageSource,
    describe_details,
    describe_picture,
)

INTERNAL_PREFIX = "internal error: "  # of the reason if the program itself failed
# Pictures per process. Each takes up to 20 MB; details of 6 megapixels take 40 MB more, and simulated views
# 60 MB more, where they are needed.
MAX_SOURCES_IN_MEMORY = 4


@dataclass(frozen=True)
class Settings:
    """The data that all tasks of a collection share."""

    config: MatchConfig
    cache: FeatureCache
    detectors: tuple[Detector, ...] = field(default_factory=list_registered_detectors)  # for new processes


@dataclass(frozen=True)
class Source:
    """The file of a picture."""

    path: str
    content: str | None  # the `compute_digest` of the file when it was described


class FileSource(ImageSource):
    """A picture in a file, whose features come from the cache, or are kept there."""

    def __init__(self, file: Source, settings: Settings) -> None:
        self.file, self.config, self._cache = file, settings.config, settings.cache

    @property
    def picture(self) -> Picture:  # type: ignore[override]
        """The picture, which is read each time; raise InputError if the file has changed."""
        with warnings.catch_warnings(action="ignore"):  # it is read more than once, by several processes
            picture = read_picture(self.file.path)
        if compute_digest(self.file.path) != self.file.content:
            raise InputError(f"{self.file.path}: the file changed during the run")
        return picture

    @cached_property
    def described(self) -> DescribedPicture:
        """The features at the working size."""
        if self.file.content is None:
            raise InputError(explain_unreadable(self.file.path))
        key = entry_key(self.file.content, self.config)
        return self._get(key, lambda: describe_picture(self.picture, self.config))

    @cached_property
    def details(self) -> DescribedPicture:
        """The features at the full size."""
        key = entry_key(str(self.file.content), self.config, has_details=True)
        return self._get(key, lambda: describe_details(self.picture, self.described, self.config))

    def _get(self, key: str, describe: Callable[[], DescribedPicture]) -> DescribedPicture:
        """Take an entry from the cache, or make it and keep it there."""
        entry = self._cache.get(key)
        if entry is None:
            entry = describe()
            self._cache.put(key, entry)
        return entry


@lru_cache(maxsize=MAX_SOURCES_IN_MEMORY)
def open_source(file: Source, settings: Settings) -> FileSource:
    """Make the source of a file, or take it from memory."""
    return FileSource(file, settings)


def get_described(file: Source, settings: Settings) -> DescribedPicture:
    """Take a described picture from memory or from the cache, or describe it and keep it in both."""
    return open_source(file, settings).described


def run_task(function: Callable[..., Any], settings: Settings, *task: Any) -> Any:
    """Run a task on one thread, in a process that may be new."""
    for detector in settings.detectors:
        register_detector(detector)
    with limit_threads(1):
        return function(*task, settings)


def describe_file(
    number: int, path: str, settings: Settings, encode: Callable[[DescribedPicture, int], Array] | None = None
) -> ImageRecord:
    """Describe a picture, and keep its features in the cache; `encode` makes its entries for an index."""
    record = ImageRecord(number)
    try:
        if is_file(path):
            status = Path(path).stat()
            record = replace(record, bytes=status.st_size, modified=status.st_mtime_ns)
        record = replace(record, content=compute_digest(path))
        found = get_described(Source(path, record.content), settings)
        width, height = map(int, found.size)
        entries = encode(found, number) if encode else None
        return replace(record, width=width, height=height, n_features=len(found.features), entries=entries)
    except Exception as error:
        return replace(record, error=explain_failure(error))


def match_files(number: int, file0: Source, file1: Source, settings: Settings) -> PairRecord:
    """Match two pictures."""
    try:
        result = match_pair(open_source(file0, settings), open_source(file1, settings), MANY)
    except Exception as error:
        return PairRecord(number, error=explain_failure(error))
    return make_pair_record(number, result)


def explain_failure(error: Exception) -> str:
    """Explain an error in a record: bad input in one line, an error of the program by its traceback."""
    return one_line(error) if isinstance(error, InputError) else INTERNAL_PREFIX + traceback.format_exc()


def explain_unreadable(path: str) -> str:
    """Explain in one line why a file can't be read."""
    if not exists(path):
        reason = "the name is not UTF-8; rename the file" if "\\udc" in path else "no such file"
        return f"{path}: {reason}"
    return f"{path}: can't be read" if is_file(path) else f"{path}: is not a file"
