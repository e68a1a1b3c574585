"""Connections that stall, that are many, or that are open when the server ends; and what the log says."""

import io
import logging
import socket
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest
from patience import PATIENCE

pytest.importorskip("fastapi", reason="the page needs FastAPI")
httpx = pytest.importorskip("httpx", reason="the tests of the page need httpx")
uvicorn = pytest.importorskip("uvicorn")

from matching.cli.commands.serve import main  # noqa: E402
from matching.serve import connections, logs, uploads  # noqa: E402
from matching.serve.app import create_app  # noqa: E402
from matching.serve.connections import limited_protocol  # noqa: E402
from matching.serve.limits import Limits  # noqa: E402

FORM = b"Content-Length: 1000\r\nContent-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"


class Running:
    """A server in a thread of this process."""

    def __init__(self, limits):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = self.listening.getsockname()
        self.base = f"http://127.0.0.1:{self.address[1]}"
        config = uvicorn.Config(
            create_app(limits), http=limited_protocol(limits), ws="none", loop="asyncio", log_config=None,
            timeout_graceful_shutdown=PATIENCE,
        )  # fmt: skip
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.listening],))
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def open(self, stack, sent=b""):
        connection = stack.enter_context(socket.create_connection(self.address, timeout=PATIENCE))
        connection.sendall(sent)
        return connection

    def post_head(self):
        return b"POST /matches HTTP/1.1\r\nHost: 127.0.0.1\r\n" + FORM

    def end(self):
        self.server.should_exit = True
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


@contextmanager
def running(**limits):
    server = Running(Limits(**limits))
    try:
        yield server
    finally:
        server.end()


