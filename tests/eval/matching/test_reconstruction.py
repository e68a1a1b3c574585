import numpy as np

from eval.matching import reconstruction
from eval.matching.reconstruction import COLUMNS, _count_close, draw_scene, fit_similarity, format_scenes
from synth.photographs import read_shipped
from synth.rooms import turn_about


def test_a_similarity_is_recovered():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 3))
    linear = 2.5 * turn_about(0, 0.4) @ turn_about(2, -1.0)
    found = fit_similarity(x, x @ linear.T + [1, 2, 3])
    np.testing.assert_allclose(found, np.column_stack([linear, [1, 2, 3]]), atol=1e-9)


def test_cameras_count_that_most_agree_on():
    rng = np.random.default_rng(1)
    true = rng.normal(size=(6, 3))
    there = 3 * true @ turn_about(1, 0.5).T + 7
    there[2] += 2.0
    assert _count_close(there, true, 0.05) == 5
    assert _count_close(there[:3], true[:3], 0.05) == 0  # any three agree, nearly


def test_boxes_move_between_the_views_and_the_room_does_not(monkeypatch):
    monkeypatch.setattr(reconstruction, "SIZE", (60, 80))
    monkeypatch.setattr(reconstruction, "FOCAL", 65.0)
    scene = draw_scene(read_shipped(), 3, n_views=2)
    again = draw_scene(read_shipped(), 3, n_views=2)
    assert scene.bodies.tolist() == [0] * 5 + [1] * 4 + [2] * 4
    for view, other in zip(scene.views, again.views, strict=True):
        assert view.picture.shape == (60, 80, 3)
        assert np.array_equal(view.picture, other.picture)
        assert {0, 1, 2} == set(scene.bodies[np.unique(view.plane)])


def test_sums_over_the_scenes():
    rows = [dict(zip(COLUMNS, (seed, "a", 8, 6, 50, 5), strict=True)) for seed in range(2)]
    head, lines = format_scenes(rows)
    assert lines == [["a", "16 of 16", "12", "100", "10.0 %"]] and len(head) == 5
