"""Search for a thing in the frames of a video, and the stretches in which it is seen."""

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

from matching._common import opencv
from matching._common.types import Bytes
from matching.drivers.pair import match_pair
from matching.grouping.config import MatchConfig, check_config
from matching.objects.description import MatchedObject
from matching.objects.things import Thing
from matching.pictures.images import add_mask, make_picture
from matching.searches.source import ImageSource
from matching.settings import EVERY
from matching.video.reading import open_video

PICTURE_WIDTH = 720  # pixels of the picture of an appearance; wider frames are reduced
MAX_MISSED = 1  # frames in a row that need not show the thing within an appearance
Progress = Callable[[float, float, int], object]


@dataclass(frozen=True, eq=False)
class Sighting:
    """A frame that shows the thing.

    Parameters
    ----------
    frame : int
        The frame's number in the video; the first is 0.
    seconds : float
        The time at which it is shown.
    objects : tuple of MatchedObject
        The objects found; picture 1 is the frame.
    things : tuple of Thing
        The things that the objects show; copies belong to one thing.
    """

    frame: int
    seconds: float
    objects: tuple[MatchedObject, ...]
    things: tuple[Thing, ...] = ()

    @property
    def score(self) -> float:
        """The score of the best object."""
        return max(found.score for found in self.objects)


@dataclass(frozen=True, eq=False)
class Appearance:
    """A stretch of a video in which the thing is seen; single frames in between may not show it.

    Parameters
    ----------
    sightings : tuple of Sighting
        In the order of time.
    picture : (h, w, 3) uint8
        The frame of `best`, reduced in size.
    """

    sightings: tuple[Sighting, ...]
    picture: Bytes

    @property
    def begin(self) -> float:
        """The time at which it is first seen, seconds."""
        return self.sightings[0].seconds

    @property
    def end(self) -> float:
        """The time at which it is last seen, seconds."""
        return self.sightings[-1].seconds

    @property
    def best(self) -> Sighting:
        """The sighting with the highest score; of several, the first."""
        return max(self.sightings, key=lambda sighting: sighting.score)


@dataclass(frozen=True, eq=False)
class VideoResult:
    """Where and when a thing is seen in a video.

    Parameters
    ----------
    appearances : tuple of Appearance
        In the order of time.
    thing : (int, int)
        Width and height of the picture of the thing.
    size : (int, int)
        Width and height of the frames.
    n_features : int
        Number of features of the picture of the thing; if it is 0, the thing can't be found.
    n_frames : int
        Length of the video in frames, as far as the video can be read.
    seconds : float
        Length of the video in seconds, as far as the video can be read.
    n_looked_at : int
        Number of frames that were searched.
    every : float
        Seconds between the frames that were searched.
    ends_early : bool
        Whether less of the video can be read than its header says.
    config : MatchConfig
        The settings.
    """

    appearances: tuple[Appearance, ...]
    thing: tuple[int, int]
    size: tuple[int, int]
    n_features: int
    n_frames: int
    seconds: float
    n_looked_at: int
    every: float
    ends_early: bool
    config: MatchConfig

    @property
    def sightings(self) -> tuple[Sighting, ...]:
        """The frames that show the thing, in their order."""
        return tuple(sighting for found in self.appearances for sighting in found.sightings)

    def __len__(self) -> int:
        """The number of appearances, so that a result without any is false."""
        return len(self.appearances)

    def __repr__(self) -> str:
        n, frames = len(self.appearances), len(self.sightings)
        seen = f"seen {n} time{'' if n == 1 else 's'}, in {frames}" if n else "not seen in any"
        return f"<VideoResult: {seen} of {self.n_looked_at} frames>"


def find_in_video(
    thing: Any,
    video: str | PathLike[str],
    config: MatchConfig = MatchConfig(),
    *,
    every: float = EVERY.default,
    mask: Any = None,
    progress: Progress | None = None,
    **settings: Any,
) -> VideoResult:
    """Find where and when a thing is seen in a video.

    Parameters
    ----------
    thing : path, bytes, binary file, Pillow image, or array (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
        A picture of the thing.
    video : path
        The file of the video.
    config : MatchConfig
        The settings.
    every : float
        Seconds between the frames that are searched.
    mask : like `thing`, of the same size, optional
        White where the picture shows the thing; by default, everywhere.
    progress : callable, optional
        Called as ``progress(seconds, claimed, n_seen)`` after each frame that was searched: its time, the
        length that the header of the video states (0 if none), and the number of frames in which the thing
        was found.
    **settings : object
        Settings that differ from `config`, see `MatchConfig.with_settings`.

    Returns
    -------
    VideoResult
        The result, which is the same for any number of threads.

    Raises
    ------
    InputError
        A ValueError: a file can't be used, is a stream that may not end, or no frame of it can be decoded.
    TypeError
        `config` is not a MatchConfig, or a keyword is not the name of a setting.
    """
    check_config(config)
    config = config.with_settings(**settings)
    every = EVERY.check("every", every)
    shown = add_mask(make_picture(thing, "thing"), mask, "mask")
    source = ImageSource(shown, config)
    appearances: list[Appearance] = []
    n_looked_at = n_seen = n_missed = 0
    with open_video(video) as opened:
        reader = opened.reader
        length = reader.n_frames / reader.rate if reader.rate else 0.0
        for frame in opened.frames(every):
            result = match_pair(source, ImageSource(make_picture(frame.rgb), config))
            n_looked_at += 1
            n_missed += 1
            if result.objects:
                sighting = Sighting(frame.number, frame.seconds, result.objects, result.things)
                last = appearances.pop() if appearances and n_missed <= MAX_MISSED + 1 else None
                if last is None or sighting.score > last.best.score:
                    picture = opencv.resize(frame.rgb, min(PICTURE_WIDTH / frame.rgb.shape[1], 1.0)).copy()
                else:
                    picture = last.picture
                appearances.append(Appearance((*(last.sightings if last else ()), sighting), picture))
                n_seen, n_missed = n_seen + 1, 0
            if progress is not None:
                progress(frame.seconds, length, n_seen)
    return VideoResult(
        appearances=tuple(appearances),
        thing=(shown.width, shown.height),
        size=(reader.width, reader.height),
        n_features=len(source.described.features),
        n_frames=opened.n_frames,
        seconds=opened.seconds,
        n_looked_at=n_looked_at,
        every=every,
        ends_early=opened.ends_early,
        config=config,
    )
