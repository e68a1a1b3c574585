import shutil

import numpy as np
import pytest
from database import content, rows

from matching.collection import FeatureCache, match_collection, plan_of_gallery, work
from matching.collection.shortlist import RATIO, best, some_descriptors, votes
from matching.features.extraction import DESCRIPTOR_NORM

pytest.importorskip("faiss", reason="the shortlist needs faiss")


def definition(squared, owner, n_pictures):
    """With loops: a vote for each picture among the K nearest with a descriptor within RATIO of the last."""
    total = np.zeros(n_pictures)
    for distances, owners in zip(np.sqrt(squared), owner, strict=True):
        for picture in set(owners[:-1]):
            nearest = min(d for d, o in zip(distances[:-1], owners[:-1], strict=True) if o == picture)
            total[picture] += nearest < RATIO * distances[-1]
    return total


@pytest.mark.parametrize("seed", range(5))
def test_votes_follow_the_definition(seed):
    rng = np.random.default_rng(seed)
    squared = np.sort(rng.uniform(size=(40, 6)), axis=1)
    owner = rng.integers(0, 5, (40, 6))
    found = votes(squared, owner, np.ones((40, 6), bool), 5)
    assert np.array_equal(found, definition(squared, owner, 5))
    assert found.sum() > 20


def test_neighbours_that_the_index_did_not_find_say_nothing():
    squared = np.array([[1.0, 3.0, np.inf, np.inf]])
    owner = np.array([[2, 0, 1, 1]])
    known = np.array([[True, True, False, False]])
    assert votes(squared, owner, known, 3).tolist() == [0, 0, 1]


def test_the_best_come_first_and_ties_by_number():
    assert best(np.array([1.0, 3.0, 3.0, 0.0]), 3) == [1, 2, 0]
    assert best(np.array([1.0, 3.0, 3.0, 0.0]), 9, but=[1]) == [2, 0, 3]


def random_descriptors(rng, n):
    raw = np.abs(rng.normal(size=(n, 128)))
    return np.rint(raw / np.linalg.norm(raw, axis=1, keepdims=True) * DESCRIPTOR_NORM).astype(np.float32)


def test_descriptors_are_spread_and_of_unit_length():
    some = some_descriptors(random_descriptors(np.random.default_rng(0), 5000), 100)
    assert some.shape == (100, 128)
    assert np.allclose(np.linalg.norm(some, axis=1), 1, atol=0.01)
    assert some_descriptors(np.empty((0, 128), np.float32)).shape == (0, 128)


def test_the_index_finds_the_pictures_that_share_descriptors():
    from matching.collection.shortlist import GalleryIndex

    rng = np.random.default_rng(1)
    gallery = [random_descriptors(rng, n) for n in (300, 0, 500, 20, 300, 300)]
    query = np.vstack([random_descriptors(rng, 20), gallery[4][:60], gallery[3]])
    query = query + rng.normal(0, 20, query.shape).astype(np.float32)
    index = GalleryIndex(gallery)
    scores = index.scores(query)
    assert best(scores, 2) == [4, 3]
    assert scores[1] == 0
    assert np.array_equal(GalleryIndex(gallery).scores(query), scores)
    assert GalleryIndex([]).scores(query).shape == (0,)
    assert not index.scores(np.empty((0, 128), np.float32)).any()


def test_only_the_shortlist_is_matched(folder, cache, tmp_path):
    plan = plan_of_gallery(folder, folder)
    summary = match_collection(plan, tmp_path / "c.db", cache=cache, jobs=1, shortlist=1)
    chosen = dict(rows(tmp_path / "c.db", "SELECT path0, path1 FROM results"))
    assert (summary.pairs, summary.matched, len(chosen)) == (4, 4, 4)  # two pictures of six failed
    first, second = (str(folder / name) for name in ("a first.png", "b second.png"))
    assert chosen[first] == second
    assert chosen[second] == first
    before = content(tmp_path / "c.db")
    again = match_collection(plan, tmp_path / "c.db", cache=cache, jobs=1, shortlist=1)
    assert (again.matched, again.pairs) == (0, 4)
    assert content(tmp_path / "c.db") == before
    more = match_collection(plan, tmp_path / "c.db", cache=cache, jobs=1, shortlist=99)
    assert more.pairs == 12


@pytest.mark.parametrize("change", ["vanish", "change"])
def test_a_picture_that_is_lost_on_the_way_is_left_out(folder, tmp_path, change):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for name in ("a first.png", "b second.png", "c.jpg"):
        shutil.copy(folder / name, pictures)
    lost = pictures / "c.jpg"

    def losing(items, desc, **_):
        if desc == "index":
            work._described.cache_clear()
            lost.unlink() if change == "vanish" else shutil.copy(folder / "a first.png", lost)
        return items

    plan, db = plan_of_gallery(pictures, pictures), tmp_path / "c.db"
    nothing_kept = FeatureCache(tmp_path, 100)
    summary = match_collection(plan, db, cache=nothing_kept, jobs=1, shortlist=9, progress=losing)
    assert (summary.pairs, summary.failed_pairs, summary.matched) == (2, 0, 2)
    assert not rows(db, "SELECT 1 FROM results WHERE ? IN (path0, path1)", str(lost))
    shutil.copy(folder / "c.jpg", lost)  # the same as before: only the shortlist is missing
    again = match_collection(plan, db, cache=nothing_kept, jobs=1, shortlist=9)
    assert (again.pairs, again.described, again.matched) == (6, 0, 4)
