"""What matching needs to know about a picture: its features, at its working size and at its full size."""

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from matching._common.once import once
from matching._common.types import Floats, Ints
from matching.features.details import extract_details
from matching.features.extraction import Features, extract_features
from matching.features.views import ViewedPicture
from matching.grouping.config import MatchConfig
from matching.pictures.images import Picture, WorkingImage, make_working_image
from matching.searches.pixels.frames import Frame

ENLARGED = 2  # factor by which small pictures are enlarged, to describe one more octave

N_LARGEST = 100  # features that a cheap test looks for in another picture; see `matching.searches.reversals`


@dataclass(frozen=True, eq=False)
class DescribedPicture:
    """All that matching needs to know about a picture; it can be reused for further pairs."""

    features: Features  # in working pixels
    step: Floats  # (2,), pixels of the picture per working pixel, in x and y
    digest: bytes  # SHA-256 of working pixels and mask
    box: Floats  # (2, 2), least and greatest x and y of the picture, or of what its mask shows
    size: Ints  # (2,), width and height of the picture

    @property
    def megapixels(self) -> float:
        """The size at which the picture is described; enlarging a picture adds no megapixels."""
        return float(np.prod(self.size / np.maximum(self.step, 1))) / 1e6


def describe_picture(picture: Picture, config: MatchConfig = MatchConfig()) -> DescribedPicture:
    """Extract the features of a picture: the part of a match that does not depend on the other picture."""
    image = make_working_image(picture, config.first_pixels)
    features = extract_features(image.grey, config.features, image.mask)
    return DescribedPicture(features, image.step, _digest(image), picture.box, picture.size)


def describe_details(picture: Picture, described: DescribedPicture, config: MatchConfig) -> DescribedPicture:
    """Extract the features of the fine octaves of a picture, which `describe_picture` leaves out."""
    if is_larger(described, config):
        image = make_working_image(picture, config.max_pixels)
        step = described.step / image.step
        features = extract_details(image.grey, image.mask, described.features, step, config.features)
    else:
        image = make_working_image(picture, config.first_pixels, ENLARGED)
        features = extract_features(image.grey, config.features, image.mask)
    return replace(described, features=features, step=image.step)


def prepare_views(picture: Picture, config: MatchConfig) -> ViewedPicture:
    """Prepare a picture for views, with the pixels and the mask that `describe_picture` works on."""
    image = make_working_image(picture, config.first_pixels)
    return ViewedPicture(image.grey, image.mask, config.features)


class ImageSource:
    """A picture, and what matching needs to know about it: each part is computed once, when it is needed."""

    def __init__(self, picture: Picture, config: MatchConfig = MatchConfig()) -> None:
        self.picture, self.config = picture, config

    @once
    def described(self) -> DescribedPicture:
        """The features at the working size."""
        return describe_picture(self.picture, self.config)

    @once
    def largest(self) -> Features:
        """The N_LARGEST largest features, for tests that are cheap enough for every pair."""
        features = self.described.features
        return features[np.sort(np.argsort(-features.radius, kind="stable")[:N_LARGEST])]

    @once
    def details(self) -> DescribedPicture:
        """The features at the full size, or at twice the size of a small picture."""
        return describe_details(self.picture, self.described, self.config)

    @once
    def frame(self) -> Frame:
        """The whole picture, reduced, to be registered with others."""
        return Frame(self.picture)

    @once
    def views(self) -> ViewedPicture:
        """The picture as it is prepared for simulated views."""
        return prepare_views(self.picture, self.config)


def is_larger(described: DescribedPicture, config: MatchConfig) -> bool:
    """Test whether a picture is larger than its working size, so that it may be matched at its full size."""
    return min(int(described.size.prod()), config.max_pixels) > config.first_pixels


def is_small(described: DescribedPicture, config: MatchConfig = MatchConfig()) -> bool:
    """Test whether a picture is so small that it can be enlarged."""
    return int(described.size.prod()) * ENLARGED**2 <= config.first_pixels


def _digest(image: WorkingImage) -> bytes:
    """Compute the SHA-256 of the pixels and the mask of a picture at its working size."""
    digest = hashlib.sha256(repr((image.grey.shape, image.mask is None)).encode())
    digest.update(np.ascontiguousarray(image.grey).data)
    if image.mask is not None:
        digest.update(np.ascontiguousarray(image.mask).data)
    return digest.digest()
