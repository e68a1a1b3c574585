"""Matches in memory, in the shapes that LightGlue, LoFTR, vismatch, Transformers and OpenCV give them."""

import cv2
import numpy as np
import pytest

from matching import InputError, matches_from

N0, N1 = 40, 30
RNG = np.random.default_rng(0)
XY0, XY1 = RNG.uniform(0, 500, (N0, 2)).astype(np.float32), RNG.uniform(0, 500, (N1, 2)).astype(np.float32)
INDICES = np.array([[3, 7], [3, 8], [39, 0], [0, 29]])  # keypoint 3 stands in two matches
CONFIDENCE = np.array([0.9, 0.8, 0.5, 0.25], np.float32)


class Tensor:
    """What is needed of a tensor of PyTorch: it gives an array once detached and on the processor."""

    def __init__(self, array, detached=False, on_cpu=False, is_bfloat16=False):
        self.array, self.detached, self.on_cpu, self.is_bfloat16 = array, detached, on_cpu, is_bfloat16

    def detach(self):
        return Tensor(self.array, True, self.on_cpu, self.is_bfloat16)

    def cpu(self):
        return Tensor(self.array, self.detached, True, self.is_bfloat16)

    def float(self):
        return Tensor(self.array, self.detached, self.on_cpu)

    def numpy(self):
        assert self.detached and self.on_cpu
        if self.is_bfloat16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array

    def __array__(self, *_, **__):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


def bfloat16(array):
    return Tensor(array, is_bfloat16=True)


@pytest.mark.parametrize("wrap", [np.asarray, np.ndarray.tolist, Tensor, bfloat16])
@pytest.mark.parametrize("batched", [False, True])
def test_lightglue_output_is_read(wrap, batched):
    batch = (lambda a: a[None]) if batched else (lambda a: a)
    features = [
        {"keypoints": wrap(batch(xy)), "image_size": wrap(batch(np.array([640.0, 480.0])))}
        for xy in (XY0, XY1)
    ]
    matches, scores = wrap(INDICES), wrap(CONFIDENCE)
    found = {
        "matches": [matches] if batched else matches,  # a list, for pairs have different numbers of them
        "scores": [scores] if batched else scores,
        "matches0": wrap(batch(np.full(N0, -1))),
        "matching_scores0": wrap(batch(np.zeros(N0))),
        "stop": 9,
    }
    pair = matches_from(found, *features)
    assert np.array_equal(pair.xy0, XY0[INDICES[:, 0]])
    assert np.array_equal(pair.xy1, XY1[INDICES[:, 1]])
    assert np.allclose(pair.score, 1 - CONFIDENCE, atol=1e-6)
    assert pair.sizes == ((480, 640), (480, 640))
    assert pair.frames0 is None
    assert np.array_equal(pair.indices, INDICES)


@pytest.mark.parametrize("batched", [False, True])
def test_superglue_output_lists_partner_of_each_keypoint(batched):
    partner, score = np.full(N0, -1), np.zeros(N0)
    partner[[2, 5]], score[[2, 5]] = [9, 4], [0.5, 0.75]
    found = {"keypoints0": XY0, "keypoints1": XY1, "matches0": partner, "matching_scores0": score}
    if batched:
        found = {name: array[None] for name, array in found.items()}
    pair = matches_from(found)
    assert np.array_equal(pair.indices, [[2, 9], [5, 4]])
    assert np.array_equal(pair.xy1, XY1[[9, 4]])
    assert pair.score.tolist() == [0.5, 0.25]


def test_lightglue_input_and_output_may_share_one_dictionary():
    found = {"image0": {"keypoints": XY0[None]}, "image1": {"keypoints": XY1[None]}, "matches": [INDICES]}
    assert np.array_equal(matches_from(found).xy0, XY0[INDICES[:, 0]])


@pytest.mark.parametrize(
    ("names", "score"),
    [
        (("keypoints0", "keypoints1"), "confidence"),  # LoFTR in Kornia
        (("mkpts0_f", "mkpts1_f"), "mconf"),  # LoFTR
        (("mkpts0", "mkpts1"), "mconf"),
        (("matched_kpts0", "matched_kpts1"), "matched_confidences"),  # vismatch
        (("keypoints0", "keypoints1"), "matching_scores"),  # Transformers
        (("kpts0", "kpts1"), "certainty"),  # RoMa
    ],
)
def test_matched_points_are_read_under_any_known_name(names, score):
    others = {"all_kpts0": XY0, "all_kpts1": XY1, "num_inliers": 3, "H": np.eye(3), "inlier_kpts0": XY0[:3]}
    others |= {"batch_indexes": Tensor(np.zeros(N1, np.int64))}
    confidence = RNG.uniform(0, 1, N1)
    for wrap in (np.asarray, np.ndarray.tolist, Tensor):
        found = {names[0]: wrap(XY0[:N1]), names[1]: wrap(XY1), score: wrap(confidence)}
        pair = matches_from(others | found)
        assert np.array_equal(pair.xy0, XY0[:N1])
        assert np.array_equal(pair.xy1, XY1)
        assert np.allclose(pair.score, 1 - confidence)
        assert pair.indices is None


