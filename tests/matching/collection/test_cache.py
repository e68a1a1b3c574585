import errno
import os
import subprocess
import sys
import time
from dataclasses import fields, replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE

from matching import MatchConfig
from matching.collection import cache as collection_cache
from matching.collection.cache import FeatureCache, entry_key
from matching.features.extraction import DESCRIPTOR_NORM, Features
from matching.output.commit import compute_digest
from matching.pictures.images import read_picture
from matching.pipelines.description import DescribedPicture, describe_picture


@pytest.fixture(scope="module")
def entry(folder):
    return describe_picture(read_picture(folder / "c.jpg"))


def made_up(rng, n):
    """An entry of n features with any values that features can have."""
    columns = {
        "xy": rng.normal(size=(n, 2)) * 1e3,
        "frames": rng.normal(size=(n, 2, 2)),
        "descriptors": rng.integers(0, DESCRIPTOR_NORM + 1, (n, 128)).astype(np.float32),
    }
    flags = {f.name: rng.integers(0, 2, n).astype(np.int8) for f in fields(Features)}
    features, step = Features(**{**flags, **columns}), np.array([1.5, 1 / 3])
    return DescribedPicture(features, step, rng.bytes(32), rng.random((2, 2)), np.array([640, 480]))


def equal(a, b):
    columns = all(
        np.array_equal(getattr(a.features, f.name), getattr(b.features, f.name))
        and getattr(a.features, f.name).dtype == getattr(b.features, f.name).dtype
        for f in fields(Features)
    )
    others = np.array_equal(a.step, b.step) and a.digest == b.digest
    return columns and others and np.array_equal(a.size, b.size)


def size_of(cache):
    """Bytes that the entries take."""
    return sum(path.stat().st_size for path in cache.folder.glob("*/*"))


def test_an_entry_comes_back_bit_by_bit(tmp_path, entry):
    cache = FeatureCache(tmp_path, 10**9)
    assert cache.get("ab12") is None
    cache.put("ab12", entry)
    assert equal(cache.get("ab12"), entry)
    for n in (0, 1, 50):
        other = made_up(np.random.default_rng(n), n)
        cache.put(f"cd{n}", other)
        assert equal(cache.get(f"cd{n}"), other)


def test_the_key_follows_content_and_settings_of_features(folder):
    config = MatchConfig()
    content = compute_digest(folder / "c.jpg")
    assert content == compute_digest(str(folder / "c.jpg"))
    assert compute_digest(folder / "missing.jpg") is None
    key = entry_key(content, config)
    assert key == entry_key(content, replace(config, clustering=replace(config.clustering, n_clusters=7)))
    others = {
        entry_key("0" * 64, config),
        entry_key(content, replace(config, max_pixels=1000)),
        entry_key(content, replace(config, features=replace(config.features, mser_delta=5))),
    }
    assert key not in others
    assert len(others) == 3


@pytest.mark.parametrize("what", ["programs", "machine"])
def test_the_key_follows_programs_and_processor(monkeypatch, what):
    key = entry_key("0" * 64, MatchConfig())
    monkeypatch.setattr(
        collection_cache, what, {"programs": lambda: {"numpy": "0"}, "machine": lambda: ""}[what]
    )
    assert entry_key("0" * 64, MatchConfig()) != key


def test_an_entry_of_another_key_or_with_other_values_counts_as_missing(tmp_path):
    cache = FeatureCache(tmp_path, 10**9)
    rng = np.random.default_rng(0)
    one, other = made_up(rng, 20), made_up(rng, 20)
    cache.put("ab1", one)
    cache.put("ab2", other)
    cache._path("ab2").replace(cache._path("ab1"))  # whole, but another picture's
    assert cache.get("ab1") is None
    cache.put("ab1", one)
    with np.load(cache._path("ab1")) as data:
        arrays = dict(data)
    for name in arrays:
        changed = {**arrays, name: np.ascontiguousarray(arrays[name][::-1])}
        np.savez(cache._path("ab1"), **changed)
        assert cache.get("ab1") is None or np.array_equal(changed[name], arrays[name])
    np.savez(cache._path("ab1"), **{name: a for name, a in arrays.items() if name != "checksum"})
    assert cache.get("ab1") is None


