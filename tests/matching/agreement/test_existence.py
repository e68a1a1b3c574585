"""Whether windows between the matches of an object win against the places around them."""

import numpy as np
import scipy
import skimage.data

from matching.agreement.existence import Verdict
from matching.agreement.look import look_between


def test_motion_blur_does_not_reject_an_object():
    picture = skimage.data.chelsea()[40:260, 60:360]
    blurred = scipy.ndimage.uniform_filter1d(picture.astype(np.float32), 13, axis=1).astype(np.uint8)
    other = np.ascontiguousarray(skimage.data.coffee()[40:260, 60:360])
    xy = np.random.default_rng(0).uniform(20, 200, (60, 2)) + np.array([40.0, 0.0])
    assert look_between(picture, blurred, xy, xy).existence.verdict is not Verdict.NONE
    assert look_between(picture, other, xy, xy).existence.verdict is Verdict.NONE


def test_motion_blur_takes_nothing_from_completeness():
    picture = np.ascontiguousarray(skimage.data.chelsea()[40:260, 60:360])
    blurred = scipy.ndimage.uniform_filter1d(picture.astype(np.float32), 21, axis=1)
    noisy = np.clip(blurred + np.random.default_rng(1).normal(0, 4, picture.shape), 0, 255).astype(np.uint8)
    xy = np.random.default_rng(0).uniform(20, 200, (60, 2)) + np.array([40.0, 0.0])
    frame = np.array([[0.0, 0.0], [299.0, 0.0], [299.0, 219.0], [0.0, 219.0]])
    _, measured = look_between(picture, noisy, xy, xy).look_around((frame, frame))
    assert measured.value > 0.9  # 0.73 on the map itself
    half = noisy.copy()
    half[:, 150:] = skimage.data.coffee()[40:260, 60:210]
    _, measured = look_between(picture, half, xy, xy).look_around((frame, frame))
    assert measured.value < 0.6  # no more than it shows
