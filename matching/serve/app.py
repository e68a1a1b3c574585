"""The web application: one person uploads pictures, and sees what they have in common."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path, PurePath, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from matching.errors import InputError
from matching.serve.matches import Match, Matches
from matching.settings import MAX_MATCHES, MAX_PIXELS, MIRRORED, VIEW_SYNTHESIS

REQUEST_SETTINGS = {  # settings that the address of a request may contain
    "max_pixels": MAX_PIXELS,
    "max_matches": MAX_MATCHES,
    "mirrored": MIRRORED,
    "view_synthesis": VIEW_SYNTHESIS,
}
LOCAL_HOSTS = "127.0.0.1", "localhost"
PICTURES_NEEDED = "one or two pictures are needed, as files image0 and image1 of a multipart/form-data body"


def create_app(max_seconds: float, hosts: Sequence[str] = LOCAL_HOSTS) -> Starlette:
    """Make the application, for one person: nobody else can guess the address of a match.

    Parameters
    ----------
    max_seconds : float
        Time after which a match is stopped.
    hosts : sequence of str
        Names by which the server may be called, so that no other site can make a browser read its answers
        under a name of its own; "*" for any.

    Returns
    -------
    Starlette
        The application.
    """

    @asynccontextmanager
    async def run_matches(app: Starlette) -> AsyncIterator[None]:
        with TemporaryDirectory(prefix="gdl-match-serve-", ignore_cleanup_errors=True) as folder:
            app.state.matches = Matches(Path(folder), max_seconds)
            try:
                yield
            finally:
                await app.state.matches.close()

    pages = StaticFiles(
        packages=[("matching.serve", "static"), ("matching.output.html", "templates")], html=True
    )
    return Starlette(
        routes=[
            Route("/matches", _submit, methods=["POST"]),
            Route("/matches/{number}", _report_status, methods=["GET"]),
            Route("/matches/{number}", _delete, methods=["DELETE"]),
            Route("/matches/{number}/{name}", _download),
            Mount("/", pages),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts)],
        exception_handlers={HTTPException: _refuse},
        lifespan=run_matches,
    )


async def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _submit(request: Request) -> Response:
    settings = read_settings(request.query_params)
    async with request.form(max_files=2, max_fields=0) as form:
        uploads = [form[field] for field in ("image0", "image1") if field in form]
        files = [file for file in uploads if isinstance(file, UploadFile)]
        if not files or len(files) < len(uploads):
            raise HTTPException(400, PICTURES_NEEDED)
        if len(files) == 1 and settings.get("view_synthesis"):
            raise HTTPException(400, "view_synthesis needs two pictures")
        contents = [await file.read() for file in files]
    matches = request.app.state.matches
    match = matches.add([clean_name(file.filename or "") for file in files], contents, settings)
    return JSONResponse(matches.describe(match), 202)


async def _report_status(request: Request) -> Response:
    return JSONResponse(request.app.state.matches.describe(_find(request)))


async def _delete(request: Request) -> Response:
    await request.app.state.matches.remove(_find(request))
    return Response(status_code=204)


async def _download(request: Request) -> Response:
    match, name = _find(request), request.path_params["name"]
    if name not in match.message.get("files", ()):
        raise HTTPException(404, "there is no such file")
    return FileResponse(
        match.folder / name,
        filename=name_download(match.names, name),
        content_disposition_type="inline" if name.endswith(".html") else "attachment",
    )


def _find(request: Request) -> Match:
    match: Match | None = request.app.state.matches.by_id.get(request.path_params["number"])
    if match is None:
        raise HTTPException(404, "there is no such match, or it has been deleted")
    return match


def read_settings(query: Mapping[str, str]) -> dict[str, Any]:
    """Read the settings of a match from the query of an address."""
    settings: dict[str, Any] = {}
    for name, text in query.items():
        if name not in REQUEST_SETTINGS:
            known = ", ".join(REQUEST_SETTINGS)
            raise HTTPException(400, f"{name}: there is no such setting; the settings are {known}")
        try:
            settings[name] = REQUEST_SETTINGS[name].parse(text)
        except InputError as error:
            raise HTTPException(400, f"{name} {error}") from None
    return settings


def clean_name(name: str) -> str:
    """Return the last part of a file name that a client sent, without unprintable characters."""
    last = PureWindowsPath(name).name  # takes / and \ as separators
    return "".join(c for c in last if c.isprintable()).strip(". ") or "picture"


def name_download(names: Sequence[str], name: str) -> str:
    """Name a download of a result file after the pictures."""
    return "-".join([*(PurePath(picture).stem for picture in names), name])
