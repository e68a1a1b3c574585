"""The script of a process that reads headers of pictures or matches pictures, separate from the server.

So a file that breaks a decoder, or makes it use up all memory or time, breaks nothing else. Requests are
lines of JSON on standard input, and messages are lines of JSON on standard output: "ready" once, then for
each request "begun", "stage" whenever a stage ends (the next one, stages done, all stages), and "answer" or
"failed". No module of the package is imported at the top, because `matching` takes a second and 150 MB to
load.
"""

import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

LONGEST_TRACEBACK = 8000  # characters that are sent; the server reads lines of up to 64 kB
# texts in errors of OpenCV, and in those of loading a library
OUT_OF_MEMORY = ("Insufficient memory", "bad_alloc", "failed to map segment")

Tell = Callable[..., None]


def main(role: str, memory: str) -> None:
    """Carry out requests until standard input ends."""
    _limit("RLIMIT_AS", int(memory))
    _limit("RLIMIT_CORE", 0)  # a core file would contain the pictures
    tell = partial(_tell, os.dup(1))
    os.dup2(2, 1)  # the output of libraries must not mix with the messages
    carry_out = _match_role() if role == "match" else _check_role()
    tell(ready=True)
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        for descriptor in (1, 2):  # decoders report damage there; our errors are sent
            os.dup2(nowhere.fileno(), descriptor)
    for line in sys.stdin.buffer:
        tell(begun=True)
        try:
            request = json.loads(line)
            _limit_processor_time(request.pop("seconds"))
            tell(answer=carry_out(tell, **request))
        except Exception as error:
            tell(failed="memory" if is_out_of_memory(error) else traceback.format_exc()[-LONGEST_TRACEBACK:])


def is_out_of_memory(error: BaseException | None) -> bool:
    """Test whether an error, or an error that led to it, says that memory ran out."""
    while error is not None:
        if isinstance(error, MemoryError) or any(words in str(error) for words in OUT_OF_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def check(tell: Tell, path: str, name: str, pixels: int) -> tuple[int, str] | None:
    """Check from the header of a file that it is a picture of a known kind, and not too large."""
    from PIL import Image, UnidentifiedImageError

    from matching.pictures.formats import readable_formats, reads_heic

    kinds = ", ".join([*readable_formats(), *(["HEIC"] if reads_heic() else [])])
    rule = f"a picture may have at most {pixels / 1e6:g} megapixels"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those about large pictures, which are refused below
            width, height = _read_size(path)
            size = width * height
    except MemoryError:
        raise
    except Image.DecompressionBombError:
        return 413, f"{name}: {rule}; this one has far more"
    except FileNotFoundError:
        return 503, f"{name}: the server has lost this picture; try again"
    except (UnidentifiedImageError, OSError):
        return 415, f"{name}: is not a picture in a supported format ({kinds})"
    except Exception:  # a damaged header can make a reader raise nearly anything
        return 415, f"{name}: is a damaged picture"
    return (413, f"{name}: {rule}; this one has {size / 1e6:.1f}") if size > pixels else None


def _read_size(path: str) -> tuple[int, int]:
    from PIL import Image

    from matching.pictures.formats import HEIF, readable_formats, reads_heic

    with open(path, "rb") as file:  # noqa: PTH123
        is_heic = HEIF.match(file.read(16))
    if is_heic and reads_heic():
        import pillow_heif

        width, height = pillow_heif.open_heif(path).size
        return int(width), int(height)
    with Image.open(path, formats=readable_formats()) as image:
        return image.size


def _check_role() -> Callable[..., tuple[int, str] | None]:
    """Return `check` after loading its modules, so that only the reading of a header takes time."""
    from PIL import Image

    from matching.pictures.formats import reads_heic

    Image.init()
    reads_heic()
    return check


def _match_role() -> Callable[..., dict[str, Any]]:
    from matching._common.parent_watchdog import end_with
    from matching.serve.uploaded_pictures import match_uploads

    end_with(os.getppid())
    return match_uploads


def _tell(descriptor: int, **message: Any) -> None:
    os.write(descriptor, json.dumps(message).encode() + b"\n")


def _limit(name: str, value: int) -> None:
    """Set a limit of this process if the system has it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    kind = getattr(resource, name)
    most = resource.getrlimit(kind)[1]
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(kind, (value, most))


def _limit_processor_time(seconds: float) -> None:
    """End this process if it computes longer than the server waits, in case the server does not end it."""
    used = sum(os.times()[:2])
    _limit("RLIMIT_CPU", int(used + seconds * (os.cpu_count() or 1)) + 2)


if __name__ == "__main__":
    main(*sys.argv[1:])
