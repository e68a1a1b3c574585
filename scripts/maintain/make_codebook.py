"""Learn the codebook of the index from the photographs that scikit-image and scikit-learn ship.

python scripts/maintain/make_codebook.py matching/collection/retrieval/codebook.npz
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

import numpy as np
import skimage.data
import sklearn.datasets
from PIL import Image
from sklearn.cluster import KMeans

from matching.pictures.images import make_picture
from matching.pipelines.description import describe_picture

SCALES = (1.0, 0.6)
MOST = 2500  # descriptors a picture and scale: textures such as grass have five times as many
CELLS, PARTS, WORDS = 256, 32, 256


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args(argv)
    descriptors = np.concatenate([some for path in photographs() for some in describe(path)])
    print(f"{len(descriptors)} descriptors")
    first = centres(descriptors, CELLS)
    nearest = KMeans(CELLS, init=first, n_init=1, max_iter=1).fit(descriptors).labels_
    second = centres(descriptors - first[nearest], CELLS)
    width = descriptors.shape[1] // PARTS
    words = [centres(descriptors[:, k : k + width], WORDS) for k in range(0, descriptors.shape[1], width)]
    columns = {"first": first, "second": second, "words": np.stack(words)}
    np.savez_compressed(arguments.out, **{name: np.rint(c).astype(np.int16) for name, c in columns.items()})
    return 0


def photographs():
    """The pictures in the wheels of both packages: no others, which scikit-image would download."""
    shipped = Path(skimage.data.__file__).parent, Path(sklearn.datasets.__file__).parent / "images"
    return sorted(p for folder in shipped for p in folder.iterdir() if p.suffix in (".png", ".jpg"))


def describe(path):
    """Descriptors (n, 128) of a picture at each of SCALES."""
    with Image.open(path) as opened:
        image = opened.convert("RGB")
    for scale in SCALES:
        size = [max(round(side * scale), 1) for side in image.size]
        rgb = np.asarray(image.resize(size, Image.Resampling.LANCZOS))
        found = describe_picture(make_picture(rgb)).features.descriptors
        print(f"{path.name} x {scale}: {len(found)}")
        yield found[:: max(len(found) // MOST, 1)][:MOST]


def centres(x, n):
    return KMeans(n, n_init=1, max_iter=30, random_state=0).fit(x).cluster_centers_


if __name__ == "__main__":
    sys.exit(main())
