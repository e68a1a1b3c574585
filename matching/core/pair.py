"""From two pictures to the objects that both show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from matching._common.threads import map_in_threads, single_blas_thread
from matching._common.types import Floats
from matching.agreement.grid import Ends
from matching.agreement.look import look_between
from matching.agreement.resemblance import resembles_itself
from matching.core.agreement import keep_agreeing, look_at_objects
from matching.core.clock import Clock
from matching.core.config import MatchConfig, check_config
from matching.core.description import describe_located
from matching.core.details import add_objects, find_details, group_details, replace_objects
from matching.core.ledger import name_steps
from matching.core.methods import PAIR, Method, choose_method
from matching.core.pixel_copies import find_pixel_copies
from matching.core.pixel_matches import PixelMatches
from matching.core.result import MatchResult, add_inputs
from matching.core.reversals import MIRRORED, drop_symmetric, find_promising, search_reversed
from matching.core.search import Search, find_objects, find_pair_candidates
from matching.core.source import DescribedPicture, ImageSource, is_larger, is_small
from matching.core.views import find_in_views, has_enough, is_solved
from matching.correspondences.candidates import Candidates
from matching.objects.copies import find_things_of_pair
from matching.objects.description import MatchedObject, add_things
from matching.pictures.decoding import read_content
from matching.pictures.images import add_mask, make_picture, to_picture


def match(
    image0: Any,
    image1: Any,
    config: MatchConfig = MatchConfig(),
    *,
    mask0: Any = None,
    mask1: Any = None,
    progress: Callable[[str, int, int], object] | None = None,
    **settings: Any,
) -> MatchResult:
    """Find the objects that two pictures both show.

    Parameters
    ----------
    image0, image1 : path, bytes, binary file, Pillow image, or array (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
        The pictures; bytes are the content of a file.
    config : MatchConfig
        The settings.
    mask0, mask1 : like `image0` and `image1`, of the same sizes, optional
        White where features may lie; by default, they may lie everywhere.
    progress : callable, optional
        Called as ``progress(step, n_done, n_steps)`` after each step.
    **settings : object
        Settings that differ from `config`, see `MatchConfig.with_settings`: ``max_matches=5000``.

    Returns
    -------
    MatchResult
        The result is the same for any number of threads; swapped images give the same matches, swapped.

    Raises
    ------
    InputError
        A ValueError: a file or array can't be used, or a mask does not have the size of its image.
    TypeError
        `config` is not a MatchConfig, or a keyword is not the name of a setting.

    Examples
    --------
    >>> import numpy as np
    >>> match(np.zeros((60, 80)), np.zeros((60, 80)), max_matches=500)
    <MatchResult: no common object, 0 of 0 candidates>
    """
    check_config(config)
    config = config.with_settings(**settings)
    clock = Clock(progress, list_steps(config))
    images = read_content(image0, "image0"), read_content(image1, "image1")
    masks = read_content(mask0, "mask0"), read_content(mask1, "mask1")
    pictures = [
        add_mask(make_picture(image, f"image{k}"), mask, f"mask{k}")
        for k, (image, mask) in enumerate(zip(images, masks, strict=True))
    ]
    clock.lap("read")
    first, second = (ImageSource(picture, config) for picture in pictures)
    return add_inputs(match_pair(first, second, clock=clock), images, masks, pictures)


@single_blas_thread()  # many small matrices: several threads would be slower
def match_pair(
    first: ImageSource, second: ImageSource, method: Method = PAIR, *, clock: Clock | None = None
) -> MatchResult:
    """Find the objects that two pictures both show: the only place where a pair is matched.

    Parameters
    ----------
    first, second : ImageSource
        The pictures, described with the same settings.
    method : Method
        `PAIR`, `MANY` for one of very many pairs, or a variant of these. If the settings choose the paper's
        grouping, it is not used.
    clock : Clock, optional
        Measures the seconds of the steps (`list_steps`).

    Returns
    -------
    MatchResult
        The result without its inputs.
    """
    clock, config = clock or Clock(), first.config
    described = map_in_threads(lambda source: source.described, (first, second))
    clock.lap("features")
    # The pictures are searched in a canonical order, so that swapping them changes nothing.
    is_swapped = described[0].digest > described[1].digest
    pair = (second, first) if is_swapped else (first, second)
    found = search_pair(*pair, choose_method(config, method), clock)
    if is_swapped:
        found = found.swapped
    objects, matches = keep_existing(first, second, found)
    things = find_things_of_pair(objects)
    clock.lap("objects")
    return MatchResult(
        matches.xy0,
        matches.xy1,
        matches.labels,
        matches.score,
        add_things(objects, things),
        clock.seconds,
        config=config,
        things=things,
        n_features=(len(described[0].features), len(described[1].features)),
        matched_at=(found.seen[0].megapixels, found.seen[1].megapixels),
        rejected=matches.rejected,
        dropped_by=name_steps(matches.dropped_by),
        negative=any(one.negative is not None for one in matches.objects),
    )


# Times the matches that an object needs: groups so large that one of these steps rejects are worth a closer
# look. Of 780 pairs of film covers, 2 have a group with twice as many that is not significant, and 15 one
# with as many; the details of these would take a quarter of the time.
CLOSE = {"significance": 2, "textures": 2, "line": 1, "agreement": 1}


@dataclass(frozen=True, eq=False)
class Found:
    """The matches and objects of two pictures."""

    matches: PixelMatches
    seen: tuple[DescribedPicture, DescribedPicture]  # the pictures at the sizes at which they were matched

    @property
    def swapped(self) -> Found:
        """The same with the pictures in the other order."""
        return Found(self.matches.swapped, self.seen[::-1])


def search_pair(first: ImageSource, second: ImageSource, method: Method, clock: Clock) -> Found:
    """Search two pictures for objects, by more expensive searches only where cheap ones are not enough."""
    config, seen = first.config, (first.described, second.described)
    candidates = find_pair_candidates(seen[0].features, seen[1].features, config)
    clock.lap("candidates")
    confirm = partial(has_one_place, first, second)
    plain = find_objects(seen[0].features, seen[1].features, candidates, config, method, confirm)
    found = Found(plain.locate(seen[0].step, seen[1].step), seen)
    clock.lap("grouping")
    if not method.is_tested:
        return found
    if config.view_synthesis:
        found = add_views(found, plain, first, second)
        clock.lap("views")
    found = add_details(found, first, second, method)
    clock.lap("details")
    found = add_reversed(found, first, second, method)
    clock.lap("reversals")
    if not is_solved(found.matches.objects):
        found = add_pixel_copies(found, first, second)
    clock.lap("pixels")
    return found


def has_one_place(
    first: ImageSource, second: ImageSource, matches: Candidates, shifts: tuple[Floats, ...]
) -> bool:
    """Test whether two pictures agree between matches, and would not if one were shifted.

    The points of the matches, and the shifts (2,) in each picture, are in pixels of the size of the features.
    """
    (picture0, step0), (picture1, step1) = ((one.picture, one.described.step) for one in (first, second))
    xy0, xy1 = to_picture(matches.xy0, step0), to_picture(matches.xy1, step1)
    ends = Ends(picture0.rgb, xy0, picture0.mask), Ends(picture1.rgb, xy1, picture1.mask)
    if resembles_itself(ends[0], shifts[0] * step0) and resembles_itself(ends[1], shifts[1] * step1):
        return False
    look = look_between(
        picture0.rgb,
        picture1.rgb,
        xy0,
        xy1,
        shown0=picture0.mask,
        shown1=picture1.mask,
        tolerance=first.config.graph.scale * float(max(step0.max(), step1.max())),
    )
    return look.is_object is True


def add_views(found: Found, plain: Search, first: ImageSource, second: ImageSource) -> Found:
    """Take the objects that simulated views show instead, if they have more matches."""
    config, known = first.config, found.matches
    rows = np.concatenate([np.empty(0, np.int64), *(group.rows for group in plain.objects)])
    if is_solved(known.objects) and has_enough(plain.candidates.correspondences[rows], config):
        return found
    features = [seen.features for seen in found.seen]
    views = find_in_views(features, [first.views, second.views], config)
    other = views.locate(found.seen[0].step, found.seen[1].step)
    if other.n_kept > known.n_kept:
        known, other = other, known
    return replace(found, matches=known.add_rejected(other.rejected, config.objects.reach))


def add_details(found: Found, first: ImageSource, second: ImageSource, method: Method) -> Found:
    """Add the details of pictures that are matched at their full size.

    These are the only picture that was reduced, or both pictures if no object is sure or likely.
    """
    config, sources, coarse = first.config, (first, second), found.seen
    chosen = [k for k in (0, 1) if is_larger(coarse[k], config)]
    if len(chosen) != 1:
        are_small = all(is_small(one, config) for one in coarse)
        if not (are_small or (chosen and method.is_thorough)):
            return found
        if is_solved(found.matches.objects):  # what agreement rejects must not prevent a closer look
            found = replace(found, matches=keep_existing(first, second, found)[1])
        if is_solved(found.matches.objects) or not (method.is_thorough or was_close(found.matches, config)):
            return found
        chosen = [0, 1]
    details, seen = list[PixelMatches](), list(coarse)
    for k in chosen:
        other, fine = coarse[1 - k], sources[k].details
        if is_larger(coarse[k], config):
            bands = find_details(other, fine, coarse[k].step, config, method)
        else:
            candidates = find_pair_candidates(other.features, fine.features, config)
            bands = [group_details(other, fine, candidates, len(chosen), config, method)]
        details += bands if k == 1 else [band.swapped for band in bands]
        seen[k] = fine
    reach, max_rows = config.objects.reach, config.candidates.max_matches
    return Found(add_objects(found.matches, details, reach, max_rows), (seen[0], seen[1]))


def was_close(matches: PixelMatches, config: MatchConfig) -> bool:
    """Test whether a group with enough matches (CLOSE) was rejected only by one of the last tests."""
    min_matches = config.objects.min_matches
    return any(
        group.step in CLOSE and group.n_matches >= CLOSE[group.step] * min_matches
        for group in matches.rejected
    )


def add_reversed(found: Found, first: ImageSource, second: ImageSource, method: Method) -> Found:
    """Add mirrored and negative objects that are sure or likely, or the only ones."""
    config, pair, known = first.config, (first.described, second.described), found.matches
    reach, max_rows = config.objects.reach, config.candidates.max_matches
    for reversal in find_promising(first, second):
        if reversal is MIRRORED and config.mirrored:
            continue
        turned = search_reversed(*pair, reversal, config, method)
        if turned.objects:  # what agreement rejects must not prevent these
            known = keep_existing(first, second, replace(found, matches=known))[1]
        if not known.objects or is_solved(turned.objects):
            if reversal is MIRRORED:  # the wallpaper around a dark window is no reason to drop either
                known, turned = drop_symmetric(known, turned, reach)
            known = add_objects(known, [turned], reach, max_rows)
        known = known.add_rejected(turned.rejected_by(reversal.step), reach)
    return replace(found, matches=known)


def add_pixel_copies(found: Found, first: ImageSource, second: ImageSource) -> Found:
    """Take the places where one picture shows the other one pixel for pixel instead, if there are any."""
    copies = find_pixel_copies(first.picture, second.picture)
    if copies is None:
        return found
    return replace(found, matches=replace_objects(found.matches, copies, first.config.candidates.max_matches))


def keep_existing(
    first: ImageSource, second: ImageSource, found: Found
) -> tuple[list[MatchedObject], PixelMatches]:
    """Describe the objects in pixels of both pictures, without those between whose matches nothing agrees."""
    config, matches, boxes = first.config, found.matches, (found.seen[0].box, found.seen[1].box)
    described = describe_located(matches, config.graph.scale, boxes)
    if not described or config.is_paper:
        return described, matches
    looks = look_at_objects(described, matches, first.picture, second.picture, config.graph.scale)
    return keep_agreeing(described, looks, matches, config.objects.reach)


def list_steps(config: MatchConfig) -> tuple[str, ...]:
    """Name the steps of a match in their order, as the clock does."""
    names = "read", "features", "candidates", "grouping"
    if config.is_paper:
        return *names, "objects"
    return (
        *names,
        *(["views"] if config.view_synthesis else []),
        "details",
        "reversals",
        "pixels",
        "objects",
    )
