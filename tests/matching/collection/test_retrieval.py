"""Bits, the two searches and the votes against their definitions."""

import numpy as np
import pytest
import skimage.data

from matching import InputError
from matching._common.threads import limit_threads
from matching.collection.retrieval import _inverted, _votes
from matching.collection.retrieval._codes import (
    ENTRIES_PER_MIRRORED_QUERY,
    ENTRIES_PER_PICTURE,
    ENTRIES_PER_QUERY,
    ENTRY,
    N_CLASSES,
    SHAPE_BITS,
    encode,
    encode_indexed,
    encode_query,
    pack_shapes,
)
from matching.collection.retrieval._votes import (
    FAR_DISTANCE,
    MISSING_DISTANCE,
    N_KEPT,
    Neighbours,
    count_alike,
    merge_neighbours,
    rank,
)
from matching.features.extraction import DESCRIPTOR_NORM, Features
from matching.grouping.config import MatchConfig
from matching.pictures.images import make_picture
from matching.searches.source import DescribedPicture, describe_picture


def made_up(rng, n, like=None):
    """n Features with random descriptors, the first of them like those of other Features, at their places."""
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
    if like is not None:
        xy[: len(like)] = like.xy + 30
    return Features(xy, frames, descriptors.astype(np.float32), kind.astype(np.int8), bright.astype(bool))


@pytest.mark.parametrize(
    ("side", "wanted"),
    [
        (0.5, ENTRIES_PER_PICTURE),
        (1, ENTRIES_PER_PICTURE),
        (2, 4 * ENTRIES_PER_PICTURE),
        (4, ENTRIES_PER_QUERY),
    ],
)
def test_large_picture_has_more_entries(side, wanted):
    features = made_up(np.random.default_rng(0), ENTRIES_PER_QUERY + 100)
    described = DescribedPicture(features, np.full(2, float(side)), b"", np.zeros((2, 2)), np.array([9, 9]))
    entries = encode_indexed(described, 7)
    assert len(entries) == wanted
    assert set(entries["id"] >> SHAPE_BITS) == {7}
    assert np.array_equal(entries, encode(features, wanted, 7))


def together(*pictures):
    columns = ([p.xy, p.frames, p.descriptors, p.kind, p.bright] for p in pictures)
    return Features(*(np.concatenate(c) for c in zip(*columns, strict=True)))


@pytest.fixture(scope="module")
def cells():
    return _inverted.make_cells(MatchConfig())


@pytest.fixture(scope="module")
def few(cells):
    """20 cells of each class; the first is the one of zeros."""
    starts = np.flatnonzero(~cells.any(axis=1))
    assert len(starts) == N_CLASSES and starts[0] == 0
    return np.concatenate([cells[start : start + 20] for start in starts])


@pytest.fixture(scope="module")
def gallery():
    """Entries of seven pictures, one empty, one twice; the query shows parts of the fifth and the fourth."""
    rng = np.random.default_rng(1)
    pictures = [made_up(rng, n) for n in (300, 0, 500, 20, 300, 300)]
    query = made_up(rng, 150, like=together(pictures[4][:60], pictures[3]))
    pictures += [pictures[2]]
    return [encode(p, picture=k) for k, p in enumerate(pictures)], encode(query)


@pytest.fixture
def as_segment(few, tmp_path):
    """Writes entries to a file of few lists, and opens it."""

    def write(entries, cells=few):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.seg"
        _inverted.write_segment(path, cells, entries, _inverted.assign(entries, cells))
        return _inverted.open_segment(path)

    return write


def distances(a, b):
    return np.unpackbits(a["bits"][:, None] ^ b["bits"], axis=2).sum(axis=2, dtype=np.int64)


def distances_in_class(a, b):
    return distances(a, b) + 1000 * ((a["id"][:, None] ^ b["id"]) & 3 != 0)


def naive(query, entries, allowed, but=()):
    """With loops: for each descriptor (distance, id) of the entries of its class, for which allowed[i, j]."""
    for i, row in enumerate(distances(query, entries)):
        same = (query["id"][i] ^ entries["id"]) & 3 == 0
        listed = zip(row, entries["id"], same & allowed[i], strict=True)
        yield sorted((int(d), int(n)) for d, n, ok in listed if ok and n >> SHAPE_BITS not in but)


