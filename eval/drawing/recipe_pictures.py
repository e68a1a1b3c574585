"""Make the pictures of docs/recipes.md from photographs that scikit-image ships."""

import argparse
from pathlib import Path

import skimage.data
from PIL import Image, ImageDraw, ImageFont

from eval.common.options import add_options

THING, SIZE = 220, (640, 480)  # pixels: the side of a thing, width and height of a scene


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, out="recipes")


def run(args: argparse.Namespace) -> None:
    made = pictures()
    for name, image in made.items():
        (args.out / name).parent.mkdir(parents=True, exist_ok=True)
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
        **_puzzle(photographs["coffee"]),
        **{f"prints/{name}.jpg": image for name, image in _prints(front, cup).items()},
        **{f"page-{name}.png": _page(new=name == "new") for name in ("old", "new")},
        "golden.png": front.copy(),
        "figure.png": _figure(),
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


def _puzzle(scene: Image.Image) -> dict[str, Image.Image]:
    """Two pictures that differ in three places, the second one cut a little smaller."""
    other = scene.copy()
    draw = ImageDraw.Draw(other)
    draw.ellipse((90, 60, 120, 90), fill=(190, 60, 40))
    draw.rectangle((480, 330, 520, 350), fill=(240, 230, 200))
    other.paste(scene.crop((20, 300, 60, 330)), (300, 190))
    return {"puzzle-a.png": scene, "puzzle-b.png": other.crop((6, 4, 596, 396))}


def _prints(front: Image.Image, cup: Image.Image) -> dict[str, Image.Image]:
    """Prints of a picture as a camera sees them, on grey: one good, one with a hole, and another print."""
    holed = front.copy()
    ImageDraw.Draw(holed).rectangle((150, 40, 165, 52), fill="white")
    ground = Image.new("RGB", (300, 300), (120, 120, 120))
    return {
        "1": _put(ground, (front, (30, 30), 6)),
        "2": _put(ground, (holed, (40, 40), -4)),
        "3": _put(ground, (cup, (40, 40), 0)),
    }


def _page(*, new: bool) -> Image.Image:
    """A page of text; the new one also has a notice below the title, and another number."""
    page = Image.new("RGB", (640, 560), "white")
    draw = ImageDraw.Draw(page)
    lines = [f"{1 + k}. Fold along line {7 * k + 3}, then press part {'ABCDEFGHKLMN'[k]}." for k in range(12)]
    if new:
        lines[8] = lines[8].replace("then press", "then cut off")
        draw.rectangle((40, 80, 600, 130), fill=(255, 236, 179))
        draw.text((60, 92), "Changed: see step 9", "black", ImageFont.load_default(20))
    draw.text((40, 25), "How to fold a boat", "black", ImageFont.load_default(34))
    for k, line in enumerate(lines):
        draw.text((40, 90 + 34 * k + 60 * new), line, "black", ImageFont.load_default(20))
    return page


def _figure() -> Image.Image:
    """Three parts of one sample, and the first one again, upside down."""
    sample = Image.fromarray(skimage.data.immunohistochemistry())
    panels = [sample.crop((x, y, x + 170, y + 170)) for x, y in ((20, 20), (300, 30), (310, 310))]
    panels.append(panels[0].transpose(Image.Transpose.FLIP_TOP_BOTTOM))
    figure = Image.new("RGB", (800, 220), "white")
    for k, panel in enumerate(panels):
        figure.paste(panel, (20 + 195 * k, 35))
        ImageDraw.Draw(figure).text((20 + 195 * k, 8), "ABCD"[k], "black", ImageFont.load_default(20))
    return figure
