"""Damaged picture files, which the command must read or reject with one line."""

import io
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from eval.common.options import peak_megabytes

CODECS = ("png", "jpeg", "tiff", "webp")
DAMAGES = ("truncated", "bit-flipped", "wrong header")
MODES = {  # that a codec knows, besides 16-bit grey; if another mode is drawn, the file is RGB
    "png": ("1", "L", "RGB", "RGBA"),
    "jpeg": ("L", "RGB"),
    "tiff": ("1", "L", "RGB", "RGBA"),
    "webp": ("RGB", "RGBA"),
}
ROOT = Path(__file__).resolve().parents[3]
TIME_LIMIT = 60.0  # seconds for a file
MEMORY_LIMIT = 2_000  # MB for a file


@dataclass(frozen=True)
class Outcome:
    """The outcome of one file: the command's exit status (None if a signal ended it), seconds, peak memory
    in MB, standard error, and what is wrong ("" if nothing is).
    """

    name: str
    status: int | None
    seconds: float
    memory: float
    error: str
    fault: str


def make_damaged_files(picture: NDArray[np.uint8], n: int, seed: int) -> list[tuple[str, bytes]]:
    """n files (name, content) with each codec and damage in turn; the same arguments give the same bytes."""
    files = []
    for k, rng in enumerate(np.random.default_rng(seed).spawn(n)):
        codec, damage = CODECS[k % len(CODECS)], DAMAGES[k // len(CODECS) % len(DAMAGES)]
        content = damage_content(encode(picture, codec, rng), damage, rng)
        files.append((f"{k:03d}-{damage.replace(' ', '-')}.{codec}", content))
    return files


def encode(picture: NDArray[np.uint8], codec: str, rng: np.random.Generator) -> bytes:
    """An intact file, in one of several variants of the codec's format."""
    image = Image.fromarray(picture)
    mode = rng.choice(["1", "L", "RGB", "RGBA", "I;16"])
    if mode == "I;16" and codec in ("png", "tiff"):
        image = Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 200)
    elif mode in MODES[codec]:
        image = image.convert(mode)
    options = {
        "png": {"compress_level": int(rng.integers(1, 10))},
        "jpeg": {"quality": int(rng.integers(30, 96)), "progressive": bool(rng.integers(2))},
        "tiff": {"compression": str(rng.choice(["raw", "tiff_lzw", "tiff_deflate", "packbits"]))},
        "webp": {"quality": int(rng.integers(30, 96)), "lossless": bool(rng.integers(2))},
    }[codec]
    buffer = io.BytesIO()
    image.save(buffer, codec, **options)
    return buffer.getvalue()


def damage_content(content: bytes, damage: str, rng: np.random.Generator) -> bytes:
    """The content of a file with one of DAMAGES."""
    data = np.frombuffer(content, np.uint8).copy()
    if damage == "truncated":
        return data[: rng.integers(len(data))].tobytes()
    if damage == "bit-flipped":
        # a few bits or many, anywhere or near the ends, where headers and directories are
        n = int(2 ** rng.uniform(0, 8))
        reach = int(rng.choice([64, 400, len(data)]))
        at = rng.integers(0, min(reach, len(data)), n)
        at = len(data) - 1 - at if rng.random() < 0.3 else at
        data[at] ^= (1 << rng.integers(0, 8, n)).astype(np.uint8)
        return data.tobytes()
    heads = (
        b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0\x00\x10JFIF", b"II*\x00\x08\x00\x00\x00", b"MM\x00*",
        b"RIFF\xff\xff\xff\x7fWEBPVP8 ", b"#?RADIANCE\n", b"GIF89a", b"BM", b"P6\n99999 99999\n255\n",
        b"\x00\x00\x00\x18ftypheic", b"\x00\x00\x00 ftypavif", b"\x00\x00\x00\x0cjP  ", b"",
    )  # fmt: skip
    head = heads[rng.integers(len(heads))] or rng.bytes(int(rng.integers(1, 40)))
    return head + data[len(head) * int(rng.integers(2)) :].tobytes()


def check(name: str, content: bytes, other: Path) -> Outcome:
    """Run the command on a file and another picture, in a separate process. Needs Linux or macOS."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as told:
        path, out = Path(folder, name), Path(folder, "out")
        path.write_bytes(content)
        options = ["--out", str(out), "--quiet", "--no-figure"]
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "eval.matching.command", str(path), str(other), *options],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=told,
        )
        status, usage = _wait(process, start + TIME_LIMIT)
        seconds, memory = time.perf_counter() - start, peak_megabytes(usage)
        told.seek(0)
        error = told.read().decode(errors="replace")
        fault = _fault(status, seconds, memory, error, out, path)
        return Outcome(name, status if status >= 0 else None, seconds, memory, error, fault)


def _wait(process, deadline):
    """The exit status and resource usage of a process, which is killed at the deadline."""
    while True:
        pid, code, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(code)
            return process.returncode, usage
        if time.perf_counter() > deadline:
            process.kill()
            deadline = math.inf
        time.sleep(0.005)


def _fault(status, seconds, memory, error, out, path):
    """What is wrong with the way the command ended; "" if nothing is."""
    lines = error.splitlines()
    if "Traceback" in error:
        return "traceback"
    if seconds > TIME_LIMIT:
        return "hang"
    if status not in (0, 1, 2):
        return f"ended by signal {-status}" if status < 0 else f"exit status {status}"
    if memory > MEMORY_LIMIT:
        return f"{memory:.0f} MB"
    if status == 2 and not (len(lines) == 1 and path.name in error):
        return f"{len(lines)} lines that don't name the file" if lines else "no reason given"
    if status == 2 and out.exists():
        return "left an output folder"
    if status != 2 and lines:
        return "unexpected output on standard error"
    return ""