def rest_of(connection):
    """What comes until the server closes the connection, however it does that."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"], ids=["nothing", "half"])
def test_a_header_that_does_not_come_is_not_waited_for(sent):
    with running(header_seconds=0.2) as server, ExitStack() as stack:
        assert rest_of(server.open(stack, sent)) == b""


def test_a_second_header_that_does_not_come_is_not_waited_for():
    with running(header_seconds=0.2) as server, ExitStack() as stack:
        whole = b"GET /limits HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        connection = server.open(stack, whole + whole[:20])
        assert rest_of(connection).count(b"HTTP/1.1 200") == 1


def test_an_upload_that_stands_still_is_refused(quick_workers):
    with running(stall_seconds=1.0, queue=1) as server, ExitStack() as stack:
        connection = server.open(stack, server.post_head())
        answer = rest_of(connection)
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"stalled for more than 1 s" in answer
        files = {f"image{k}": ("a.png", b"12") for k in range(2)}
        assert httpx.post(f"{server.base}/matches", files=files).status_code == 202


def test_an_upload_in_drops_is_refused(quick_workers):
    with running(upload_seconds=0.3) as server, ExitStack() as stack:
        connection = server.open(stack, server.post_head())
        connection.settimeout(0.02)
        answer = b""
        while b"{" not in answer:
            try:
                answer += connection.recv(65536)
            except TimeoutError:
                connection.sendall(b".")
        assert b"the upload took more than 0.3 s" in answer


def test_uploads_that_drip_make_room_for_others(quick_workers, monkeypatch):
    files = {f"image{k}": ("a.png", b"12") for k in range(2)}

    def post(server):
        return httpx.post(f"{server.base}/matches", files=files, timeout=PATIENCE)

    with running(queue=2, upload_seconds=PATIENCE, stall_seconds=PATIENCE) as server, ExitStack() as stack:
        dripping = [server.open(stack, server.post_head()) for _ in range(2)]
        while httpx.get(f"{server.base}/health").json()["waiting"] < 2:
            time.sleep(0.01)
        monkeypatch.setattr(uploads, "GRACE", PATIENCE)  # as if they had just begun
        assert post(server).status_code == 503
        monkeypatch.setattr(uploads, "GRACE", 0.0)
        for _ in range(2):
            assert post(server).status_code == 202
            server.open(stack, server.post_head())  # who drips comes again
        for connection in dripping[:2]:
            assert b"the upload was too slow while others waited" in rest_of(connection)


def test_fast_uploads_make_no_room(quick_workers, monkeypatch):
    monkeypatch.setattr(uploads, "GRACE", 0.0)
    monkeypatch.setattr(uploads, "SLOW", 0)
    with running(queue=1, upload_seconds=PATIENCE, stall_seconds=PATIENCE) as server, ExitStack() as stack:
        server.open(stack, server.post_head())
        while httpx.get(f"{server.base}/health").json()["waiting"] < 1:
            time.sleep(0.01)
        files = {f"image{k}": ("a.png", b"12") for k in range(2)}
        assert httpx.post(f"{server.base}/matches", files=files, timeout=PATIENCE).status_code == 503


def test_a_download_that_nobody_takes_is_cut(quick_workers, monkeypatch):
    with running(stall_seconds=1.0) as server, ExitStack() as stack:
        number = large_result(server)
        connection = stack.enter_context(socket.socket())
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(server.address)
        connection.sendall(f"GET /matches/{number}/matches.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        while not server.server.server_state.connections:
            time.sleep(0.01)
        while server.server.server_state.connections:
            time.sleep(0.01)
        assert len(rest_of(connection)) < LARGE


LARGE = 30_000_000  # bytes, more than the system keeps for a connection


def large_result(server):
    """The id of a match whose results are large."""
    files = {f"image{k}": ("a.png", b"x" * (LARGE if k == 0 else 1)) for k in range(2)}
    number = httpx.post(f"{server.base}/matches", files=files, timeout=PATIENCE).json()["id"]
    while httpx.get(f"{server.base}/matches/{number}").json()["state"] != "done":
        time.sleep(0.01)
    return number


def test_many_unfinished_headers_keep_nobody_out():
    with running(connections=8) as server, ExitStack() as stack:
        opened = [server.open(stack, b"GET / HTTP/1.1\r\n") for _ in range(100)]
        assert httpx.get(f"{server.base}/limits", timeout=PATIENCE).status_code == 200
        assert len(server.server.server_state.connections) <= 8
        assert rest_of(opened[0]) == b""  # the oldest had to go


def test_busy_connections_are_not_cut_for_new_ones(quick_workers):
    with running(connections=2) as server, ExitStack() as stack:
        busy = [server.open(stack, server.post_head()) for _ in range(2)]
        while len(server.server.server_state.tasks) < 2:
            time.sleep(0.01)
        assert rest_of(server.open(stack)).startswith(b"HTTP/1.1 503")
        for connection in busy:
            connection.sendall(b"x" * 996)
            assert connection.recv(65536).startswith(b"HTTP/1.1 400")


def test_the_server_ends_whatever_stalls(quick_workers, monkeypatch, caplog):
    monkeypatch.setattr(connections, "FAREWELL_SECONDS", 0.2)
    with ExitStack() as stack:
        server = Running(Limits())
        number = large_result(server)
        server.open(stack, server.post_head())
        server.open(stack, b"GET / HTTP/1.1\r\n")
        server.open(stack, b"x\r\n\r\n")  # answered as an error
        server.open(stack, f"GET /matches/{number}/matches.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        while len(server.server.server_state.tasks) < 2:
            time.sleep(0.01)
        server.end()
    assert "Traceback" not in caplog.text


def test_two_servers_at_once_on_one_port(monkeypatch, capsys):
    with socket.socket() as first:
        first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        first.bind(("127.0.0.1", 0))

        class Second(socket.socket):
            def bind(self, address):
                super().bind(address)
                first.listen()

        with monkeypatch.context() as patch:
            patch.setattr(socket, "socket", Second)
            status = main(["--port", str(first.getsockname()[1])])
    assert status == 2
    told = capsys.readouterr().err
    assert told.startswith("gdl-match serve: error: --host 127.0.0.1 --port ")
    assert told.endswith("Address already in use\n")
    assert told.count("\n") == 1


def test_a_host_name_that_is_none_is_told_of(capsys):
    assert main(["--host", "é" * 70, "--port", "0"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_log_is_not_flooded(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(logs.time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(logs.Sparing())
    log = logging.Logger("flooded")
    log.addHandler(handler)

    def say(k):
        try:
            raise OSError(24, "Too many open files")
        except OSError:
            log.exception("accept failed: %d", k)

    for k in range(1000):
        say(k)
    log.warning("something else")
    assert stream.getvalue().count("accept failed") == logs.BURST
    assert stream.getvalue().endswith("something else\n")
    clock[0] = logs.WINDOW + 1
    say(1000)
    left_out = 1000 - logs.BURST
    assert f"accept failed: 1000 ({left_out} more like this were left out)" in stream.getvalue()
