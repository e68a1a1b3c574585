"""Continuing a collection after an update of libraries, provided that they give the same results."""

from collections.abc import Mapping
from pathlib import Path

from matching.collection.database.settings import REMEDY, list_programs
from matching.collection.database.store import JOINED, Store
from matching.collection.work import Settings, Source, match_files
from matching.errors import InputError
from matching.output.provenance import differences, machine, programs
from matching.output.words import count

COMPARED = 3  # pairs that are matched again
OF_SOURCES = "its sources"


def compare_programs(store: Store, settings: Settings, path: Path) -> str:
    """Match some pairs again if the database was made with other libraries.

    Raise InputError if the result of a pair differs.
    """
    if not store.has_pending():
        return ""
    known = [_without_sources(made_by) for made_by in list_programs(store.settings())]
    here = _without_sources(programs())
    if here in known:
        return ""
    difference = differences(known[0], here)
    compared = 0
    if store.machines() in ((), (machine(),)):  # other processors round differently
        for number, first, second in _choose_pairs(store):
            record = match_files(number, first, second, settings)
            if record.error is None and not store.holds_result(record):
                names = f"{Path(first.path).name} and {Path(second.path).name}"
                raise InputError(
                    f"{path}: the database was made with other library versions, whose results differ"
                    f" ({difference}; {names} matched again); {REMEDY}, or install those versions"
                )
            compared += record.error is None
    store.record_programs(programs())
    again = f"; {count(compared, 'pair')} matched again: the same results" if compared else ""
    return f"the database was made with other library versions ({difference}){again}"


def _without_sources(made_by: Mapping[str, str]) -> dict[str, str]:
    """Versions without the digest of this program's sources: the numbers of stages stand in for it."""
    return {name: version for name, version in made_by.items() if name != OF_SOURCES}


def _choose_pairs(store: Store) -> list[tuple[int, Source, Source]]:
    rows = store.rows(
        f"SELECT pairs.id, a.path, a.sha256, b.path, b.sha256 FROM {JOINED}"
        " WHERE pairs.status = 'matched' ORDER BY n_matches DESC, pairs.id LIMIT ?",
        (COMPARED,),
    )
    return [(number, Source(p, c), Source(q, d)) for number, p, c, q, d in rows]
