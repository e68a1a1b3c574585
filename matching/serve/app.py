"""The web application."""

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any, BinaryIO
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from matching._version import __version__
from matching.errors import InputError
from matching.serve.jobs import Jobs
from matching.serve.limits import Limits, Refusal
from matching.serve.uploads import clean_name, drain, receive
from matching.settings import MAX_MATCHES, MAX_PIXELS, MIRRORED, VIEW_SYNTHESIS

KINDS = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "json": "application/json",
    "png": "image/png",
    "jpg": "image/jpeg",
    "csv": "text/csv",
    "xml": "application/xml",
    "zip": "application/zip",
}
SETTINGS = {  # settings that the address of a request may contain
    "max_pixels": MAX_PIXELS,
    "max_matches": MAX_MATCHES,
    "mirrored": MIRRORED,
    "view_synthesis": VIEW_SYNTHESIS,
}
OWN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'"
)
PAGE_POLICY = f"{OWN}; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
# The report's script is in its page. The page has an opaque origin, so the script can reach nothing here.
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; img-src data:; style-src 'unsafe-inline';"
    " script-src 'unsafe-inline'; frame-ancestors 'self'"
)
CHUNK = 64 * 1024  # bytes of a file that are sent at a time
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
log = logging.getLogger("gdl-match.serve")


def create_app(limits: Limits | None = None, hosts: Sequence[str] = LOOPBACK) -> FastAPI:
    """Make the application."""
    limits = limits or Limits()
    jobs = Jobs(limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with jobs.running():
            yield

    app = FastAPI(
        title="gdl-match",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    app.exception_handler(Refusal)(_refuse)
    app.exception_handler(HTTPException)(_refuse_as_told)
    for lack in (OSError, MemoryError):  # a full disk, too many open files
        app.exception_handler(lack)(_refuse_for_lack)
    _add_page(app, limits)
    _add_matches(app, jobs, limits)
    return app


async def _refuse(request: Request, refusal: Refusal) -> Response:
    headers = dict(refusal.headers)
    if refusal.status == 408:  # the client is too slow to wait for the rest
        headers["Connection"] = "close"
    else:
        await drain(request)
    return JSONResponse({"error": refusal.reason}, refusal.status, headers)


async def _refuse_as_told(request: Request, error: HTTPException) -> Response:
    return await _refuse(request, Refusal(error.status_code, error.detail, error.headers))


async def _refuse_for_lack(request: Request, error: OSError | MemoryError) -> Response:
    reason = getattr(error, "strerror", None) or "not enough memory"
    log.warning("a request was refused: %s", reason)
    return await _refuse(request, Refusal(503, f"the server is out of resources ({reason}); try again later"))


def _add_page(app: FastAPI, limits: Limits) -> None:
    own = files("matching.serve").joinpath("static")
    names = ("index.html", "page.js", "page.css", "sample0.jpg", "sample1.jpg")
    pages = {name: own.joinpath(name) for name in names}
    pages["style.css"] = files("matching.output.html").joinpath("templates", "style.css")
    for name, file in pages.items():
        answer = _constant(file.read_bytes(), KINDS[name.rsplit(".", 1)[1]])
        app.get("/" if name == "index.html" else f"/{name}")(answer)

    @app.get("/limits", response_model=None)
    async def tell_limits() -> dict[str, float]:
        return {"upload": limits.upload, "pixels": limits.pixels, "keep_seconds": limits.keep_seconds}


def _constant(content: bytes, kind: str) -> Callable[[], Awaitable[Response]]:
    async def answer() -> Response:
        return Response(content, media_type=kind, headers=_headers(PAGE_POLICY))

    return answer


def _headers(policy: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }


def _add_matches(app: FastAPI, jobs: Jobs, limits: Limits) -> None:
    @app.post("/matches", status_code=202, response_model=None)
    async def submit(request: Request) -> dict[str, Any]:
        _check_origin(request)
        async with jobs.slot() as job:
            job.settings = read_settings(request.query_params)
            job.names = await receive(request, job.folder, limits, job.upload)
            if len(job.names) == 1 and job.settings.get("view_synthesis"):
                raise Refusal(400, "view_synthesis needs two pictures")
            for k, name in enumerate(job.names):
                await jobs.check(job.folder / f"upload{k}", name)
        return jobs.status(job)

    @app.get("/matches/{number}", response_model=None)
    async def status(number: str) -> dict[str, Any]:
        return jobs.status(jobs.find(number))

    @app.delete("/matches/{number}", status_code=204, response_model=None)
    async def delete(number: str, request: Request) -> None:
        _check_origin(request)
        jobs.forget(jobs.find(number).id)

    @app.get("/matches/{number}/{name}")
    async def download(number: str, name: str) -> Response:
        job = jobs.find(number)
        if job.state != "done" or name not in job.files:
            raise Refusal(404, "there is no such file")
        return _file(job.folder / name, name_download(job.names, name))

    @app.get("/health")
    async def health() -> Response:
        told = jobs.health()
        return JSONResponse(told, 200 if told["healthy"] else 503, headers={"Cache-Control": "no-store"})


def read_settings(asked: Mapping[str, str]) -> dict[str, Any]:
    """Read the settings of a match from the address of a request."""
    settings: dict[str, Any] = {}
    for name, text in asked.items():
        if name not in SETTINGS:
            raise Refusal(
                400, f"{clean_name(name)}: there is no such setting; the settings are {', '.join(SETTINGS)}"
            )
        declared = SETTINGS[name]
        if isinstance(declared.default, bool):
            if text not in ("0", "1"):
                raise Refusal(400, f"{name} must be 0 or 1, got {text!r}")
            settings[name] = text == "1"
            continue
        try:
            settings[name] = declared.parse(text)
        except InputError as error:
            raise Refusal(400, f"{name} {error}") from None
    return settings


def name_download(names: Sequence[str], name: str) -> str:
    """Name a download of a result file after the pictures."""
    return "-".join([*(PurePath(picture).stem for picture in names), name])


def _file(path: Path, shown: str) -> Response:
    """A file as an answer, named `shown`; it is opened first, so that a failure can be reported."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise Refusal(404, "there is no such file") from None
    try:
        size = os.fstat(file.fileno()).st_size
    except BaseException:
        file.close()
        raise
    where = "inline" if path.suffix == ".html" else "attachment"
    called = f"filename=\"{path.name}\"; filename*=UTF-8''{quote(shown, safe='')}"
    disposition = {"Content-Length": str(size), "Content-Disposition": f"{where}; {called}"}
    kind = KINDS.get(path.suffix[1:], "application/octet-stream")
    return _OpenFile(file, media_type=kind, headers={**_headers(REPORT_POLICY), **disposition})


class _OpenFile(StreamingResponse):
    """The content of an open file, which is closed afterwards, even if the client goes away."""

    def __init__(self, file: BinaryIO, **options: Any) -> None:
        super().__init__(iter(partial(file.read, CHUNK), b""), **options)
        self.file = file

    async def __call__(self, *arguments: Any) -> None:
        try:
            await super().__call__(*arguments)
        finally:
            self.file.close()


def _check_origin(request: Request) -> None:
    """Raise Refusal for requests from pages of other sites, by the origin that browsers state."""
    origin, host = request.headers.get("origin"), request.headers.get("host")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        raise Refusal(403, "requests from other sites are not accepted")
