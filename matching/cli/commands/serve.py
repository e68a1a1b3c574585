"""`gdl-match serve`."""

import argparse
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, cast

from matching._common.optional import import_optional
from matching.cli.arguments import LineParser, add_setting, count_setting
from matching.cli.exits import exit_status
from matching.errors import InputError
from matching.serve.limits import Limits
from matching.settings import Setting

DESCRIPTION = """\
Serve a web page on this machine: drop two pictures, see the objects that both show. Uploads are deleted as
soon as they are read, results after a quarter of an hour. There is no log-in: use --host only on a network
that you trust."""
MEGA = 10**6
BACKLOG = 128  # connections that the system holds until the server takes them
FILES_A_CONNECTION = 5  # open files that a connection may need: its socket, two uploads twice, and a reserve
GRACE_SECONDS = 6  # after this time, the server ends in any case; connections are cut earlier


def main(argv: Sequence[str] | None = None) -> int:
    """Run the server until it is interrupted."""
    return exit_status("gdl-match serve", lambda: _serve(argv))


def _serve(argv: Sequence[str] | None) -> int:
    with suppress(KeyboardInterrupt):
        _run_server(make_parser().parse_args(argv))
    return 0


def make_parser() -> LineParser:
    """Make the parser of the command."""
    parser = LineParser(prog="gdl-match serve", description=DESCRIPTION)
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="HOST", help="address to listen on (default: 127.0.0.1)"
    )
    add_setting(parser, "port", Setting(8765, 0, 65535, symbol="PORT", text="port, 0 for any free one"))
    for name, default, text in (
        ("max_upload", Limits.upload // MEGA, "largest size of both pictures together, megabytes"),
        ("max_pixels", Limits.pixels // MEGA, "largest size of a picture, megapixels"),
        ("jobs", Limits.jobs, "matches that run at a time"),
        ("queue", Limits.queue, "matches that may wait"),
        ("max_seconds", int(Limits.match_seconds), "seconds a match may take"),
    ):
        add_setting(parser, name, count_setting(default, text))
    return parser


def _run_server(arguments: argparse.Namespace) -> None:
    for name in ("fastapi", "uvicorn", "python_multipart"):
        import_optional(name, "the page needs FastAPI", "serve")
    import uvicorn

    from matching.serve.app import LOOPBACK, create_app
    from matching.serve.connections import limited_protocol
    from matching.serve.logs import log_sparingly

    limits = Limits(
        upload=arguments.max_upload * MEGA,
        pixels=arguments.max_pixels * MEGA,
        jobs=arguments.jobs,
        queue=arguments.queue,
        match_seconds=arguments.max_seconds,
        connections=_connections(),
    )
    app = create_app(limits, LOOPBACK if arguments.host in (*LOOPBACK, "::1") else ("*",))
    log_sparingly()
    listening = _listening(arguments)
    config = uvicorn.Config(
        app,
        http=cast("Any", limited_protocol(limits)),  # documented as a class, but used as a function
        ws="none",
        loop="asyncio",
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    host, port = listening.getsockname()[:2]
    print(f"http://{f'[{host}]' if ':' in host else host}:{port}/  (Ctrl-C ends it)", flush=True)
    uvicorn.Server(config).run([listening])


def _connections() -> int:
    """The largest number of connections: fewer than usual if the system allows only few open files."""
    most = Limits.connections
    if find_spec("resource") is None:  # Windows
        return most
    import resource

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return most if files == resource.RLIM_INFINITY else max(min(most, files // FILES_A_CONNECTION), 1)


def _listening(arguments: argparse.Namespace) -> socket.socket:
    """A listening socket; if that failed inside uvicorn, the process would end with several lines of log."""
    listening = None
    try:
        listening = socket.socket(socket.AF_INET6 if ":" in arguments.host else socket.AF_INET)
        if os.name == "posix":  # on Windows, this would let two servers share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((arguments.host, arguments.port))
        listening.listen(BACKLOG)  # if two servers start at once on one port, only this fails
        return listening
    except (OSError, UnicodeError, TypeError) as error:  # invalid names raise the last two
        if listening is not None:
            listening.close()
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--host {arguments.host} --port {arguments.port}: {reason}") from None
