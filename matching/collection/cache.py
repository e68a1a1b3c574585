"""Described pictures on disk, so that each picture is described once.

The key of an entry is made from the file's content, the settings, the program versions and the kind of
processor. An entry is written under another name and then renamed; one that can't be read counts as missing.
Each process adds up the sizes of all files when it adds its first entry, and again each time it has added a
fiftieth of the limit; if the sum exceeds the limit, the least recently used files are removed.
"""

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from matching.features.detectors import list_detectors
from matching.features.extraction import Features, get_detector
from matching.grouping.config import MatchConfig
from matching.output.folders import replace_file
from matching.output.provenance import as_text, machine, programs
from matching.searches.source import DescribedPicture

SUFFIX = ".npz"
SHARE_AFTER_CLEANING = 0.9  # of the limit: old entries are removed until this much is used
SHARE_BETWEEN_COUNTS = 0.02  # of the limit: a process counts the files again after adding this much
_bytes_left: "dict[FeatureCache, float]" = {}  # bytes that this process may add before it counts again


def entry_key(content: str, config: MatchConfig, has_details: bool = False) -> str:
    """Make the key of a file's features as this process computes them, on this kind of processor."""
    parts: tuple[object, ...] = content, config.features, config.first_pixels
    parts += as_text(programs()), machine()
    detectors = list_detectors()
    for name in config.features.regions:  # numbers of registered detectors differ from process to process
        parts += (detectors.index(name), get_detector(name, config.features).version)
    if has_details:
        parts += ("details", config.max_pixels)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@dataclass(frozen=True)
class FeatureCache:
    """Entries in the files of an existing folder.

    Parameters
    ----------
    folder : Path
        The folder.
    limit : int
        Largest total size of the entries, in bytes.
    """

    folder: Path
    limit: int

    def get(self, key: str) -> DescribedPicture | None:
        """Read an entry."""
        path = self._path(key)
        try:
            # opened here, because np.load leaves a damaged file open
            with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
                arrays: dict[str, Any] = dict(data)
            arrays["descriptors"] = arrays["descriptors"].astype(np.float32)
            arrays["digest"] = arrays["digest"].tobytes()
            features = Features(**{f.name: arrays.pop(f.name) for f in fields(Features)})
            entry = DescribedPicture(features, **arrays)
        except Exception:  # missing, unreadable for now, or damaged, which may raise nearly anything
            return None
        with suppress(OSError):  # another user's file in a shared cache
            os.utime(path)  # marks it as used now
        return entry

    def put(self, key: str, entry: DescribedPicture) -> None:
        """Keep an entry. If the disk is full or can't be written, the entry is not kept, without an error."""
        path = self._path(key)
        with suppress(OSError):  # the picture is described again when needed
            path.parent.mkdir(exist_ok=True)
            with replace_file(path) as file:  # a file that a crash leaves has the suffix of an entry, too
                arrays: dict[str, Any] = {**vars(entry), **vars(entry.features)}
                del arrays["features"]
                # whole numbers up to DESCRIPTOR_NORM: the same values in half the size of float32
                arrays["descriptors"] = entry.features.descriptors.astype(np.uint16)
                arrays["digest"] = np.frombuffer(entry.digest, np.uint8)
                np.savez(file, **arrays)
                _bytes_left[self] = _bytes_left.get(self, 0) - file.tell()
            if _bytes_left[self] < 0:
                self._make_room()

    def _path(self, key: str) -> Path:
        """The file of an entry."""
        return self.folder / key[:2] / f"{key}{SUFFIX}"

    def _make_room(self) -> None:
        """Add up the entries; if they exceed the limit, remove those used least recently."""
        entries: list[tuple[int, int, Path]] = []  # time of last use, bytes, and path
        for path in self.folder.glob(f"??/*{SUFFIX}"):
            with suppress(OSError):  # another process removed it, or another user owns it
                status = path.stat()
                entries.append((status.st_mtime_ns, status.st_size, path))
        used = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries) if used > self.limit else ():  # least recently used first
            if used <= SHARE_AFTER_CLEANING * self.limit:
                break
            with suppress(OSError):  # it may be another user's
                path.unlink(missing_ok=True)
                used -= size
        _bytes_left[self] = min(self.limit - used, SHARE_BETWEEN_COUNTS * self.limit)
