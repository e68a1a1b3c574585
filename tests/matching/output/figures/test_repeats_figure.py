import numpy as np
from planting import crops

from matching import find_repeats
from matching.output.figures.drawing import colour, draw_result
from matching.pictures.images import make_picture


def test_places_have_the_colour_of_their_thing():
    pictures = crops()
    rgb = np.hstack([pictures["coffee"], pictures["chelsea"], pictures["coffee"]])
    result = find_repeats(rgb)
    drawn = result.draw()
    assert drawn.shape == rgb.shape  # once, without a caption
    near = (np.abs(drawn.astype(int) - colour(0)).sum(axis=2) < 12).nonzero()[1]
    assert (near < 220).sum() > 100
    assert (near > 440).sum() > 100
    assert ((near > 240) & (near < 420)).sum() == 0  # the cat has no place
    assert (
        np.abs(drawn[:, 240:420].astype(int) - 110).mean() < np.abs(rgb[:, 240:420].astype(int) - 110).mean()
    )


def test_a_picture_without_repeats_says_so():
    picture = make_picture(crops()["coffee"])
    result = find_repeats(picture)
    assert not result.things
    drawn = draw_result(picture, picture, result)
    assert drawn.shape[0] > 220
    assert np.array_equal(drawn[:220], picture.rgb)