@pytest.mark.parametrize("damage", [lambda b: b[:-50], lambda b: b"", lambda b: b[:2000] + b"x" + b[2001:]])
def test_a_damaged_entry_counts_as_missing(tmp_path, entry, damage):
    cache = FeatureCache(tmp_path, 10**9)
    cache.put("ab", entry)
    (path,) = tmp_path.glob("*/*.npz")
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("ab") is None
    assert not path.exists()
    cache.put("ab", entry)
    assert equal(cache.get("ab"), entry)


def test_an_entry_that_can_not_be_read_now_is_left_alone(tmp_path, entry, monkeypatch):
    cache = FeatureCache(tmp_path, 10**9)
    cache.put("ab", entry)

    def refuse(*_):
        raise OSError(errno.EMFILE, "too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(collection_cache, "_read", refuse)
        assert cache.get("ab") is None
    assert equal(cache.get("ab"), entry)


def test_any_flipped_bit_of_the_structure_is_damage_or_harmless(tmp_path):
    """Of each kind of the archive's headers; one of them says that an entry is encrypted."""
    entry = made_up(np.random.default_rng(0), 1)
    cache = FeatureCache(tmp_path, 10**9)
    cache.put("ab", entry)
    (path,) = tmp_path.glob("*/*.npz")
    whole = path.read_bytes()
    headers = [whole.index(signature) for signature in (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06")]
    rejected = 0
    for start, bit in product(headers, range(8 * 20)):
        flipped = bytearray(whole)
        flipped[start + bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        found = cache.get("ab")
        assert found is None or equal(found, entry)
        rejected += found is None
    assert rejected > 100


def test_entries_are_for_all_whom_the_umask_allows(tmp_path, entry):
    before = os.umask(0o027)
    try:
        FeatureCache(tmp_path, 10**9).put("ab", entry)
    finally:
        os.umask(before)
    (path,) = tmp_path.glob("*/*.npz")
    assert path.stat().st_mode & 0o777 == 0o640


def test_entries_of_another_user_are_used_and_left_alone(tmp_path, entry, monkeypatch):
    def forbidden(*_, **__):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    cache = FeatureCache(tmp_path, 10**9)
    cache.put("ab", entry)
    (path,) = tmp_path.glob("*/*.npz")
    with monkeypatch.context() as patch:
        patch.setattr(os, "utime", forbidden)
        assert equal(cache.get("ab"), entry)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", forbidden)
        assert cache.get("ab") is None
    assert path.exists()


def test_what_another_user_forbids_to_delete_does_not_fill_the_room(tmp_path, monkeypatch):
    entry = made_up(np.random.default_rng(0), 100)
    FeatureCache(tmp_path, 10**9).put("a0", entry)
    cache = FeatureCache(tmp_path, 2 * size_of(FeatureCache(tmp_path, 0)))
    unlink = Path.unlink

    def refusing(path, **keywords):
        if path.stem == "a0":
            raise PermissionError(errno.EPERM, "Operation not permitted", path)
        unlink(path, **keywords)

    monkeypatch.setattr(Path, "unlink", refusing)
    for k in range(1, 5):
        cache.put(f"b{k}", entry)
    assert cache.get("a0") is not None
    assert size_of(cache) <= cache.limit


def test_the_entries_used_least_recently_go(tmp_path):
    entry = made_up(np.random.default_rng(0), 100)
    probe = FeatureCache(tmp_path, 10**9)
    probe.put("probe", entry)
    size = size_of(probe)
    cache = FeatureCache(tmp_path / "limited", 4 * size)
    cache.folder.mkdir()
    for k in range(4):
        cache.put(f"a{k}", entry)
    for k, age in enumerate((40, 30, 20, 10)):  # seconds
        os.utime(cache._path(f"a{k}"), (time.time() - age,) * 2)
    assert cache.get("a0") is not None  # used now
    cache.put("bb", entry)
    kept = [name for name in ("a0", "a1", "a2", "a3", "bb") if cache.get(name) is not None]
    assert kept == ["a0", "a3", "bb"]  # down to nine tenths of the room
    assert size_of(cache) <= cache.limit


def test_an_entry_larger_than_the_cache_is_not_kept(tmp_path, entry):
    cache = FeatureCache(tmp_path, 1000)
    cache.put("ab", entry)
    assert cache.get("ab") is None
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_what_a_crash_left_goes_after_a_while(tmp_path, entry):
    (tmp_path / "unfinished").mkdir()
    old, new = tmp_path / "unfinished/old.part", tmp_path / "unfinished/new.part"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    FeatureCache(tmp_path, 10**9).put("ab12", entry)
    assert not old.exists()
    assert new.exists()  # another process may be writing it


def count_counts(monkeypatch):
    counts = []
    make_room = FeatureCache._make_room
    monkeypatch.setattr(FeatureCache, "_make_room", lambda self: counts.append(0) or make_room(self))
    return counts


def test_entries_are_counted_once_per_fiftieth_of_the_limit(tmp_path, monkeypatch):
    entry = made_up(np.random.default_rng(0), 1)
    probe = FeatureCache(tmp_path, 10**9)
    probe.put("probe", entry)
    counts = count_counts(monkeypatch)
    cache = FeatureCache(tmp_path / "large", 1000 * size_of(probe))
    cache.folder.mkdir()
    for k in range(100):
        cache.put(f"{k:03d}", entry)
    assert len(counts) == 1 + 99 // 21  # the first one, and each time more than 20 have come


def test_a_full_cache_never_exceeds_its_limit(tmp_path):
    entry = made_up(np.random.default_rng(0), 1)
    probe = FeatureCache(tmp_path, 10**9)
    probe.put("probe", entry)
    cache = FeatureCache(tmp_path / "full", 250 * size_of(probe))
    cache.folder.mkdir()
    for k in range(400):
        cache.put(f"{k:03d}", entry)
        assert size_of(cache) <= cache.limit


def test_entries_that_another_process_adds_are_counted(tmp_path):
    entry = made_up(np.random.default_rng(0), 1)
    probe = FeatureCache(tmp_path, 10**9)
    probe.put("probe", entry)
    cache = FeatureCache(tmp_path / "shared", 100 * size_of(probe))
    cache.folder.mkdir()
    cache.put("aa", entry)
    content = cache._path("aa").read_bytes()
    for k in range(120):  # as if by another process
        path = cache._path(f"b{k:03d}")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    for k in range(3):  # 2 % of the limit each process adds between two counts
        cache.put(f"c{k}", entry)
    assert size_of(cache) <= cache.limit


def test_a_cache_that_can_not_be_written_is_no_error(tmp_path, entry):
    (tmp_path / "file").touch()
    cache = FeatureCache(tmp_path / "file", 10**9)
    cache.put("ab", entry)
    assert cache.get("ab") is None


WRITER = """
import sys
import numpy as np
from pathlib import Path
from matching.collection.cache import FeatureCache
from matching.features.extraction import Features
from matching.pipelines.description import DescribedPicture
from dataclasses import fields

folder, value = Path(sys.argv[1]), int(sys.argv[2])
cache = FeatureCache(folder, 300_000)
n = 100
for k in range(60):
    key = f"{k % 7:02d}"
    columns = {f.name: np.full(n, k % 7, np.int8) for f in fields(Features)}
    columns["xy"] = np.full((n, 2), float(k % 7))
    columns["descriptors"] = np.full((n, 128), k % 7, np.float32)
    described = DescribedPicture(Features(**columns), np.ones(2), b"x", np.eye(2), np.array([k % 7, 1]))
    cache.put(key, described)
    entry = cache.get(key)
    assert entry is None or (entry.size[0] == k % 7 and (entry.features.xy == k % 7).all())
"""


def test_several_writers_at_once(tmp_path):
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(k)], stderr=subprocess.PIPE, text=True
        )
        for k in range(3)
    ]
    assert [run.communicate(timeout=PATIENCE)[1] for run in runs] == [""] * 3
    assert not list(tmp_path.rglob("*.part"))
    assert size_of(FeatureCache(tmp_path, 300_000)) <= 300_000
