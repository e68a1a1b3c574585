"""COLMAP's reconstruction of a room in which two boxes move between the pictures, from its own database and
from the same database with grouped matches.

A camera is right if it is registered within CLOSE of its true place, in widths of the path of the cameras,
after the similarity that makes the most cameras right. A point of the reconstruction is on a box if most of
its observations are.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from matching.cli.main import main as gdl_match
from synth.photographs import Photographs
from synth.rooms import Plane, RoomCamera, RoomView, make_box, make_room, move_body, render_room, turn_about

VIEWS = 8
SIZE, FOCAL = (480, 640), 520.0
PATH = 2.4  # width of the cameras' path; the room is 6 wide
CLOSE = 0.02
COLUMNS = ("seed", "database", "registered", "right", "points", "on_boxes")


@dataclass(frozen=True, eq=False)
class Scene:
    """Views of a room with boxes, each with its camera, and the body of each plane."""

    cameras: list[RoomCamera]
    views: list[RoomView]
    bodies: NDArray[np.int64]


def draw_scene(photographs: Photographs, seed: int, n_boxes: int = 2, n_views: int = VIEWS) -> Scene:
    """Views of a room from a path in front of it; each box is moved and turned from view to view."""
    rng = np.random.default_rng(seed)
    models = [photographs.models[i] for i in rng.permutation(len(photographs.models))]
    tiles = [photographs.tiles[i] for i in rng.permutation(len(photographs.tiles))]
    planes: list[Plane] = make_room(tiles[:5])
    for body in range(1, n_boxes + 1):
        across = (body - (n_boxes + 1) / 2) * 2.2
        own = [models[(4 * body + k) % len(models)] for k in range(4)]
        planes += make_box(own, np.array([1.3, 1.3, 1.0]), np.array([across, 0.9, 4.0]), 0.3, body)
    cameras, views = [], []
    for x in np.linspace(-PATH / 2, PATH / 2, n_views):
        turn = turn_about(1, np.arctan2(x, 6.0)) @ turn_about(0, rng.uniform(-0.05, 0.05))
        centre = np.array([x, rng.uniform(-0.2, 0.2), rng.uniform(-0.2, 0.2)])
        cameras.append(RoomCamera(FOCAL, SIZE, turn, centre))
        views.append(render_room(planes, cameras[-1]))
        for body in range(1, n_boxes + 1):
            shift = rng.uniform((-0.3, -0.4, -0.3), (0.3, 0.2, 0.3))
            turn = turn_about(2, rng.uniform(-0.5, 0.5)) @ turn_about(1, rng.uniform(-0.3, 0.3))
            planes = move_body(planes, body, turn, shift)
    return Scene(cameras, views, np.array([plane.body for plane in planes]))


def measure_scene(photographs: Photographs, seed: int, n_boxes: int = 2) -> Iterator[dict]:
    """Three rows (COLUMNS): the database as COLMAP writes it, grouped matches, and those of all objects."""
    import pycolmap

    pycolmap.logging.minloglevel = 2
    scene = draw_scene(photographs, seed, n_boxes)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "images").mkdir()
        for k, view in enumerate(scene.views):
            cv2.imwrite(str(folder / "images" / f"{k}.png"), view.picture[:, :, ::-1])
        database = folder / "input.db"
        pycolmap.extract_features(database, folder / "images", camera_mode=pycolmap.CameraMode.SINGLE)
        pycolmap.match_exhaustive(database)
        sources = {"COLMAP's": database}
        for kind, option in (("grouped", ()), ("grouped, --all-objects", ("--all-objects",))):
            out = folder / kind
            with redirect_stdout(None):
                gdl_match(["group", str(database), *option, "--out", str(out), "--quiet", "--no-figure"])
            sources[kind] = out / "groups.db"
        for number, (kind, source) in enumerate(sources.items()):
            found = _rebuild(source, folder / "images", folder / str(number))
            yield {"seed": seed, "database": kind} | _judge(found, scene)


def _rebuild(database: Path, images: Path, out: Path) -> Any:
    """The largest reconstruction, from a copy of a database; None if there is none."""
    import pycolmap

    out.mkdir()
    shutil.copy(database, out / "database.db")
    pycolmap.set_random_seed(0)
    options = pycolmap.IncrementalPipelineOptions()
    options.min_model_size = 3
    found = pycolmap.incremental_mapping(str(out / "database.db"), str(images), str(out), options)
    return max(found.values(), key=lambda m: (m.num_reg_images(), m.num_points3D()), default=None)


def _judge(found: Any, scene: Scene) -> dict:
    """How many cameras are registered and right, and how many points there are, and on boxes."""
    if found is None:
        return {"registered": 0, "right": 0, "points": 0, "on_boxes": 0}
    images = {number: found.images[number] for number in found.reg_image_ids()}
    order = {number: int(Path(image.name).stem) for number, image in images.items()}
    there = np.array([image.projection_center() for image in images.values()])
    true = np.array([scene.cameras[k].centre for k in order.values()])
    on_boxes = 0
    for point in found.points3D.values():
        seen = []
        for element in point.track.elements:
            x, y = images[element.image_id].points2D[element.point2D_idx].xy - 0.5
            plane = scene.views[order[element.image_id]].plane[round(y), round(x)]
            seen.append(scene.bodies[plane] > 0)
        on_boxes += np.mean(seen) > 0.5
    right = _count_close(there, true, CLOSE * PATH)
    points = found.num_points3D()
    return {"registered": len(images), "right": right, "points": points, "on_boxes": int(on_boxes)}


def _count_close(there: NDArray[np.float64], true: NDArray[np.float64], distance: float) -> int:
    """How many places (n, 3) the best similarity takes to within a distance of others, among those fitted to
    three of them by least squares; none if there are fewer than four.
    """
    best = 0
    for three in combinations(range(len(there)), 3):
        if len(there) < 4:
            break
        similarity = fit_similarity(there[list(three)], true[list(three)])
        moved = np.column_stack([there, np.ones(len(there))]) @ similarity.T
        best = max(best, int((np.linalg.norm(moved - true, axis=1) <= distance).sum()))
    return best


def fit_similarity(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """(3, 4): the similarity that takes places x (n, 3) to y by least squares (Umeyama, 1991)."""
    a, b = x - x.mean(axis=0), y - y.mean(axis=0)
    u, size, v = np.linalg.svd(b.T @ a)
    sign = np.array([1, 1, np.linalg.det(u @ v)])
    rotation = (u * sign) @ v
    linear = rotation * (size @ sign) / max((a**2).sum(), np.finfo(float).tiny)
    return np.column_stack([linear, y.mean(axis=0) - linear @ x.mean(axis=0)])


def format_scenes(rows: list[dict]) -> tuple[list[str], list[list[str]]]:
    """Head and lines: sums over the scenes for each database."""
    lines = []
    for kind in dict.fromkeys(row["database"] for row in rows):
        own = [row for row in rows if row["database"] == kind]
        total = {name: sum(row[name] for row in own) for name in COLUMNS[2:]}
        pictures = f"{total['registered']} of {VIEWS * len(own)}"
        share = f"{100 * total['on_boxes'] / max(total['points'], 1):.1f} %"
        lines.append([kind, pictures, str(total["right"]), str(total["points"]), share])
    return ["database", "registered", "cameras right", "points", "points on boxes"], lines
