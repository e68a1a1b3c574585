"""Taking in two pictures: never more bytes than allowed, and only what begins like a picture that is allowed.

Nothing of what a client says about a file is used but its name, and that only to be shown.
"""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path, PurePosixPath, PureWindowsPath

from PIL import Image, UnidentifiedImageError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request

from matching.decoding import readable_formats
from matching.serve.limits import Refusal

FIELDS = ("image0", "image1")
LONGEST_NAME = 80
DRAINED = 100_000_000  # bytes of a refused upload that are read all the same, so that the client hears why


async def receive(request, folder, limits):
    """Write the two uploads of a request to folder/upload0 and upload1; returns their names.

    Raises Refusal or HTTPException.
    """
    limited = Request(request.scope, _limited(request, limits.upload))
    form = await limited.form(
        max_files=len(FIELDS), max_fields=len(FIELDS)
    )  # HTTPException 400 if it is none
    try:
        files = [form.get(field) for field in FIELDS]
        if not all(isinstance(file, UploadFile) and file.filename for file in files):
            raise Refusal(400, "two pictures are needed, as files image0 and image1")
        names = [shown_name(file.filename) for file in files]
        for k, file in enumerate(files):
            await run_in_threadpool(_store, file.file, folder / f"upload{k}", names[k], limits)
    finally:
        await form.close()
    return names


async def drain(request):
    """Read and forget what is left of a request, up to a bound."""
    left = DRAINED
    while left > 0 and not getattr(request.state, "complete", False):
        message = await request.receive()
        request.state.complete = not message.get("more_body", False)
        left -= len(message.get("body", b""))


def shown_name(name):
    """The last part of a file name that a client sent, without what can't be printed.

    >>> shown_name("C:\\\\me\\\\a.jpg"), shown_name("../../etc/b.png"), shown_name("\\x00")
    ('a.jpg', 'b.png', 'picture')
    """
    last = PurePosixPath(PureWindowsPath(name).name).name
    return "".join(c for c in last if c.isprintable())[-LONGEST_NAME:].strip(". ") or "picture"


def check_picture(path, name, limits):
    """Look at a file's header. Raises Refusal where it is no picture of a usual kind, or one too large."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large pictures: they are refused below
            with Image.open(path, formats=readable_formats()) as image:
                pixels = image.width * image.height
    except Image.DecompressionBombError:
        raise Refusal(413, f"{name}: {_rule(limits)}, this one has many times as many") from None
    except (UnidentifiedImageError, OSError):
        raise Refusal(
            415, f"{name}: is not a picture of a kind that is taken ({', '.join(readable_formats())})"
        ) from None
    except Exception:  # a damaged header can make a reader raise nearly anything
        raise Refusal(415, f"{name}: is a damaged picture") from None
    if pixels > limits.pixels:
        raise Refusal(413, f"{name}: {_rule(limits)}, this one has {pixels / 1e6:.1f}")


def _rule(limits):
    return f"a picture may have at most {limits.pixels / 1e6:g} megapixels"


def _store(source, path, name, limits):
    with Path(path).open("wb") as target:
        shutil.copyfileobj(source, target)
    check_picture(path, name, limits)


def _limited(request, most):
    """The request's receive(), which refuses to go on beyond `most` bytes."""
    refusal = Refusal(413, f"both pictures together may have at most {most / 1e6:g} MB")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise refusal
    taken = 0

    async def receive():
        nonlocal taken
        message = await request.receive()
        request.state.complete = not message.get("more_body", False)
        taken += len(message.get("body", b""))
        if taken > most:
            raise refusal
        return message

    return receive
