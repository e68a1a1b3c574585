"""Watching a folder: pictures that arrive are added to a kept index, and matched with a given thing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matching._common.optional import import_optional
from matching.collection.cache import FeatureCache
from matching.collection.kept_index._index import Added, add_pictures
from matching.collection.plan import list_pictures
from matching.collection.records import PairRecord
from matching.collection.work import Settings, Source, get_described, match_files
from matching.errors import InputError
from matching.grouping.config import MatchConfig
from matching.output.folders import compute_digest
from matching.pictures.formats import find_picture_suffixes
from matching.pictures.names import is_file, is_folder, make_absolute

DEBOUNCE_MS = 1600  # changes within this time are handled together
START_MS = 500  # a watch without events counts as begun after this time


def watch_folder(
    index: Path,
    folder: Path,
    config: MatchConfig = MatchConfig(),
    *,
    cache: FeatureCache,
    thing: Path | None = None,
    recursive: bool = False,
    **running: Any,
) -> Iterator[tuple[Added, dict[str, PairRecord]]]:
    """Add the pictures of a folder to an index, and then, without end, those that arrive or change.

    Yield each batch that was added, with the match of each of its pictures with the thing, if there is one.
    """
    watchfiles = import_optional("watchfiles", "index watch needs watchfiles", "watchfiles")
    if not is_folder(folder):
        raise InputError(f"{folder}: is not a folder")
    root = make_absolute(folder)
    settings = Settings(config, cache)
    source = None
    if thing is not None:
        source = Source(make_absolute(thing), compute_digest(thing))
        if not len(get_described(source, settings).features):
            raise InputError(f"{thing}: no features: it is too small, flat or transparent to be found")

    def is_of_interest(_: Any, name: str) -> bool:
        path = Path(name)
        is_hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
        may_be_picture = path.suffix.lower() in find_picture_suffixes() or not is_file(path)
        return may_be_picture and not is_hidden and not path.is_relative_to(make_absolute(index))

    batches = watchfiles.watch(
        root, watch_filter=is_of_interest, debounce=DEBOUNCE_MS, rust_timeout=START_MS, yield_on_timeout=True,
        recursive=recursive,
    )  # fmt: skip
    for k, batch in enumerate(batches):
        if not is_folder(root):
            raise InputError(f"{folder}: the folder no longer exists")
        paths = sorted(path for _, path in batch)
        if k and not paths:
            continue
        # the whole folder is listed at first, and when a folder changes or a path disappears
        is_listed = k == 0 or any(not is_file(path) for path in paths)
        if is_listed:
            paths = list_pictures(folder, recursive, may_be_empty=True)
        added = add_pictures(index, paths, config, inside=[root] if is_listed else (), cache=cache, **running)
        matches: dict[str, PairRecord] = {}
        for path in added.paths:
            if source is not None and path != source.path:
                matches[path] = match_files(0, source, Source(path, compute_digest(path)), settings)
        yield added, matches
