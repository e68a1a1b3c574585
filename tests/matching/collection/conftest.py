import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from planting import crops, object_pair

from matching.collection import FeatureCache

sys.path.insert(0, str(Path(__file__).parent))  # the helper module `database`


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Pictures: three that share objects, a small one, a damaged one, a text; and what is passed over."""
    folder = tmp_path_factory.mktemp("pictures")
    first, second = object_pair()
    Image.fromarray(first).save(folder / "a first.png")
    Image.fromarray(second).save(folder / "b second.png")
    Image.fromarray(crops()["astronaut"]).save(folder / "c.jpg", quality=95)
    Image.fromarray(np.full((4, 5), 7, np.uint8)).save(folder / "d plain.png")
    (folder / "e damaged.jpg").write_bytes((folder / "c.jpg").read_bytes()[:300])
    (folder / "f text.png").write_text("not a picture")
    (folder / "notes.txt").write_text("not even called one")
    (folder / ".hidden.png").write_bytes((folder / "c.jpg").read_bytes())
    return folder


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """A cache that the tests share: equal pictures are described once."""
    return FeatureCache(tmp_path_factory.mktemp("cache"), 10**9)
