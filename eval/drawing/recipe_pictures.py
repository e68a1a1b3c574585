"""Make the pictures of docs/recipes.md from photographs that scikit-image ships."""

import argparse
from pathlib import Path

import skimage.data
from PIL import Image

from eval.common.options import add_options

THING, SIZE = 220, (640, 480)  # pixels: the side of a thing, width and height of a scene


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, out="recipes")


def run(args: argparse.Namespace) -> None:
    made = pictures()
    (args.out / "photos").mkdir(parents=True)
    for name, image in made.items():
        image.save(args.out / name, quality=92)


def pictures() -> dict[str, Image.Image]:
    """All pictures by their names."""
    corners = {"astronaut": (130, 0), "coffee": (150, 60), "chelsea": (100, 20)}
    photographs = {name: Image.fromarray(getattr(skimage.data, name)()) for name in (*corners, "rocket")}
    front, cup, cat = (
        photographs[name].crop((x, y, x + THING, y + THING)) for name, (x, y) in corners.items()
    )
    logo = Image.open(Path(skimage.data.__file__).parent / "logo.png")
    table = photographs["rocket"].resize(SIZE)
    cropped = photographs["coffee"].crop((0, 0, 600, 390))
    turned = cropped.rotate(4, Image.Resampling.BICUBIC)
    return {
        "logo.png": logo,
        "front.png": front,
        "photos/cat.jpg": photographs["chelsea"],
        "photos/cat-small.jpg": photographs["chelsea"].reduce(2),
        "photos/cup.jpg": _put(photographs["coffee"], (logo.resize((170, 170)), (380, 40), 15)),
        "photos/desk.jpg": _put(table, (logo.resize((230, 230)), (60, 190), -30), (front, (380, 30), 8)),
        "shelf.png": _put(
            table, (front, (20, 20), 0), (front, (230, 240), 6), (cup, (400, 20), 0), (front, (410, 250), -4)
        ),
        "before.png": _put(table, (front, (30, 30), 0), (cup, (380, 230), 0), (cat, (30, 255), 0)),
        "after.png": _put(table, (front, (60, 30), 0), (cup, (360, 200), 25), (cat, (30, 255), 0)),
        "left.png": cropped.crop((0, 20, 380, 370)),
        "right.png": turned.crop((220, 20, 580, 370)),
    }


def _put(scene: Image.Image, *things: tuple[Image.Image, tuple[int, int], float]) -> Image.Image:
    """A scene with things on it, each turned anticlockwise, and with its top-left corner at a given place."""
    scene = scene.copy()
    for thing, corner, angle in things:
        turned = thing.convert("RGBA").rotate(angle, Image.Resampling.BICUBIC, expand=True)
        scene.paste(turned, corner, turned)
    return scene