def test_users_say_what_scores_are_where_the_source_does_not():
    table = np.column_stack([XY0[:N1], XY1, CONFIDENCE.repeat(9)[:N1]])
    unnamed = matches_from(table)
    assert unnamed.scores_are is None
    assert np.allclose(unnamed.with_scores("similarities").score, 1 - table[:, 4])
    assert np.allclose(unnamed.with_scores("distances").score, table[:, 4])
    points = {"xy0": XY0[:N1], "xy1": XY1}
    for name, scores_are in (("confidence", "similarities"), ("distance", "distances"), ("score", None)):
        pair = matches_from({**points, name: table[:, 4]})
        assert pair.scores_are == scores_are
    named = matches_from({**points, "confidence": table[:, 4]})
    assert np.array_equal(named.with_scores("similarities").score, named.score)
    with pytest.raises(InputError, match="the scores are named similarities, not distances"):
        named.with_scores("distances")
    with pytest.raises(InputError, match="no scores"):
        matches_from(points).with_scores("distances")


def test_plain_arrays_are_read():
    table = np.column_stack([XY0[:N1], XY1])
    pair = matches_from(table)
    assert np.array_equal(pair.xy0, XY0[:N1])
    assert np.array_equal(pair.xy1, XY1)
    assert pair.score is None
    scored = matches_from(np.column_stack([table, np.arange(N1)]).tolist())
    assert np.array_equal(scored.score, np.arange(N1))
    assert np.array_equal(matches_from(INDICES, XY0, XY1).xy1, XY1[INDICES[:, 1]])
    partner = np.full(N0, -1)
    partner[4] = 6
    assert np.array_equal(matches_from(partner, XY0, XY1).indices, [[4, 6]])


@pytest.mark.parametrize("empty", [[], np.empty((0, 2)), Tensor(np.empty((1, 0, 2)))])
def test_empty_matches_are_accepted(empty):
    assert len(matches_from({"keypoints0": XY0, "keypoints1": XY1, "matches": empty})) == 0
    assert len(matches_from({"mkpts0": empty, "mkpts1": empty})) == 0


def turned_pictures():
    """A picture with corners and blobs, and the same turned clockwise by 90 degrees and enlarged by 1.5."""
    rng = np.random.default_rng(5)
    picture = cv2.GaussianBlur(rng.integers(0, 256, (240, 240)).astype(np.uint8), (0, 0), 2)
    picture = cv2.normalize(picture, None, 0, 255, cv2.NORM_MINMAX)
    turned = np.ascontiguousarray(np.rot90(picture, -1))
    return picture, cv2.resize(turned, None, fx=1.5, fy=1.5, interpolation=cv2.INTER_CUBIC)


@pytest.mark.parametrize("detector", [cv2.SIFT_create, cv2.ORB_create])
def test_opencv_keypoints_give_frames(detector):
    features = [detector(1000).detectAndCompute(picture, None) for picture in turned_pictures()]
    norm = cv2.NORM_HAMMING if features[0][1].dtype == np.uint8 else cv2.NORM_L2
    two = cv2.BFMatcher(norm).knnMatch(features[0][1], features[1][1], k=2)
    pair = matches_from(two, features[0][0], features[1][0])
    assert len(pair) == 2 * len(features[0][0])
    best = matches_from([m for m, n in two if m.distance < 0.8 * n.distance], *(f[0] for f in features))
    assert len(best) > 20
    maps = best.frames1 @ np.linalg.inv(best.frames0)
    expected = 1.5 * np.array([[0, -1], [1, 0]])  # clockwise as seen: x goes to y
    assert np.abs(np.median(maps, axis=0) - expected).max() < 0.2
    assert np.abs(np.median(best.xy1[:, 0] + 1.5 * best.xy0[:, 1]) - 1.5 * 239.5) < 1.5


def test_opencv_lists_are_read():
    keypoints = [[cv2.KeyPoint(float(x), float(y), 8.0) for x, y in xy] for xy in (XY0, XY1)]
    found = [[cv2.DMatch(3, 7, 0.5), cv2.DMatch(3, 8, 0.75)], [], (cv2.DMatch(0, 29, 1.0),)]
    pair = matches_from(found, *keypoints)
    assert pair.indices.tolist() == [[3, 7], [3, 8], [0, 29]]
    assert pair.score.tolist() == [0.5, 0.75, 1.0]
    assert np.array_equal(pair.xy0, XY0[[3, 3, 0]])
    assert pair.frames0 is None  # the angle is -1: these have no orientation
    assert np.array_equal(matches_from(found, XY0, XY1).xy1, XY1[[7, 8, 29]])
    assert len(matches_from([[], []], XY0, XY1)) == 0
    points = np.array(XY0[:, None])  # (n, 1, 2), as OpenCV also has them
    assert np.array_equal(matches_from({"keypoints0": points, "keypoints1": points}).xy0, XY0)


