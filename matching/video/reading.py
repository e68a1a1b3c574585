"""Reading the frames of a video, one for each interval of time."""

import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from matching._common.opencv import VideoReader
from matching._common.types import Bytes
from matching.errors import InputError, OneLineErrors
from matching.pictures.decoding import HEAD_BYTES, MAX_PIXELS
from matching.pictures.names import check_name


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame of a video."""

    number: int  # from 0
    seconds: float  # when it is shown
    rgb: Bytes  # (h, w, 3)


@dataclass(eq=False)
class Video:
    """An open video, and the length that has been read."""

    path: Path
    reader: VideoReader
    n_frames: int = 0  # frames read so far
    seconds: float = 0.0  # time of the last frame read

    @property
    def ends_early(self) -> bool:
        """True if at least a tenth of the frames that the header declares can't be read."""
        return self.n_frames < 0.9 * self.reader.n_frames

    def frames(self, every: float) -> Iterator[Frame]:
        """Read on, yielding the first frame in each interval of `every` seconds; there must be one."""
        last_interval, last = -np.inf, -np.inf
        while (seconds := self.reader.skip()) is not None:
            if seconds <= last:  # the file has no times, or wrong times
                seconds = last + 1 / (self.reader.rate or 25.0)
            number, last = self.n_frames, seconds
            self.n_frames, self.seconds = number + 1, max(seconds, 0.0)
            interval = _count_intervals(seconds, every)
            if interval <= last_interval:
                continue
            rgb = self.reader.decode()
            if rgb is None:
                continue
            last_interval = interval
            yield Frame(number, self.seconds, rgb)
        if last_interval == -np.inf:
            text = f"no frame of it can be decoded (codec {self.reader.codec or 'unknown'})"
            raise InputError(f"{self.path}: {text}; convert it, for example to H.264")


def _count_intervals(seconds: float, every: float) -> int:
    """Count the whole intervals of `every` seconds in a time, which may be off by rounding errors."""
    nearest = round(seconds / every)
    return nearest if math.isclose(seconds, nearest * every) else math.floor(seconds / every)


@contextmanager
def open_video(path: str | PathLike[str]) -> Iterator[Video]:
    """Open a video; raise InputError if it can't be read, or never ends."""
    check_name(path)
    path = Path(path)
    with OneLineErrors(path, "can't be opened"), path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise InputError(f"{path}: is empty")
    if head.lstrip().startswith((b"#EXTM3U", b"<")):  # a list of other files, which FFmpeg reads
        raise InputError(f"{path}: is a playlist of a stream, not a video: download the video first")
    with closing(VideoReader(path)) as reader:
        if not reader.is_open or not reader.width * reader.height:
            raise InputError(f"{path}: damaged video, or in a format that can't be read")
        if reader.width * reader.height > MAX_PIXELS:
            raise InputError(
                f"{path}: a frame may have at most {MAX_PIXELS // 10**6} megapixels;"
                f" the frames of this video have {reader.width * reader.height / 1e6:.1f}"
            )
        yield Video(path, reader)
