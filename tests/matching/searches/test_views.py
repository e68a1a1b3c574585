from dataclasses import replace

import numpy as np
import pytest
import skimage.data

from eval.matching.photographs import extreme_views
from matching import InputError, MatchConfig, match
from matching._common.threads import limit_threads
from matching.cli.main import main
from matching.collection.cache import FeatureCache
from matching.collection.work import Settings, Source, match_files
from matching.correspondences.correspondences import Correspondences
from matching.drivers.pair import match_pair
from matching.grouping.groups import make_group
from matching.grouping.ledger import Ledger
from matching.output.folders import compute_digest
from matching.pictures.images import make_picture_of_array
from matching.searches import cascade
from matching.searches.search import GroupedCandidates, find_pair_candidates
from matching.searches.source import ImageSource
from matching.searches.views import ENOUGH_PLACES, has_enough

VIEWS = MatchConfig(view_synthesis=True)
COLUMNS = ("xy0", "xy1", "cluster", "score")


def same(a, b):
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in COLUMNS)


@pytest.fixture(scope="module")
def tilted():
    """A picture, the same at tilt 8, and the homography between them."""
    image = skimage.data.astronaut()[100:400, :320]
    return image, *extreme_views.tilt_picture(image, 8.0, 0.2, np.random.default_rng(0))


@pytest.fixture(scope="module")
def found(tilted):
    return match(*tilted[:2], VIEWS)


def test_a_picture_from_the_side_is_found_in_views_alone(tilted, found):
    image0, image1, homography = tilted
    plain = match(image0, image1, max_pixels=max(image[..., 0].size for image in (image0, image1)))
    assert not plain.objects  # as they are; enlarged, they may show a part
    assert "views" not in plain.timings
    kept = found.cluster >= 0
    assert len(found.objects) == 1
    assert extreme_views.is_solved(found.xy0[kept], found.xy1[kept], homography)
    assert len(found.score) <= VIEWS.candidates.max_matches
    assert found.timings["views"] > 0


@pytest.mark.slow
def test_results_do_not_depend_on_threads_nor_on_the_order_of_the_pictures(tilted, found):
    with limit_threads(1):
        assert same(match(*tilted[:2], VIEWS), found)
    turned = match(tilted[1], tilted[0], VIEWS)
    assert turned.xy0.tobytes() == found.xy1.tobytes()
    assert turned.cluster.tobytes() == found.cluster.tobytes()


def test_nothing_is_computed_where_a_pair_is_solved_plainly(tilted):
    pictures = [make_picture_of_array(image) for image in (tilted[0], tilted[0][20:, 30:])]
    sources = [ImageSource(picture, VIEWS) for picture in pictures]
    found = match_pair(*sources)
    assert same(found, match_pair(*map(ImageSource, pictures)))
    assert all("views" not in vars(source) for source in sources)  # no picture was prepared for them


def test_part_of_a_known_object_that_views_show_changes_nothing(monkeypatch):
    """What lies between the matches of a part is weaker evidence."""
    pair = skimage.data.coffee()[100:300, 200:400], skimage.data.coffee()[110:310, 190:390]
    monkeypatch.setattr(cascade, "has_enough", lambda matches, config: False)
    plain, n_asked = match(*pair), []

    def find_in_views(described, views, config):
        candidates, _ = find_pair_candidates(*(picture.features for picture in described), config)
        shift = candidates.xy1 - candidates.xy0
        still = np.abs(np.abs(shift) - 10.0).max(axis=1) < 1.5
        rows = np.flatnonzero(still & (candidates.xy0[:, 0] < 90))
        n_asked.append(len(rows))
        n, groups = len(candidates), [make_group(rows, 0.25)]
        return GroupedCandidates(candidates, n, groups, Ledger(n)).locate(*described)

    monkeypatch.setattr(cascade, "find_in_views", find_in_views)
    found = match(*pair, VIEWS)
    assert n_asked and n_asked[0] > 20
    assert same(found, plain)
    assert [(one.log_nfa, one.n_matches) for one in found.objects] == [
        (one.log_nfa, one.n_matches) for one in plain.objects
    ]


def test_matches_at_twice_the_places_of_a_plane_are_enough():
    n = ENOUGH_PLACES * MatchConfig().planes.min_places
    xy = 20.0 * np.column_stack(np.divmod(np.arange(n), 10))
    matches = Correspondences(xy, xy + 7, np.tile(np.eye(2), (n, 1, 1)))
    assert has_enough(matches, MatchConfig())
    assert not has_enough(matches[:-1], MatchConfig())
    assert not has_enough(matches[np.zeros(500, int)], MatchConfig())


def test_unrelated_pictures_have_no_object_and_the_plain_candidates():
    pair = skimage.data.astronaut()[:200, :200], skimage.data.coffee()[100:300, 200:400]
    plain, found = match(*pair), match(*pair, VIEWS)
    assert not found.objects
    assert same(found, plain)


@pytest.mark.slow
def test_a_collection_looks_at_views_of_the_files(tilted, found, tmp_path):
    from PIL import Image

    sources = []
    for k, image in enumerate(tilted[:2]):
        path = tmp_path / f"{k}.png"
        Image.fromarray(image).save(path)
        sources.append(Source(str(path), compute_digest(path)))
    (tmp_path / "cache").mkdir()
    settings = Settings(VIEWS, FeatureCache(tmp_path / "cache", 10**9))
    record = match_files(1, *sources, settings)
    assert record.error is None
    assert len(record.objects) == 1
    np.testing.assert_array_equal(record.objects[0].points0, found.xy0[found.cluster == 0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"view_synthesis": 1}, "view_synthesis must be True or False, got 1"),
        (
            {"view_synthesis": True, "grouping": "paper"},
            "view_synthesis must be False if grouping is 'paper'",
        ),
    ],
)
def test_bad_settings(options, message):
    with pytest.raises(InputError, match=message):
        replace(MatchConfig.paper(), **options) if "grouping" in options else MatchConfig(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--paper"], "--view-synthesis can't be combined with --paper"),
        (["--method", "acc"], "--view-synthesis requires agdl, gdl-u or gdl, got --method acc"),
    ],
)
def test_options_that_exclude_views(options, message, capsys):
    assert main(["missing.png", "missing.png", "--view-synthesis", *options], rivals={"acc": None}) == 2
    assert message in capsys.readouterr().err  # before pictures are read