def check(found, query, expected):
    for row, own in enumerate(expected):
        smallest = ([d for d, _ in own if d < FAR_DISTANCE] + [MISSING_DISTANCE] * 11)[:11]
        assert found.smallest[row].tolist() == smallest
        background = ([d for d, _ in own] + [MISSING_DISTANCE] * 11)[10]  # however far it is
        limit = min(
            max(_votes.MAX_RATIO * background, _votes.EQUAL_DISTANCE),
            _votes.MAX_VOTING_DISTANCE,
        )
        of_row = found.row == row
        listed = list(zip(found.distance[of_row].tolist(), found.id[of_row].tolist(), strict=True))
        assert listed == [entry for entry in own[:N_KEPT] if entry[0] < limit]


def test_bits_say_which_values_exceed_the_64th_and_the_96th():
    features = made_up(np.random.default_rng(0), 20)
    bits = np.unpackbits(encode(features)["bits"], axis=1)
    for row, x in zip(bits, features.descriptors, strict=True):
        ranked = sorted(x)
        assert row.tolist() == [*(v > ranked[63] for v in x), *(v > ranked[95] for v in x)]
    squared = features[:]
    squared = Features(*squared.__dict__.values())
    squared = Features(squared.xy, squared.frames, squared.descriptors**2, squared.kind, squared.bright)
    assert np.array_equal(encode(squared), encode(features))  # whatever scale they have


def test_id_holds_picture_place_direction_size_and_kind():
    turned = np.array([[[0.0, -8.0], [8.0, 0.0]], [[4.0, 0.0], [0.0, 4.0]]])
    kinds = np.array([1, 0]), np.array([True, False])
    columns = np.array([[17.0, 30.0], [9000.0, 0.0]]), turned, np.zeros((2, 128), np.float32), *kinds
    shapes = [(7 << 26) | (4 << 16) | (64 << 8) | (12 << 2) | 3, (1023 << 16) | (8 << 2)]
    assert pack_shapes(Features(*columns)).tolist() == shapes
    assert encode(Features(*columns), picture=70_000)["id"].tolist() == [
        70_000 * 2**SHAPE_BITS + s for s in shapes
    ]


@pytest.mark.parametrize("own", [-1, 4])
def test_exact_search_follows_the_definition(gallery, as_segment, own):
    pictures, query = gallery
    entries = np.concatenate(pictures)
    everywhere = np.ones((len(query), len(entries)), bool)
    found = _inverted.find_neighbours(query, as_segment(entries[::-1], _inverted.CLASS_CELLS), [own])
    check(found, query, naive(query, entries, everywhere, [own]))


@pytest.mark.parametrize("but", [(), (0, 4)])
def test_search_of_lists_follows_the_definition(gallery, few, as_segment, but):
    """Of its class's 20 cells, a descriptor looks through the eight nearest, of equal ones the first."""
    pictures, query = gallery
    entries, centres = np.concatenate(pictures), np.zeros(len(few), ENTRY)
    centres["bits"], centres["id"] = few, np.repeat(np.arange(N_CLASSES), 20)
    cell_of = distances_in_class(entries, centres).argmin(axis=1)
    near = np.argsort(distances_in_class(query, centres), axis=1, kind="stable")[:, : _inverted.MAX_LISTS]
    allowed = (near[:, :, None] == cell_of).any(axis=1)
    found = _inverted.find_neighbours(query, as_segment(entries), but)
    check(found, query, naive(query, entries, allowed, but))


def test_entries_at_the_limit_are_found(gallery, as_segment):
    """More of them than a search asks for at first."""
    query = gallery[1][:1]
    near = np.repeat(query, 40)
    near["bits"][:, :2] ^= np.array([0b11111111, 0b111], np.uint8)
    near["id"] = (np.arange(40) << 16) | (query["id"] & 0xFFFF)
    found = _inverted.find_neighbours(query, as_segment(near))
    assert found.distance.tolist() == [_votes.EQUAL_DISTANCE - 1] * N_KEPT
    assert (found.id >> 16).tolist() == [*range(N_KEPT)]


def test_dead_entries_do_not_hide_living_ones(gallery, as_segment):
    """However many there are: here a hundred equal ones before the living one."""
    pictures, query = gallery
    copies = [pictures[4].copy() for _ in range(100)]
    for k, copy in enumerate(copies):
        copy["id"] += k << SHAPE_BITS
    entries = np.concatenate([pictures[0], *copies])
    living = _inverted.find_neighbours(query, as_segment(np.concatenate([pictures[0], copies[99]])))
    found = _inverted.find_neighbours(query, as_segment(entries), [4 + k for k in range(99)])
    assert rank(query["id"], found) == rank(query["id"], living)
    assert np.array_equal(found.id, living.id)


