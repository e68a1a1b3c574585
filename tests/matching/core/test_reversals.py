import numpy as np
import pytest
import skimage.data
from matching.core.mirrored import looks_mirrored, may_be_mirrored

from matching import MatchConfig, match
from matching.core.source import describe_picture
from matching.pictures.images import make_picture_of_array


@pytest.fixture(scope="module")
def face():
    return skimage.data.astronaut()[:220, 110:330]


def describe(picture):
    return describe_picture(make_picture_of_array(picture)).features


def test_a_picture_and_its_mirror_image_look_mirrored(face):
    own, turned = describe(face), describe(np.ascontiguousarray(face[:, ::-1]))
    other = describe(skimage.data.coffee()[:220, :220])
    assert may_be_mirrored(own, turned) and looks_mirrored(own, turned) and looks_mirrored(turned, own)
    assert not looks_mirrored(own, own)
    assert not may_be_mirrored(own, other) and not looks_mirrored(own, other)


@pytest.mark.parametrize("setting", ["evidence", "min_degree"])
def test_without_a_test_of_evidence_unrelated_pictures_do_not_look_mirrored(setting, face):
    config = MatchConfig().with_settings(**{setting: 0})
    for other in (skimage.data.coffee()[:220, :220], skimage.data.rocket()[:220, :220], face):
        assert not looks_mirrored(describe(face), describe(other), config)


def test_the_result_says_so_unless_mirrored_objects_are_searched_for(face):
    turned = np.ascontiguousarray(face[:, ::-1])
    assert match(face, turned).looks_mirrored
    assert not match(face, turned, MatchConfig(mirrored=True)).looks_mirrored
    assert not match(face, face).looks_mirrored
