"""Described pictures on disk, so that each picture is described once.

An entry's key says what its features come from: the file's content, the settings of the features, the
programs and the kind of processor that computed them. Entries are written beside their place and renamed, so
that two writers or a crash leave whole entries only. They hold a checksum over key and content: one that is
damaged, or another one's, counts as missing. The entries used least recently go when they take more room than
allowed.
"""

from __future__ import annotations

import hashlib
import os
import time
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from uuid import uuid4

import numpy as np

from matching.features.extraction import Features
from matching.output.provenance import as_text, machine, programs
from matching.pictures.names import is_file
from matching.pipeline import DescribedPicture

SUFFIX = ".npz"
FULL = 0.9  # share of the allowed room that is left taken when entries go
ABANDONED = 3600  # seconds after which an unfinished file is nobody's
DAMAGED = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, eq=False)
class CachedPicture:
    """What is kept of a picture.

    described : DescribedPicture
    width, height : pixels of the picture as displayed
    """

    described: DescribedPicture
    width: int
    height: int


def content_digest(path):
    """SHA-256 of a file's bytes, as 64 hexadecimal digits; None if it can't be read, or is a pipe or a
    device, which may have no end.
    """
    if not is_file(path):
        return None
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def entry_key(content, config):
    """The key of the features of a file with this `content_digest` under a MatchConfig, of this process's
    programs on this kind of processor.
    """
    described_by = (content, config.features, config.max_pixels, as_text(programs()), machine())
    return hashlib.sha256(repr(described_by).encode()).hexdigest()


@dataclass(frozen=True)
class FeatureCache:
    """Entries in the files of a folder that exists.

    folder : of the entries
    limit : bytes that they may take together
    """

    folder: Path
    limit: int

    def get(self, key):
        """The CachedPicture of a key, None if there is none."""
        path = self._path(key)
        try:
            entry = _read(path, key)
        except (FileNotFoundError, PermissionError):
            return None
        except DAMAGED:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            return None
        with suppress(OSError):  # another user's, of a cache that several share
            os.utime(path)  # used now
        return entry

    def put(self, key, entry):
        """Keep a CachedPicture; without an error where the disk is full or can't be written."""
        path = self._path(key)
        part = path.with_name(f"{uuid4().hex}.part")
        with suppress(OSError):  # it is described again when needed
            path.parent.mkdir(exist_ok=True)
            try:
                with part.open("xb") as file:  # tempfile's would be for this user alone
                    arrays = _arrays(entry)
                    np.savez(file, **arrays, checksum=_checksum(key, arrays))
                if part.stat().st_size <= self.limit:
                    part.replace(path)
            finally:
                part.unlink(missing_ok=True)
            self._make_room()

    def _path(self, key):
        return self.folder / key[:2] / f"{key}{SUFFIX}"

    def _make_room(self):
        entries = sorted(self._entries(), key=lambda entry: entry[0])  # used least recently first
        taken = sum(size for _, size, _ in entries)
        if taken <= self.limit:
            return
        for _, size, path in entries:
            if taken <= FULL * self.limit:
                break
            with suppress(OSError):  # another user's
                path.unlink(missing_ok=True)
                taken -= size

    def _entries(self):
        """(time of last use, bytes, path) of each entry; on the way, unfinished files of the past go."""
        for path in self.folder.glob("??/*"):
            try:
                status = path.stat()
                if path.suffix == SUFFIX:
                    yield status.st_mtime_ns, status.st_size, path
                elif path.suffix == ".part" and status.st_mtime < time.time() - ABANDONED:
                    path.unlink(missing_ok=True)
            except OSError:  # another process made room, or it is another user's
                continue


def _arrays(entry):
    features = {f.name: getattr(entry.described.features, f.name) for f in fields(Features)}
    # whole numbers up to DESCRIPTOR_NORM: half the room of float32, and the same values
    features["descriptors"] = features["descriptors"].astype(np.uint16)
    return {
        **features,
        "step": entry.described.step,
        "digest": np.frombuffer(entry.described.digest, np.uint8),
        "size": np.array([entry.width, entry.height]),
    }


def _checksum(key, arrays):
    """(32,) uint8: SHA-256 over a key and all of the arrays, their names, types and shapes."""
    digest = hashlib.sha256(key.encode())
    for name, array in sorted(arrays.items()):
        digest.update(repr((name, array.dtype.str, array.shape)).encode())
        digest.update(np.ascontiguousarray(array))
    return np.frombuffer(digest.digest(), np.uint8)


def _read(path, key):
    # opened here: np.load leaves a file open that it finds damaged
    with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
        arrays = {name: data[name] for name in data.files}
    if not np.array_equal(arrays.pop("checksum"), _checksum(key, arrays)):
        raise ValueError("the checksum does not fit")
    columns = {f.name: arrays[f.name] for f in fields(Features)}
    columns["descriptors"] = columns["descriptors"].astype(np.float32)
    described = DescribedPicture(Features(**columns), arrays["step"], arrays["digest"].tobytes())
    return CachedPicture(described, *(int(n) for n in arrays["size"]))
