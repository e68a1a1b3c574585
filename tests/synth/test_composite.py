import numpy as np
import pytest

from synth.composite import composite_pair, draw_places, fill_square, move_as_one, true_instance
from synth.photographs import Photographs, read_shipped

SIDE = 96


def coded_photographs(n_models=5, n_tiles=18):
    """Models whose colours tell the position: red = 40 + 2 x, green = 40 + 2 y, blue = 40 (model + 1)."""
    y, x = np.mgrid[:SIDE, :SIDE]
    models = tuple(
        np.dstack([40 + 2 * x, 40 + 2 * y, np.full_like(x, 40 * (k + 1))]).astype(np.uint8)
        for k in range(n_models)
    )
    tiles = tuple(np.full((SIDE, SIDE, 3), 3, np.uint8) for _ in range(n_tiles))
    return Photographs(models, tiles, "coded")


def decoded(colours):
    """Position in the model and its number, from (n, 3) colours; number -1 for the other tiles."""
    colours = colours.astype(float)
    number = np.rint(colours[:, 2] / 40).astype(int) - 1
    return (colours[:, :2] - 40) / 2, np.where(colours[:, 2] > 20, number, -1)


def pixels(image, xy):
    column, row = np.rint(xy).astype(int).T
    return image[row, column]


@pytest.mark.parametrize(("copies", "mirrored"), [(1, False), (2, False), (1, True)])
def test_truth_agrees_with_what_the_pixels_show(copies, mirrored):
    pair = composite_pair(
        coded_photographs(), 3, sigma=3, seed=5, side=SIDE, copies=copies, mirrored=mirrored
    )
    rng = np.random.default_rng(0)
    xy0, xy1 = (rng.integers(0, 3 * SIDE, (200_000, 2)).astype(float) for _ in range(2))
    xy0[: len(xy0) // 2] = near_truth(pair, xy1[: len(xy1) // 2], rng)
    position0, number0 = decoded(pixels(pair.image0, xy0))
    position1, number1 = decoded(pixels(pair.image1, xy1))
    error = np.linalg.norm(position0 - position1, axis=1)
    clear = (number0 >= 0) & (number0 == number1)
    told = true_instance(pair, xy0, xy1) >= 0
    # colours are known to half a grey value and blend across the tiles' edges: leave 1 px of doubt
    assert told[clear & (error < 2)].mean() > 0.99
    assert not told[(number0 != number1) & inner(pair, xy1)].any()
    assert not told[clear & (error > 4) & inner(pair, xy1)].any()
    assert (clear & (error < 2)).sum() > 2000


def near_truth(pair, xy1, rng):
    """Positions in image 0, some pixels off the truth of any instance, inside the image."""
    affine = pair.affine[rng.integers(0, pair.n_instances, len(xy1))]
    flat = pair.warp(xy1) - affine[:, :, 2]
    xy0 = np.linalg.solve(affine[:, :, :2], flat[..., None])[..., 0] + rng.normal(0, 3, xy1.shape)
    return np.clip(np.rint(xy0), 0, 3 * pair.side - 1)


def inner(pair, xy1):
    """Not within 3 px of the edge of a tile."""
    offset = pair.warp(xy1) % pair.side
    return ((offset > 3) & (offset < pair.side - 4)).all(axis=1)


def test_hard_truth_agrees_with_what_the_pixels_show(monkeypatch):
    monkeypatch.setattr("synth.poses._relight", lambda picture, rng: picture)
    pair = composite_pair(coded_photographs(), 4, sigma=2, seed=2, side=SIDE, hard_poses=True)
    seen = np.random.default_rng(1).integers(0, 3 * SIDE, (40_000, 2)).astype(float)
    flat = pair.warp(seen)
    inside = ((flat > 0) & (flat < 3 * SIDE - 1)).all(axis=1)
    seen, flat = seen[inside], flat[inside]
    owner = pixels(pair.instance_map, flat)
    on = owner >= 0
    affine = pair.affine[owner[on]]
    xy0 = np.linalg.solve(affine[:, :, :2], (flat[on] - affine[:, :, 2])[..., None])[..., 0]
    assert np.array_equal(true_instance(pair, xy0, seen[on]), owner[on])
    position1, number1 = decoded(pixels(pair.image1, seen[on]))
    position0 = xy0 - pair.corner0[owner[on]]
    number0 = decoded(pixels(pair.image0, pair.corner0[owner[on]] + SIDE // 2))[1]
    same = number0 == number1
    assert same.mean() > 0.95  # the rest lies on edges, where colours blend
    assert np.median(np.linalg.norm(position0 - position1, axis=1)[same]) < 1.0
    # a covered pixel shows the other photograph, not the object
    assert (decoded(pixels(pair.image1, seen[~on]))[1] == -1).mean() > 0.95


def test_hard_poses_turn_scale_and_cover():
    pair = composite_pair(read_shipped(), 5, sigma=0, seed=1, hard_poses=True)
    scale = np.sqrt(np.linalg.det(pair.affine[:, :, :2]))
    angle = np.arctan2(pair.affine[:, 1, 0], pair.affine[:, 0, 0])
    assert ((scale >= 0.5) & (scale <= 2)).all() and np.ptp(scale) > 0.1 and np.ptp(angle) > 0.5
    shown = np.bincount(pair.instance_map[pair.instance_map >= 0], minlength=5)
    assert (shown > 0.1 * 320**2 * 0.5**2).all() and (shown < 0.9 * 320**2).all()


def test_same_seed_same_pixels_other_seed_other_pixels():
    a, b, c = (composite_pair(read_shipped(), 3, 10, seed=s, hard_poses=True) for s in (7, 7, 8))
    assert np.array_equal(a.image0, b.image0) and np.array_equal(a.image1, b.image1)
    assert not np.array_equal(a.image0, c.image0)


def test_deformation_does_not_change_the_choice_of_tiles():
    a, b = (composite_pair(read_shipped(), 3, sigma, seed=7) for sigma in (0, 20))
    assert np.array_equal(a.image0, b.image0) and np.array_equal(a.instance_map, b.instance_map)


def test_copies_stand_apart_and_belong_to_one_object():
    pair = composite_pair(read_shipped(), 2, sigma=5, seed=0, copies=3)
    assert pair.object_id.tolist() == [0, 0, 0, 1, 1, 1]
    corner1 = pair.corner0 + pair.affine[:, :, 2]
    assert len(np.unique(corner1, axis=0)) == 6


def test_what_moves_as_one():
    #  0 1 2
    #  3 4 5
    #  6 7 8
    assert move_as_one(np.array([0, 1]), np.array([4, 5]))  # left and right
    assert move_as_one(np.array([8, 5]), np.array([4, 1]))  # below and above
    assert move_as_one(np.array([8, 4]), np.array([4, 0]))  # corner to corner
    assert not move_as_one(np.array([0, 1]), np.array([5, 4]))  # in the other order
    assert not move_as_one(np.array([0, 1]), np.array([1, 4]))  # turned
    assert not move_as_one(np.array([2, 3]), np.array([2, 3]))  # the end of a row, the start of the next
    assert not move_as_one(np.array([0, 2]), np.array([3, 5]))  # apart
    assert not move_as_one(np.array([0, 0]), np.array([3, 4]))  # two copies of one object
    assert move_as_one(np.array([0, 0, 1]), np.array([7, 3, 4]))  # a copy and another object


@pytest.mark.parametrize(("n_common", "copies"), [(m, c) for m in range(1, 10) for c in range(1, 9 // m + 1)])
def test_no_two_objects_move_as_one(n_common, copies):
    class Counted:
        def __init__(self, seed):
            self.rng, self.draws = np.random.default_rng(seed), 0

        def permutation(self, n):
            self.draws += 1
            return self.rng.permutation(n)

    owner, draws = np.repeat(np.arange(n_common), copies), 0
    for seed in range(60):
        rng = Counted(seed)
        places0, places1 = draw_places(owner, rng)
        draws += rng.draws / 2
        assert sorted(places0) == sorted(places1) == list(range(9))
        at0, at1 = ([divmod(int(t), 3) for t in p] for p in (places0[owner], places1))
        moved = [(r1 - r0, c1 - c0) for (r0, c0), (r1, c1) in zip(at0, at1, strict=False)]
        for i, (r, c) in enumerate(at0):
            beside = [j for j, (y, x) in enumerate(at0) if max(abs(y - r), abs(x - c)) == 1]
            assert all(moved[i] != moved[j] for j in beside)
    assert draws / 60 < 8


def test_other_tiles_are_all_different():
    photographs = read_shipped()
    pair = composite_pair(photographs, 1, sigma=0, seed=3)
    squares = [fill_square(t, 320) for t in photographs.tiles]
    shown = [
        k
        for image in (pair.image0, pair.image1)
        for y in (0, 320, 640)
        for x in (0, 320, 640)
        for k, square in enumerate(squares)
        if np.array_equal(image[y : y + 320, x : x + 320], square)
    ]
    assert len(shown) == len(set(shown)) == 16


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_common": 0}, r"n_common must be in \[1, 8\] for 8 models, got 0"),
        ({"n_common": 9}, r"n_common must be in \[1, 8\]"),
        ({"copies": 4}, r"copies must be in \[1, 3\] for 3 objects, got 4"),
        ({"sigma": -1}, "sigma must be a number of pixels, 0 or more, got -1"),
        ({"sigma": float("nan")}, "sigma must be"),
        ({"side": 8}, "side must be at least 32 pixels, got 8"),
    ],
)
def test_bad_settings(options, message):
    with pytest.raises(ValueError, match=message):
        composite_pair(read_shipped(), **options)


def test_too_few_tiles():
    few = Photographs(read_shipped().models, read_shipped().tiles[:10], "few")
    with pytest.raises(ValueError, match="tiles must hold at least 16 photographs for n_common=1, got 10"):
        composite_pair(few, 1)


def test_no_correspondence_no_label():
    pair = composite_pair(read_shipped(), 1)
    assert true_instance(pair, np.empty((0, 2)), np.empty((0, 2))).shape == (0,)
