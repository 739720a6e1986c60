"""An object store in memory that answers each PUT after a fixed time: `python -m benchmarks.slow_store MS`.

It speaks as much of S3 as a server of durability `remote` asks for: PUT with If-None-Match and If-Match, GET
with ranges, DeleteObjects, and ListObjectsV2 in one page, with any credentials.  Its first line of
output is its port on 127.0.0.1.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from subprocess import PIPE, Popen
from typing import Final, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

HOST: Final = "127.0.0.1"
BUCKET: Final = "bench"
_KEY = re.compile(r"<Key>([^<]+)</Key>")
_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


class Stored(NamedTuple):
    """An object."""

    etag: str
    data: bytes


class Conditions:
    """The objects, which several threads may write."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.objects: dict[str, Stored] = {}
        self._count = 0

    def put(self, key: str, data: bytes, *, absent: bool, etag: str | None) -> Stored | None:
        """Store an object if the condition holds; None if it does not."""
        with self.lock:
            before = self.objects.get(key)
            if (absent and before is not None) or (etag is not None and (not before or before.etag != etag)):
                return None
            self._count += 1
            stored = self.objects[key] = Stored(f'"{self._count:x}"', data)
            return stored


class SlowStore(ThreadingHTTPServer):
    """The server: a bucket with any name has the objects of all."""

    daemon_threads = True

    def __init__(self, put_seconds: float) -> None:
        super().__init__((HOST, 0), _Conversation)
        self.put_seconds = put_seconds
        self.kept = Conditions()


class _Conversation(BaseHTTPRequestHandler):
    server: SlowStore
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def _key(self) -> str:
        return unquote(urlsplit(self.path).path).lstrip("/").partition("/")[2]

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        absent, etag = self.headers.get("If-None-Match") == "*", self.headers.get("If-Match")
        time.sleep(self.server.put_seconds)
        stored = self.server.kept.put(self._key, data, absent=absent, etag=etag)
        self._answer(200 if stored else 412, b"", etag=stored.etag if stored else "")

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if "list-type" in parts.query:
            self._answer(200, self._listing(parse_qs(parts.query).get("prefix", [""])[0]))
            return
        stored = self.server.kept.objects.get(self._key)
        if stored is None:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        wanted = _RANGE.fullmatch(self.headers.get("Range", ""))
        if wanted is None:
            self._answer(200, stored.data, etag=stored.etag)
            return
        first, last = int(wanted[1]), min(int(wanted[2]), len(stored.data) - 1)
        whole = f"bytes {first}-{last}/{len(stored.data)}"
        self._answer(206, stored.data[first : last + 1], etag=stored.etag, content_range=whole)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        removed = [unescape(text) for text in _KEY.findall(body)]
        with self.server.kept.lock:
            for key in removed:
                self.server.kept.objects.pop(key, None)
        rows = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in removed)
        self._answer(200, f"<DeleteResult>{rows}</DeleteResult>".encode())

    def _listing(self, prefix: str) -> bytes:
        with self.server.kept.lock:
            found = sorted((key, len(stored.data)) for key, stored in self.server.kept.objects.items())
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{size}</Size><ETag>x</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key, size in found
            if key.startswith(prefix)
        )
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>".encode()

    def _answer(self, status: int, body: bytes, *, etag: str = "", content_range: str = "") -> None:
        self.send_response(status)
        fields = {"ETag": etag, "Content-Range": content_range}
        for name, text in fields.items():
            if text:
                self.send_header(name, text)
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing about a request."""


@contextmanager
def slow_store(put_ms: int) -> Iterator[str]:
    """Run a store in a process of its own for the block, whose address it yields."""
    command = [sys.executable, "-m", "benchmarks.slow_store", str(put_ms)]
    with Popen(command, stdout=PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://{HOST}:{int(process.stdout.readline())}"
        finally:
            process.kill()


def main() -> None:
    """Serve until the process is ended."""
    with SlowStore(int(sys.argv[1]) / 1_000) as store:
        print(store.server_address[1], flush=True)
        store.serve_forever()


if __name__ == "__main__":
    main()