def test_pictures_that_share_descriptors_rank_first(gallery, as_segment):
    pictures, query = gallery
    entries = np.concatenate(pictures)
    for found in (
        _inverted.find_neighbours(query, as_segment(entries, _inverted.CLASS_CELLS)),
        _inverted.find_neighbours(query, as_segment(entries)),
    ):
        (first, most), (second, fewer), *_ = rank(query["id"], found)
        assert (first, second) == (4, 3)
        assert most > 50
        assert fewer >= 12
    others = rank(query["id"], _inverted.find_neighbours(query, as_segment(entries), [4]))
    assert others[0][0] == 3
    assert 4 not in dict(others)


@pytest.mark.parametrize("exact", [True, False])
def test_any_shards_and_threads_give_the_same_neighbours(gallery, few, as_segment, exact):
    """With many more equal entries than a descriptor keeps, and ids that interleave between the shards."""
    pictures, query = gallery
    copies = [pictures[k % 7].copy() for k in range(90)]
    for k, copy in enumerate(copies):
        copy["id"] += ((1000 * k) % 89 + 7) << SHAPE_BITS

    def find(some):
        entries = np.concatenate([np.empty(0, ENTRY), *some])
        return _inverted.find_neighbours(query, as_segment(entries, _inverted.CLASS_CELLS if exact else few))

    everything = [*pictures, *copies]
    whole = find(everything)
    assert len(rank(query["id"], whole)) > 20
    with limit_threads(3):
        threads = find(everything)
    for parts in (
        (everything[::2], everything[1::2]),
        [[one] for one in everything[::-1]],
        (everything[9:], [], everything[:9]),
    ):
        merged = merge_neighbours(find(part) for part in parts)
        for other in (merged, threads):
            for name in ("smallest", "row", "distance", "id"):
                if name == "smallest" or other is threads:
                    assert np.array_equal(getattr(other, name), getattr(whole, name))
            assert rank(query["id"], other) == rank(query["id"], whole)


def test_votes_count_where_they_agree_on_turn_and_scale():
    """Four of six descriptors see picture 7 turned alike."""
    query = np.full(6, 20 << 2)
    smallest = np.tile(np.arange(1, 12) * 10 + 20, (6, 1))
    turns = np.array([3, 0, 250, 5, 60, 128]) % 256
    number = (7 << SHAPE_BITS) | (turns << 8) | (22 << 2)
    rows = np.arange(6)
    assert rank(query, Neighbours(smallest, rows, np.full(6, 30), number)) == [(7, 4)]
    assert rank(query, Neighbours(smallest, rows, np.full(6, 85), number)) == []  # not much nearer than 130
    many = (np.arange(12) << SHAPE_BITS) | (20 << 2)
    crowded = Neighbours(np.full((1, 11), 9), np.zeros(12, int), np.full(12, 9), many)
    assert rank(query[:1], crowded) == [(k, 1) for k in range(12)]  # copies do not hide each other


def ids(x, y, octave=5, direction=0, picture=0):
    """Shapes as `pack_shapes` packs them, of whole steps."""
    return (
        (np.full(np.shape(x), picture) << SHAPE_BITS)
        | (y << 26)
        | (x << 16)
        | (direction << 8)
        | (4 * octave << 2)
    )


