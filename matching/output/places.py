"""The places of objects in picture 1, as shapes and columns for other programs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely

from matching._common.types import Floats
from matching.objects.description import MatchedObject
from matching.output.figures.drawing import choose_frame


def outline_place(found: MatchedObject, size: tuple[int, int] | None, *, frame: bool) -> Floats:
    """Outline an object in picture 1 -> (k, 2)."""
    corners = choose_frame(found) if frame else None
    if corners is None:
        return np.asarray(found.outline1, np.float64)
    return cut_at_edges(corners, size)


def cut_at_edges(polygon: Floats, size: tuple[int, int] | None) -> Floats:
    """Cut off a polygon (k, 2) at the edges of a picture of known size; keep the largest part inside."""
    shape = shapely.Polygon(polygon)
    if size is None or not shape.is_valid:
        return polygon
    inside = shapely.intersection(shape, shapely.box(-0.5, -0.5, size[0] - 0.5, size[1] - 0.5))
    part = max(shapely.get_parts(inside), key=shapely.area, default=None)
    if not isinstance(part, shapely.Polygon) or part.is_empty or part.equals(shape):
        return polygon
    return np.asarray(shapely.get_coordinates(part.exterior)[:-1])


def list_columns(objects: Sequence[MatchedObject], boxes: Floats) -> dict[str, list[Any]]:
    """List the properties of objects, column by column: boxes (n, 4)."""
    names = (
        *("id", "thing", "n_matches", "score", "log_nfa", "confidence"),
        *("transform_kind", "transform_error", "inlier_share"),
    )
    motion_names = ("turn", "scale", "mirrored", "share", "share1")
    columns = {name: [getattr(o, name) for o in objects] for name in names}
    columns |= {name: [getattr(o.motion, name, None) for o in objects] for name in motion_names}
    columns["completeness"] = [getattr(o.completeness, "value", None) for o in objects]
    columns["is_whole"] = [o.is_whole for o in objects]
    columns["is_same"] = [o.is_same for o in objects]
    return columns | dict(zip(("left", "top", "right", "bottom"), boxes.T.tolist(), strict=True))
