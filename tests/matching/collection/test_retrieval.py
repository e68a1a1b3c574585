"""Codes, segments and the search against their definitions."""

import numpy as np
import pytest

from matching.collection.retrieval import search
from matching.collection.retrieval.codes import (
    Codes,
    Query,
    encode,
    load_codebook,
    make_query,
    nearest_cells,
    pack_shapes,
)
from matching.collection.retrieval.search import MISSING, Neighbours, find_neighbours, merge_neighbours, rank
from matching.collection.retrieval.segments import make_segment, merge_segments, open_segment, write_segment
from matching.features.extraction import DESCRIPTOR_NORM, Features


def made_up(rng, n, like=None):
    """n Features with random descriptors, the first of them like those of other Features."""
    raw = np.abs(rng.normal(size=(n, 128)))
    descriptors = np.rint(raw / np.linalg.norm(raw, axis=1, keepdims=True) * DESCRIPTOR_NORM)
    if like is not None:
        noisy = like.descriptors + rng.normal(0, 15, like.descriptors.shape)
        descriptors[: len(like)] = np.rint(np.maximum(noisy, 0))  # as square roots are
    frames = np.eye(2) * rng.uniform(2, 20, (n, 1, 1))
    kind, bright = rng.integers(0, 2, (2, n))
    if like is not None:
        frames[: len(like)], kind[: len(like)], bright[: len(like)] = like.frames, like.kind, like.bright
    xy = rng.uniform(0, 600, (n, 2))
    return Features(xy, frames, descriptors.astype(np.float32), kind.astype(np.int8), bright.astype(bool))


@pytest.fixture(scope="module")
def gallery():
    """Six pictures, one of them without features; the query shows parts of the fifth and the fourth."""
    rng = np.random.default_rng(1)
    pictures = [made_up(rng, n) for n in (300, 0, 500, 20, 300, 300)]
    both = pictures[4][:60], pictures[3]
    together = Features(
        *(
            np.concatenate(c)
            for c in zip(*([p.xy, p.frames, p.descriptors, p.kind, p.bright] for p in both), strict=True)
        )
    )
    return [encode(p) for p in pictures], make_query(made_up(rng, 150, like=together), search.PROBES)


def test_a_descriptor_lies_in_the_nearest_cells_and_has_the_nearest_words():
    features = made_up(np.random.default_rng(0), 20)
    book, x = load_codebook(), np.rint(features.descriptors).astype(np.int64)
    centres = (book.first[:, None] + book.second).reshape(-1, 128)
    squared = ((x[:, None] - centres) ** 2).sum(axis=2)
    cells = nearest_cells(x, 8)
    found = np.take_along_axis(squared, cells, 1)
    assert (np.diff(found, axis=1) >= 0).all()
    assert (cells[:, 0] == squared.argmin(axis=1)).mean() > 0.8  # not all first centres are looked at
    words = book.words.transpose(0, 2, 1).astype(np.int64)
    to_words = ((x.reshape(20, 32, 1, 4) - words) ** 2).sum(axis=3)
    codes = encode(features)
    assert np.array_equal(codes.code, to_words.argmin(axis=2))
    assert np.array_equal(codes.cell, nearest_cells(x, 1)[:, 0])


def test_a_shape_holds_direction_size_and_kind():
    turned = np.array([[[0.0, -8.0], [8.0, 0.0]], [[4.0, 0.0], [0.0, 4.0]]])
    columns = (
        np.zeros((2, 2)),
        turned,
        np.zeros((2, 128), np.float32),
        np.array([1, 0]),
        np.array([True, False]),
    )
    assert pack_shapes(Features(*columns)).tolist() == [(64 << 8) | (12 << 2) | 3, 8 << 2]
    third = Features(*columns[:3], np.array([1, 2]), columns[4])
    with pytest.raises(ValueError, match="kinds of features must be below 2, got 2"):
        pack_shapes(third)


def naive_neighbours(query, codes, but):
    """With loops over all entries of the query's cells: for each descriptor (distance, picture, shape)."""
    words = load_codebook().words.transpose(0, 2, 1).astype(np.int64)
    for descriptor, shape, cells in zip(query.descriptors, query.shape, query.cells, strict=True):
        found = []
        for number, of in enumerate(codes):
            for cell, other, code in zip(of.cell, of.shape, of.code, strict=True):
                if number not in but and cell in cells and (shape ^ other) & 3 == 0:
                    centre = words[np.arange(32), code].ravel()
                    found.append(
                        (int(((descriptor.astype(np.int64) - centre) ** 2).sum()), number, int(other))
                    )
        yield sorted(found)


def test_neighbours_follow_the_definition(gallery):
    codes, query = gallery
    query = Query(query.descriptors[:40], query.shape[:40], query.cells[:40])
    for but in ((), (0, 4)):
        found = find_neighbours(query, make_segment(enumerate(codes)), but)
        for row, expected in enumerate(naive_neighbours(query, codes, but)):
            distances = [entry[0] for entry in expected]
            least = (distances + [MISSING] * 11)[:11]
            assert found.least[row].tolist() == least
            own = found.row == row
            listed = zip(found.distance[own], found.picture[own], found.shape[own], strict=True)
            background = max((d for d in least if d != MISSING), default=0)
            limit = max(search.RATIO**2 * background, search.NEARLY_EQUAL)
            limit = MISSING if least[-1] == MISSING else limit  # others may have more
            assert [tuple(map(int, e)) for e in listed] == [e for e in expected[:32] if e[0] < limit]