def naive_alike(votes, extent):
    """Of one picture, with loops; a vote is (row, q, p, quarter octaves, 256ths of a turn, entry)."""

    def fullest(votes, *keys):
        best = []
        for key in keys:
            bins = {}
            for vote in votes:
                bins.setdefault(key(vote), []).append(vote)
            best = max([best, *(bins[k] for k in sorted(bins))], key=lambda some: len({v[0] for v in some}))
        return best

    votes = fullest(
        votes,
        *(
            lambda v, o=o, s=s: ((v[3] + o) // 4 * 8 + (v[4] + s) % 256 // 32) % 2**32
            for o in (0, 2)
            for s in (0, 16)
        ),
    )
    a = np.mean([2 ** (v[3] / 4) * np.exp(2j * np.pi * v[4] / 256) for v in votes])

    def place(v, x, y):
        t = 4 * (v[2] - a * v[1]) / (abs(a) * extent)
        return int(np.floor(t.real + x)) % 2**16, int(np.floor(t.imag + y)) % 2**16

    votes = fullest(votes, *(lambda v, x=x, y=y: place(v, x, y) for x in (0, 0.5) for y in (0, 0.5)))
    return min(len({v[0] for v in votes}), len({v[5] for v in votes}))


def test_votes_that_lie_alike_are_counted_as_defined():
    rng = np.random.default_rng(0)
    m = 300
    row, picture = rng.integers(0, 60, m), np.sort(np.arange(m) % 4)
    places = rng.integers(0, 200, (4, m))
    query = ids(*places[:2], rng.integers(4, 6, m), rng.integers(0, 90, m))[row]
    entry = ids(*places[2:], rng.integers(4, 6, m), rng.integers(0, 90, m), picture)
    entry[::7] = entry[0]
    q, p = ((shape >> 16 & 1023) + 1j * (shape >> 26 & 1023) for shape in (query, entry))
    steps = ((entry >> f & last) - (query >> f & last) for f, last in ((2, 63), (8, 255)))
    votes = list(zip(row, q, p, *steps, entry, strict=True))
    extent = max(np.ptp(q.real), np.ptp(q.imag))
    expected = [
        naive_alike([v for v, k in zip(votes, picture, strict=True) if k == n], extent) for n in range(4)
    ]
    assert count_alike(picture, 4, row, query, entry).tolist() == expected
    none = np.empty(0, np.int64)
    assert count_alike(none, 0, none, none, none).tolist() == []


def test_votes_at_consistent_places_count():
    """Pictures 0 and 1 have the same descriptors, turned by a quarter; in the second they are shuffled."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(100, 300, (2, 50))
    query, at = ids(x, y), ids(500 - y // 2, x // 2, 4, 64)
    shuffled = rng.permutation(50)
    places = (1 << 36) - (1 << 16)
    other = (at[shuffled] & places) | (at & ~places) | (1 << SHAPE_BITS)
    row = np.tile(np.arange(50), 2)
    right, wrong = count_alike(np.repeat([0, 1], 50), 2, row, query[row], np.concatenate([at, other]))
    assert right == 50
    assert wrong < 35


def test_query_finds_mirrored_copies_too(as_segment):
    """Turned over and then by a quarter: its votes agree on the turn, as those of the picture itself do."""
    shown, other = skimage.data.chelsea(), skimage.data.rocket()
    gallery = (shown, np.rot90(shown[:, ::-1]), other, other[:, ::-1])
    described = [describe_picture(make_picture(np.ascontiguousarray(p))).features for p in gallery]
    entries = np.concatenate([encode(f, picture=k) for k, f in enumerate(described)])
    segment = as_segment(entries, _inverted.CLASS_CELLS)
    query = encode_query(described[0])
    assert len(query) == len(described[0]) + ENTRIES_PER_MIRRORED_QUERY
    votes = dict(rank(query["id"], _inverted.find_neighbours(query, segment)))
    assert votes[0] > 300 and votes[1] > 300
    assert max(votes.get(2, 0), votes.get(3, 0)) < 30
    plain = encode(described[0])
    assert dict(rank(plain["id"], _inverted.find_neighbours(plain, segment))).get(1, 0) < 30


def test_empty_query_or_index_finds_nothing(as_segment):
    rng = np.random.default_rng(0)
    empty, query = encode(made_up(rng, 0)), encode(made_up(rng, 5))
    for looked in (query, empty):
        assert rank(looked["id"], _inverted.find_neighbours(looked, as_segment(empty))) == []


def test_damaged_files_are_rejected(gallery, as_segment, tmp_path):
    as_segment(np.concatenate(gallery[0]))
    data = next(tmp_path.glob("*.seg")).read_bytes()
    for k, damage in enumerate((b"", data[:-1], b"x" + data[1:], b"\xff" * 104)):
        (tmp_path / f"{k}").write_bytes(damage)
        with pytest.raises(InputError, match="this part of the index is missing or damaged"):
            _inverted.open_segment(tmp_path / f"{k}")


def test_merged_segments_equal_a_new_one(gallery, few, as_segment, tmp_path):
    pictures, _ = gallery
    parts = [as_segment(np.concatenate(some)) for some in (pictures[::2], pictures[1::2], pictures[1:2])]
    _inverted.write_segment(tmp_path / "all", few, *_inverted.merge_lists(parts, [[2], [], []]))
    new = as_segment(np.concatenate([p for k, p in enumerate(pictures) if k != 2]))
    assert (tmp_path / "all").read_bytes() == max(tmp_path.glob("*.seg")).read_bytes()
    assert len(new.entries.ids) == sum(map(len, pictures)) - len(pictures[2])
