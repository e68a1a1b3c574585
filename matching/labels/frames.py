"""The frames of a video as pictures to label."""

import json
import re
from pathlib import Path

from PIL import Image

from matching.errors import InputError
from matching.output.files import make_folder
from matching.output.folders import compute_digest, write_whole
from matching.pictures.encoding import TRAINING_QUALITY, encode_jpeg
from matching.video.reading import open_video

FRAMES_FOLDER = "frames"  # inside the folder for the labels
MARKER_NAME = "frames.json"  # is written last, and names the video
# also the unfinished files of a run that was killed
FRAME_PATTERN = re.compile(r"frame\d{6,}\.jpg|\.[0-9a-f]{32}\.(jpg|json)|" + re.escape(MARKER_NAME))


def save_frames(video: Path, out: Path, every: float) -> Path:
    """Write a frame of a video every `every` seconds, unless the frames exist; return their folder."""
    folder, source = out / FRAMES_FOLDER, {"content": compute_digest(video), "every": every}
    if folder.exists() and not are_frames(folder):
        raise InputError(f"{folder}: holds other files; choose another --out")
    try:
        kept = json.loads((folder / MARKER_NAME).read_text("utf-8"))
    except FileNotFoundError:  # the frames are not all there
        kept = None
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / MARKER_NAME}: can't be read ({error}); choose another --out") from None
    if kept == source:
        return folder
    if kept is not None:
        raise InputError(
            f"{folder}: has frames of another video, or other frames of this one; choose another --out"
        )
    with open_video(video) as opened:
        make_folder(folder)
        for frame in opened.frames(every):
            jpeg = encode_jpeg(Image.fromarray(frame.rgb), TRAINING_QUALITY)
            write_whole(folder / f"frame{frame.number:06d}.jpg", jpeg)
    write_whole(folder / MARKER_NAME, json.dumps(source).encode())
    return folder


def are_frames(folder: Path) -> bool:
    """Test whether a folder holds only frames, as `save_frames` writes them."""
    named = folder.name == FRAMES_FOLDER and folder.is_dir()
    return named and all(FRAME_PATTERN.fullmatch(path.name) for path in folder.iterdir())
