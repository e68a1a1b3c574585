import os
import time
from dataclasses import fields, replace

import numpy as np
import pytest

from matching import MatchConfig
from matching.collection import cache as collection_cache
from matching.collection.cache import FeatureCache, entry_key
from matching.features.extraction import DESCRIPTOR_NORM, Features
from matching.output.folders import compute_digest
from matching.pictures.images import read_picture
from matching.searches.source import DescribedPicture, describe_picture


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


def test_entry_is_restored_exactly(tmp_path, entry):
    cache = FeatureCache(tmp_path, 10**9)
    assert cache.get("ab12") is None
    cache.put("ab12", entry)
    assert equal(cache.get("ab12"), entry)
    for n in (0, 1, 50):
        other = made_up(np.random.default_rng(n), n)
        cache.put(f"cd{n}", other)
        assert equal(cache.get(f"cd{n}"), other)


def test_key_follows_content_and_settings_of_features(folder):
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
def test_key_follows_programs_and_processor(monkeypatch, what):
    key = entry_key("0" * 64, MatchConfig())
    monkeypatch.setattr(
        collection_cache, what, {"programs": lambda: {"numpy": "0"}, "machine": lambda: ""}[what]
    )
    assert entry_key("0" * 64, MatchConfig()) != key


@pytest.mark.parametrize("damage", [lambda b: b[:-50], lambda b: b"", lambda b: b[:2000] + b"x" + b[2001:]])
def test_damaged_entry_counts_as_missing(tmp_path, entry, damage):
    cache = FeatureCache(tmp_path, 10**9)
    cache.put("ab", entry)
    (path,) = tmp_path.glob("*/*.npz")
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("ab") is None
    cache.put("ab", entry)
    assert equal(cache.get("ab"), entry)


def test_entries_follow_the_umask(tmp_path, entry):
    before = os.umask(0o027)
    try:
        FeatureCache(tmp_path, 10**9).put("ab", entry)
    finally:
        os.umask(before)
    (path,) = tmp_path.glob("*/*.npz")
    assert path.stat().st_mode & 0o777 == 0o640


def test_least_recently_used_entries_are_removed(tmp_path):
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


def test_entry_larger_than_the_cache_is_not_kept(tmp_path, entry):
    cache = FeatureCache(tmp_path, 1000)
    cache.put("ab", entry)
    assert cache.get("ab") is None
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_full_cache_never_exceeds_its_limit(tmp_path):
    entry = made_up(np.random.default_rng(0), 1)
    probe = FeatureCache(tmp_path, 10**9)
    probe.put("probe", entry)
    cache = FeatureCache(tmp_path / "full", 250 * size_of(probe))
    cache.folder.mkdir()
    for k in range(400):
        cache.put(f"{k:03d}", entry)
        assert size_of(cache) <= cache.limit


def test_unwritable_cache_is_no_error(tmp_path, entry):
    (tmp_path / "file").touch()
    cache = FeatureCache(tmp_path / "file", 10**9)
    cache.put("ab", entry)
    assert cache.get("ab") is None
