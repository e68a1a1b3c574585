"""Details of large pictures in a collection."""

import numpy as np
import pytest
import skimage.data
from PIL import Image
from planting import crops

from matching import MatchConfig
from matching._common import opencv
from matching.collection import work
from matching.collection.cache import FeatureCache, entry_key
from matching.collection.work import Settings, Source, match_files
from matching.output.folders import compute_digest

CONFIG = MatchConfig(working_pixels=90_000)


@pytest.fixture
def sources(tmp_path):
    """A thing, a picture that is large with these settings and shows it small, and another large one."""
    thing = crops(220)["coffee"]
    scene = np.ascontiguousarray(skimage.data.astronaut())
    other = np.ascontiguousarray(scene[:, ::-1])
    scene[300:380, 40:120] = opencv.resize_area(thing, 80, 80)
    paths = [tmp_path / f"{name}.png" for name in ("thing", "scene", "other")]
    for path, rgb in zip(paths, (thing, scene, other), strict=True):
        Image.fromarray(rgb).save(path)
    return [Source(str(path), compute_digest(path)) for path in paths]


def test_details_are_matched_where_one_picture_is_small_and_kept(sources, tmp_path, monkeypatch):
    thing, scene, other = sources
    settings = Settings(CONFIG, FeatureCache(tmp_path, 10**9))
    found = match_files(0, thing, scene, settings)
    assert found.error is None
    assert len(found.objects) == 1
    keys = [entry_key(scene.content, CONFIG, has_details) for has_details in (False, True)]
    assert [settings.cache.get(key) is not None for key in keys] == [True, True]
    work.open_source.cache_clear()
    monkeypatch.setattr(work, "describe_details", lambda *_: pytest.fail("described again"))
    again = match_files(0, thing, scene, settings)
    assert len(again.objects) == 1
    assert match_files(1, scene, other, settings).error is None  # both are large: no details
    monkeypatch.undo()
    limited = Settings(MatchConfig(working_pixels=90_000, max_pixels=90_000), settings.cache)
    assert len(match_files(2, thing, scene, limited).objects) == 0
    assert entry_key(scene.content, limited.config) == keys[0]  # features of the working size are the same
