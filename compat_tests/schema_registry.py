"""A schema registry for tests: the pages of one, over HTTP; it can be stopped in mid-answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

NOT_FOUND: Final = {"error_code": 40403, "message": "Schema not found"}


class SchemaRegistry:
    """A registry that has these pages, by their paths."""

    def __init__(self, pages: Mapping[str, Any]) -> None:
        registry = self
        self.asked: list[str] = []
        self.goes_on = threading.Event()
        """Clear while nothing is answered."""
        self.goes_on.set()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.asked.append(self.path)
                registry.goes_on.wait(60)
                found = pages.get(self.path.lstrip("/"))
                data = json.dumps(NOT_FOUND if found is None else found).encode()
                self.send_response(404 if found is None else 200)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                # The client may have given up long ago.
                with suppress(ConnectionError):
                    self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it; what it has not answered stays without an answer."""
        self.goes_on.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
