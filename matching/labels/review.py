"""A page on this machine for accepting or dropping proposals with the keyboard."""

import json
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

from PIL import Image

from matching.errors import InputError
from matching.labels.record import WHOLE, LabelledPicture
from matching.labels.run import Labels
from matching.pictures.encoding import encode_jpeg
from matching.pictures.images import read_picture

HOST = "127.0.0.1"
Action = Callable[[dict[str, Any]], dict[str, Any]]
MAX_PICTURE_SIDE = 1600  # pixels of the longer side of a picture that is sent
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; img-src 'self' data:; connect-src 'self'; style-src 'unsafe-inline';"
    " script-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
)


class Review(ThreadingHTTPServer):
    """The server of the page. It answers only requests with the secret in the address."""

    daemon_threads = True

    def __init__(self, labels: Labels, forms: Sequence[str]) -> None:
        super().__init__((HOST, 0), _Handler)
        self.labels, self.forms = labels, forms
        self.secret = secrets.token_urlsafe(16)
        self.lock = Lock()

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.server_port}/{self.secret}/"

    @cached_property
    def pictures(self) -> list[LabelledPicture]:
        """The pictures that can be used, with all of their places."""
        return self.labels.usable

    def list_proposals(self) -> list[dict[str, Any]]:
        """List all places: whole things, then parts, the doubtful ones of each first, by their scores."""
        proposals = [
            {
                "picture": number,
                "place": k,
                "name": picture.name,
                "class": place.name,
                "score": place.score,
                "sure": place.confidence,
                "doubt": place.doubt,
                "whole": place.whole,
                "polygon": place.polygon,
                "frame": place.frame,
                "size": [picture.width, picture.height],
                "label": self.labels.is_label(picture, k),
                "verdict": self.labels.get_verdict(picture, k),
            }
            for number, picture in enumerate(self.pictures)
            for k, place in enumerate(picture.places)
        ]
        return sorted(proposals, key=lambda p: (not p["whole"], not p["doubt"], p["score"]))

    def decide(self, request: dict[str, Any]) -> dict[str, Any]:
        """Keep what the user decided about a place."""
        picture, place, verdict = self.pictures[request["picture"]], request["place"], request["verdict"]
        if not (0 <= place < len(picture.places) and verdict in (True, False, None, WHOLE)):
            raise ValueError("there is no such place")
        if verdict == WHOLE and picture.places[place].frame is None:
            raise ValueError("it isn't known where all of the thing should be")
        with self.lock:
            self.labels.record.add_verdict(picture, place, verdict)
        return {"label": self.labels.is_label(picture, place)}

    def save(self, _: dict[str, Any]) -> dict[str, Any]:
        """Write the labels again."""
        with self.lock:
            self.labels.write(self.forms)
        return {"labels": sum(len(picture.places) for picture in self.labels.pictures)}

    def show(self, number: int) -> bytes:
        """Encode a picture for the page."""
        image = Image.fromarray(read_picture(self.labels.folder / Path(self.pictures[number].name)).displayed)
        image.thumbnail((MAX_PICTURE_SIDE, MAX_PICTURE_SIDE))
        return encode_jpeg(image)


class _Handler(BaseHTTPRequestHandler):
    server: Review
    kinds: ClassVar = {"html": "text/html; charset=utf-8", "json": "application/json", "jpg": "image/jpeg"}

    def do_GET(self) -> None:
        """Send the page, the proposals, or a picture."""
        what = self._find()
        if what == "":
            self._answer("html", files(__package__).joinpath("static", "review.html").read_bytes())
        elif what == "proposals":
            self._answer("json", json.dumps(self.server.list_proposals()).encode())
        elif what is not None and what.removeprefix("picture/").isdecimal():
            self._try("jpg", lambda: self.server.show(int(what.removeprefix("picture/"))))
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        """Take a verdict, or write the labels."""
        actions: dict[str | None, Action] = {"verdict": self.server.decide, "save": self.server.save}
        what, length = self._find(), self.headers.get("Content-Length", "")
        if what not in actions or not length.isdecimal():
            self.send_error(404)
            return
        body = self.rfile.read(int(length))
        self._try("json", lambda: json.dumps(actions[what](json.loads(body))).encode())

    def _find(self) -> str | None:
        start = f"/{self.server.secret}/"
        return self.path.removeprefix(start) if self.path.startswith(start) else None

    def _try(self, kind: str, make: Callable[[], bytes]) -> None:
        try:
            content = make()
        except (InputError, LookupError, TypeError, ValueError) as error:
            self.send_error(400, explain=str(error))
        else:
            self._answer(kind, content)

    def _answer(self, kind: str, content: bytes) -> None:
        self.send_response(200)
        headers = {"Content-Type": self.kinds[kind], "Content-Length": str(len(content))}
        headers |= {"Content-Security-Policy": CONTENT_SECURITY_POLICY, "Cache-Control": "no-store"}
        for name, value in (headers | {"Referrer-Policy": "no-referrer"}).items():
            self.send_header(name, value)
        with suppress(ConnectionError):  # the page has moved on to another picture already
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Log nothing."""
