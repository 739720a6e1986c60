"""The static files: a table from path to bytes, read once.  No path is ever joined from a request.

A path has a part of the content's hash in it, so that browsers may keep a file for ever.
"""

from __future__ import annotations

import gzip
import hashlib
from importlib.resources import files
from typing import Final, NamedTuple

from broker.server.http_conversation import Headers, Page

JAVASCRIPT: Final = "text/javascript; charset=utf-8"
FILES: Final = {
    "console.css": "text/css; charset=utf-8",
    "console.js": JAVASCRIPT,
    "icon.svg": "image/svg+xml",
    "vendor/htmx.js": JAVASCRIPT,
}
"""The files there are, and their content types."""

FOR_EVER: Final = "private, max-age=31536000, immutable"


class StaticFile(NamedTuple):
    """A file as it is served."""

    body: bytes
    zipped: bytes
    content_type: str
    tag: str

    def page(self, headers: Headers) -> Page:
        """Return the answer to a request: nothing new, or the file, compressed if the browser takes that."""
        common = (("ETag", self.tag), ("Vary", "Accept-Encoding"))
        if self.tag in headers.get("if-none-match", ""):
            return Page(b"", 304, self.content_type, common, FOR_EVER)
        if takes_gzip(headers):
            zipped = (*common, ("Content-Encoding", "gzip"))
            return Page(self.zipped, 200, self.content_type, zipped, FOR_EVER)
        return Page(self.body, 200, self.content_type, common, FOR_EVER)


class StaticFiles:
    """All static files, by the path at which they are served."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self._table: dict[str, StaticFile] = {}
        folder = files("console.web").joinpath("static")
        for name, content_type in FILES.items():
            body = folder.joinpath(name).read_bytes()
            digest = hashlib.sha256(body).hexdigest()[:16]
            path = f"/static/{digest}/{name}"
            self._paths[name] = path
            self._table[path] = StaticFile(body, gzip.compress(body, mtime=0), content_type, f'"{digest}"')

    def path(self, name: str) -> str:
        """Return the path of a file.  Raises: KeyError."""
        return self._paths[name]

    def find(self, path: str) -> StaticFile | None:
        """Return the file at a path."""
        return self._table.get(path)


def takes_gzip(headers: Headers) -> bool:
    """Whether a browser takes answers that are compressed."""
    return "gzip" in headers.get("accept-encoding", "")
