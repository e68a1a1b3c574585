"""`gdl-match serve`."""

import signal
import socket
from argparse import Namespace
from contextlib import suppress
from typing import Any

from matching._common.optional import import_optional
from matching.cli.arguments import LineParser
from matching.errors import InputError

GRACE_SECONDS = 3  # for open connections when the server stops
KEEP_ALIVE_SECONDS = 60  # of idle connections; after the 5 of uvicorn, a request may meet a closed one


def make_parser() -> LineParser:
    """Make the parser of the command."""
    return LineParser.of_command("serve")


def run(arguments: Namespace) -> int:
    """Run the server until it is interrupted."""
    for name in ("starlette", "uvicorn", "python_multipart"):
        import_optional(name, "the page needs Starlette and uvicorn", "starlette uvicorn python-multipart")
    import uvicorn

    from matching.serve.app import LOCAL_HOSTS, create_app

    is_local = arguments.host in LOCAL_HOSTS
    app = create_app(arguments.max_seconds, LOCAL_HOSTS if is_local else ["*"])
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the server as Ctrl-C does
    waits: Any = {"timeout_graceful_shutdown": GRACE_SECONDS, "timeout_keep_alive": KEEP_ALIVE_SECONDS}
    config = uvicorn.Config(app, log_level="warning", **waits)
    host, port = arguments.host, arguments.port
    try:  # before uvicorn does, which would end the process with several lines of log on failure
        listening = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except (OSError, UnicodeError) as error:  # the latter for impossible names
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--host {host} --port {port}: {reason}") from None
    with listening, suppress(KeyboardInterrupt):
        host, port = listening.getsockname()[:2]
        print(f"http://{f'[{host}]' if ':' in host else host}:{port}/  (Ctrl-C ends it)", flush=True)
        uvicorn.Server(config).run([listening])
    return 0
