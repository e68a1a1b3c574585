"""The web application."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from importlib.resources import files
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect

from matching._version import __version__
from matching.serve.jobs import Jobs
from matching.serve.limits import Limits, Refusal
from matching.serve.uploads import drain, receive
from matching.serve.worker import FILES

KINDS = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "json": "application/json",
    "png": "image/png",
}
OWN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'"
)
PAGE_POLICY = f"{OWN}; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
# The report's script stands in the page. Its origin is nobody's, so it can reach nothing here.
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; img-src data:; style-src 'unsafe-inline';"
    " script-src 'unsafe-inline'; frame-ancestors 'self'"
)
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def create_app(limits=None, hosts=LOOPBACK):
    """The application.

    limits : Limits
    hosts : names by which it may be addressed, ("*",) for any. Others are refused, so that no page elsewhere
        can reach a local server by a name of its own.
    """
    limits = limits or Limits()
    jobs = Jobs(limits)

    @asynccontextmanager
    async def lifespan(_):
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
    app.add_exception_handler(Refusal, _refuse)
    app.add_exception_handler(HTTPException, _refuse_as_told)
    _add_page(app, limits)
    _add_matches(app, jobs, limits)
    return app


async def _refuse(request, refusal):
    await drain(request)
    return JSONResponse({"error": refusal.reason}, refusal.status, refusal.headers)


async def _refuse_as_told(request, error):
    return await _refuse(request, Refusal(error.status_code, error.detail, error.headers))


def _add_page(app, limits):
    static = {
        "": ("matching.serve", "static/index.html"),
        "page.js": ("matching.serve", "static/page.js"),
        "page.css": ("matching.serve", "static/page.css"),
        "style.css": ("matching.html", "templates/style.css"),
    }
    for name, (package, path) in static.items():
        text = files(package).joinpath(path).read_text("utf-8")
        app.get(f"/{name}")(_constant(text, KINDS[path.rsplit(".", 1)[1]]))

    @app.get("/limits")
    async def tell_limits():
        return {"upload": limits.upload, "pixels": limits.pixels, "keep_seconds": limits.keep_seconds}


def _constant(text, kind):
    async def answer():
        return Response(text, media_type=kind, headers=_headers(PAGE_POLICY))

    return answer


def _headers(policy):
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }


def _add_matches(app, jobs, limits):
    @app.post("/matches", status_code=202)
    async def submit(request: Request):
        _check_origin(request)
        async with jobs.slot() as job:
            try:
                async with asyncio.timeout(limits.upload_seconds):
                    job.names = await receive(request, job.folder, limits)
            except TimeoutError:
                raise Refusal(408, f"the upload took more than {limits.upload_seconds:g} s") from None
            except ClientDisconnect:  # nobody hears it
                raise Refusal(400, "the upload broke off") from None
        return jobs.status(job)

    @app.get("/matches/{number}")
    async def status(number: str):
        return jobs.status(jobs.find(number))

    @app.delete("/matches/{number}", status_code=204)
    async def delete(number: str, request: Request):
        _check_origin(request)
        if jobs.find(number).state == "running":
            raise Refusal(409, "the match is running; it can be deleted when it has ended")
        jobs.forget(number)

    @app.get("/matches/{number}/{name}")
    async def download(number: str, name: str):
        job = jobs.find(number)
        if job.state != "done" or name not in FILES or not (job.folder / name).is_file():
            raise Refusal(404, "there is no such file")
        kind = KINDS.get(name.rsplit(".", 1)[1], "application/octet-stream")
        where = "inline" if name.endswith(".html") else "attachment"
        return FileResponse(
            job.folder / name,
            media_type=kind,
            filename=name,
            content_disposition_type=where,
            headers=_headers(REPORT_POLICY),
        )


def _check_origin(request):
    """Raises Refusal for what another site's page sends: browsers name the page's origin."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise Refusal(403, "requests from other sites are not taken")
