"""Products that stand in a scene against those that don't."""

import json

import numpy as np
import skimage.data
from PIL import Image

from eval.matching.photographs.shelves import measure_ranking
from matching import MatchConfig


def test_a_product_ranks_above_one_that_shares_a_part_of_it(tmp_path):
    coffee = skimage.data.coffee()[80:360, 180:460]
    chelsea = skimage.data.chelsea()[:280, 60:340]
    other = chelsea.copy()
    other[100:190, 90:190] = coffee[100:190, 90:190]  # what both have in common
    for name, picture in (("a", coffee), ("b", other), ("scene", np.hstack([coffee, coffee[::-1]]))):
        Image.fromarray(picture).save(tmp_path / f"{name}.png")
    quad = [[0, 0], [280, 0], [280, 280], [0, 280]]
    a, b = (
        {"model": f"{m}.png", "quad": quad, "quad_art": None, "variant": "exact", "source": "sift"}
        for m in "ab"
    )
    scenes = {
        "scene.png": {"instances": [a], "uncertain": []},
        "b.png": {"instances": [b], "uncertain": []},
    }
    (tmp_path / "scenes").mkdir()
    (tmp_path / "scenes" / "labels.json").write_text(json.dumps({"scenes": scenes, "negatives": []}))
    rows = list(measure_ranking(tmp_path, MatchConfig()))
    assert [(row["comparisons"], row["by_rank"]) for row in rows] == [(1, 1), (1, 1)]