def test_the_pictures_that_share_descriptors_come_first(gallery):
    codes, query = gallery
    ranking = rank(query, find_neighbours(query, make_segment(enumerate(codes))))
    assert ranking.picture[:2].tolist() == [4, 3]
    assert ranking.score[0] > 50
    assert ranking.score[1] >= 12
    assert 1 not in ranking.picture
    others = rank(query, find_neighbours(query, make_segment(enumerate(codes)), but=[4]))
    assert 4 not in others.picture
    assert others.best(1) == [3]


def test_any_cut_into_segments_gives_the_same_neighbours(gallery):
    codes, query = gallery
    codes = [*codes, codes[4], codes[4], *codes * 5]  # more equal entries than a descriptor keeps
    whole = find_neighbours(query, make_segment(enumerate(codes)))
    numbered = list(enumerate(codes))
    for parts in (
        (numbered[::2], numbered[1::2]),
        [[one] for one in numbered],
        (numbered[9:], [], numbered[:9]),
    ):
        merged = merge_neighbours(find_neighbours(query, make_segment(part)) for part in parts)
        assert np.array_equal(merged.least, whole.least)
        a, b = rank(query, merged), rank(query, whole)
        assert np.array_equal(a.picture, b.picture)
        assert np.array_equal(a.score, b.score)


def test_votes_count_where_they_agree_on_turn_and_scale():
    """Four of six descriptors see picture 7 turned alike."""
    query = Query(np.zeros((6, 128), np.uint16), np.full(6, 20 << 2, np.uint16), np.zeros((6, 8), np.uint16))
    least = np.tile(np.arange(1, 12, dtype=np.int32) * 300_000, (6, 1))
    turns = np.array([3, 0, 250, 5, 60, 128]) % 256
    shape = ((turns << 8) | (22 << 2)).astype(np.uint16)
    rows, near, pictures = (
        np.arange(6, dtype=np.int32),
        np.full(6, 300_000, np.int32),
        np.full(6, 7, np.uint32),
    )
    found = rank(query, Neighbours(least, rows, near, pictures, shape))
    assert (found.picture.tolist(), found.score.tolist()) == ([7], [4])
    far = rank(query, Neighbours(least, rows, np.full(6, 1_700_000, np.int32), pictures, shape))
    assert not len(far.picture)
    crowded = Neighbours(
        np.full((1, 11), 9, np.int32),
        np.zeros(12, np.int32),
        np.full(12, 9, np.int32),
        np.arange(12, dtype=np.uint32),
        np.full(12, 20 << 2, np.uint16),
    )
    one = Query(query.descriptors[:1], query.shape[:1], query.cells[:1])
    assert rank(one, crowded).picture.tolist() == list(range(12))  # copies do not hide each other


def test_nothing_to_look_up_or_to_look_in():
    empty = encode(made_up(np.random.default_rng(0), 0))
    query = make_query(made_up(np.random.default_rng(0), 5), search.PROBES)
    nobody = make_query(made_up(np.random.default_rng(0), 0), search.PROBES)
    for codes in ([], [empty], [empty, empty]):
        for looked in (query, nobody):
            assert not len(rank(looked, find_neighbours(looked, make_segment(enumerate(codes)))).picture)


def test_a_segment_comes_back_from_its_file_and_damage_is_told(gallery, tmp_path):
    codes, _ = gallery
    segment = make_segment((10 * k, c) for k, c in enumerate(codes))
    write_segment(tmp_path / "a.seg", segment)
    again = open_segment(tmp_path / "a.seg")
    for name in ("cells", "starts", "owner", "shape", "code"):
        assert np.array_equal(getattr(again, name), getattr(segment, name))
    data = (tmp_path / "a.seg").read_bytes()
    assert len(data) <= 48 * len(segment) + 80
    for k, damage in enumerate(
        (b"", data[:-1], b"x" + data[1:], data + b"\0", b"gdlidx01" + b"\xff" * 16 + data[24:])
    ):
        (tmp_path / f"{k}").write_bytes(damage)
        with pytest.raises(ValueError):
            open_segment(tmp_path / f"{k}")


def test_merged_segments_hold_what_a_new_one_would(gallery, tmp_path):
    codes, _ = gallery
    numbered = list(
        enumerate([*codes, Codes(*(c[:0] for c in (codes[0].cell, codes[0].shape, codes[0].code)))])
    )
    parts = [make_segment(numbered[::2]), make_segment(numbered[1::2]), make_segment([])]
    merge_segments(tmp_path / "all", parts, [np.array([2]), np.array([], int), np.array([], int)])
    merged, new = open_segment(tmp_path / "all"), make_segment(n for n in numbered if n[0] != 2)
    for name in ("cells", "starts", "owner", "shape", "code"):
        assert np.array_equal(getattr(merged, name), getattr(new, name))