def test_lightglue_sift_gives_frames_if_both_images_have_one_scale():
    def features(xy, size):
        return {
            "keypoints": xy,
            "scales": np.full(len(xy), 2.0),
            "oris": np.arange(len(xy)) / 9,
            "image_size": size,
        }

    same = matches_from(INDICES, features(XY0, [640, 480]), features(XY1, [480, 640]))
    turn = INDICES[:, 1] / 9 - INDICES[:, 0] / 9
    maps = same.frames1 @ np.linalg.inv(same.frames0)
    assert np.allclose(np.arctan2(maps[:, 1, 0], maps[:, 0, 0]), (turn + np.pi) % (2 * np.pi) - np.pi)
    # resized to one longer side by different factors, which are unknown
    other = matches_from(INDICES, features(XY0, [640, 480]), features(XY1, [1280, 960]))
    assert other.frames0 is None and other.frames1 is None


def test_uninformative_frames_are_left_out():
    points = {"xy0": XY0[:N1], "xy1": XY1}
    good = RNG.normal(size=(N1, 2, 2))
    assert np.array_equal(matches_from(points | {"frames0": good, "frames1": good}).frames1, good)
    ones = np.tile(np.eye(2), (N1, 1, 1))
    for bad in (ones, np.zeros_like(ones), np.where(np.arange(N1)[:, None, None] == 3, np.nan, good)):
        assert matches_from(points | {"frames0": bad, "frames1": bad}).frames0 is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({"matches": INDICES},), "give keypoints0 and keypoints1, too"),
        (
            ({"matches": INDICES}, XY0, XY1[:9]),
            "refers to keypoint 29 of image 1, but that image has only 9 keypoints",
        ),
        (
            ({"matches0": [-5, 0, 1]}, XY0, XY1),
            "matches0: must be -1 or .* got -5: was it written with 16 bits",
        ),
        (({"matches": INDICES + 0.5}, XY0, XY1), "matches: must be indices .* got 3.5"),
        (({"matches": [INDICES, INDICES]}, XY0, XY1), "matches: holds 2 pairs; give one"),
        (({"keypoints0": XY0, "keypoints1": XY1},), "row by row, got 40 and 30 points and no `matches`"),
        (({"descriptors0": XY0},), "must have `matches` or `matches0`.*, got descriptors0"),
        (({"mkpts0": XY0, "mkpts1": XY0, "m_bids": [0, 1]},), "m_bids: holds matches of several pairs"),
        (({"mkpts0": XY0.T, "mkpts1": XY0.T},), r"mkpts0: must have shape \(n, 2\), got \(2, 40\)"),
        (({"mkpts0": "a.png", "mkpts1": XY0},), "mkpts0: must be an array of numbers, got str"),
        ((XY0,), r"must have 4 or 5 columns, x0 y0 x1 y1 \[score\], got 40 rows of 2$"),
        ((INDICES, {"descriptors": XY0}, XY1), "keypoints0: a dictionary of features must have `keypoints`"),
        ((INDICES, [[1], [1, 2]], XY1), "keypoints0: must be an array of numbers"),
        (("matches.db",), "matches: must be a dictionary of matches, an array .n, 4. .*got str"),
        (((XY0, XY0),), r"shape .2, 40, 2.; for matched points of two images, use group_matches"),
        (({"xy0": XY0, "xy1": XY0, "frames1": np.ones((N0, 2, 2))},), "frames0: must be given if frames1 is"),
        (({"xy0": XY0, "xy1": XY0, "sizes": [[100, np.nan], [9, 9.0]]},), "sizes: must be .* from 1 to 1e"),
        (([cv2.DMatch(0, 0, 0, 1.0), cv2.DMatch(0, 0, 1, 1.0)], XY0, XY1), "several train images"),
    ],
)
def test_unreadable_input_reports_reason(arguments, message):
    with pytest.raises(InputError, match=message) as raised:
        matches_from(*arguments)
    assert "\n" not in str(raised.value)


def test_list_with_one_dictionary_is_a_pair():
    points = np.arange(8.0).reshape(4, 2)
    found = {"keypoints0": points, "keypoints1": points + 1, "matching_scores": np.full(4, 0.5)}
    assert np.array_equal(matches_from([found]).xy1, points + 1)
    with pytest.raises(InputError, match="holds dictionaries of 2 pairs; give that of one pair"):
        matches_from([found, found])
