"""A console on a broker in memory: requests go in as bytes, pages come out.

    web = Web()
    web.broker.client().call(…)                 the broker beside it
    page = web.get("/topics?q=orders")
    page = web.post("/topics/orders/delete", confirm="orders")
    page = web.get("/", headers={"Host": "evil.example"})
    web.sent                                    the requests that reached the broker

Pages run in the real frame: gates, routes, threads, templates and headers.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import unescape
from typing import Any, NamedTuple
from urllib.parse import urlencode

import trio
import trio.testing

from broker.server.http_conversation import converse
from console.exchange import request_frame
from console.link import LinkLost
from console.outgoing import under
from console.security import PLAIN, Security
from console.web.kafka_door import KafkaDoor, PageRules
from console.web.routes import Table
from console.web.site import Console
from console.web.visit import Settings
from protocol.messages.fetch import FetchRequest
from tests.broker.gateway import Gateway

ADDRESS = "broker.test:9092"


class Answered(NamedTuple):
    """An answer, taken apart."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def html(self) -> str:
        return self.body.decode()

    @property
    def text(self) -> str:
        """The words of a page without its tags."""
        body = re.sub(r"(?s)<(dialog|head)\b.*?</\1>", "", self.html)
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())

    @property
    def problem(self) -> str:
        """The sentence about what went wrong."""
        found = re.search(r'(?s)<p class="problem" role="alert">(.*?)</p>', self.html)
        return unescape(found[1]) if found else ""

    def links(self, label: str) -> list[str]:
        """Return the addresses of links with this label."""
        found = re.findall(r'(?s)<a\b[^>]*href="([^"]*)"[^>]*>(.*?)</a>', self.html)
        return [unescape(href) for href, inner in found if unescape(re.sub("<[^>]*>", "", inner)) == label]


class MemoryLink:
    """A link to a broker in memory that answers at once."""

    one_at_a_time = threading.Lock()

    def __init__(self, web: Web, address: str) -> None:
        if web.away:
            raise LinkLost(f"cannot reach {address}: Connection refused")
        self.address = address
        self._web = web
        self._client = web.broker.client("127.0.0.1")
        self._answers: deque[Any] = deque()
        self.aborted = False
        web.links.append(self)

    @property
    def in_flight(self) -> int:
        return len(self._answers)

    def send(self, request: Any, version: int, *, answered: bool = True) -> None:
        request_frame(request, version, correlation_id=1, client_id="t")
        if self._web.away or self.aborted:
            raise LinkLost(f"lost the connection to {self.address}")
        if isinstance(request, FetchRequest):
            request.max_wait_ms = 0  # an answer is there when it is asked for
        with self.one_at_a_time:
            self._web.sent.append(request)
            answer = self._client.call(request, version)
            if answered:
                self._answers.append(answer)

    def receive(self) -> Any:
        return self._answers.popleft()

    def call(self, request: Any, version: int) -> Any:
        self.send(request, version)
        return self.receive()

    def close(self) -> None:
        self.aborted = True

    def abort(self) -> None:
        self.aborted = True


class Web:
    """A console, its broker, and a browser without a window."""

    def __init__(
        self,
        *,
        table: Table | None = None,
        security: Security = PLAIN,
        broker: Gateway | None = None,
        **settings: Any,
    ) -> None:
        self.broker = broker or Gateway()
        self.away = False
        """Whether the broker is away."""
        self.sent: list[Any] = []
        self.links: list[MemoryLink] = []
        self.clock = 1000.0
        self.settings = Settings(ADDRESS, **settings)
        self._table = table
        self._security = security
        self._console: Console | None = None

    @property
    def console(self) -> Console:
        """The site, made at the first request: it belongs to one run of the loop at a time."""
        if self._console is None:
            door = KafkaDoor(
                ADDRESS,
                read_only=self.settings.read_only,
                alone=True,
                connect=lambda to: MemoryLink(self, to),  # type: ignore[arg-type, return-value]
            )
            self._console = Console(
                self.settings, door, security=self._security, clock=lambda: self.clock, table=self._table
            )
        return self._console

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Run what is inside as the work of a page, in this thread."""
        kafka = self.console._everyone
        rules = PageRules(kafka, kafka._door)
        with under(rules):
            yield
        rules.end()

    def get(self, path: str, *, headers: Mapping[str, str] = {}, method: str = "GET") -> Answered:
        """Ask for a page."""
        return self.ask(method, path, headers=headers)

    def post(self, path: str, *, headers: Mapping[str, str] = {}, **fields: str) -> Answered:
        """Send a form, as a page of the console would."""
        return self.send(path, fields, headers=headers)

    def send(
        self,
        path: str,
        fields: Mapping[str, str] | Sequence[tuple[str, str]],
        *,
        headers: Mapping[str, str] = {},
    ) -> Answered:
        """Send a form whose fields have any names."""
        sent = {
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/x-www-form-urlencoded",
            **headers,
        }
        return self.ask("POST", path, headers=sent, body=urlencode(fields).encode())

    def ask(self, method: str, path: str, *, headers: Mapping[str, str] = {}, body: bytes = b"") -> Answered:
        """Send a request as bytes and return the answer."""
        given = {"Host": "localhost:9645", "Connection": "close", **headers}
        if body:
            given["Content-Length"] = str(len(body))
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items() if value)]
        return taken_apart(self.exchange("\r\n".join(lines).encode() + b"\r\n\r\n" + body))

    def exchange(self, data: bytes) -> bytes:
        """Send bytes and return all that comes back until the connection ends."""

        async def main() -> bytes:
            ours, theirs = trio.testing.memory_stream_pair()
            answer = bytearray()

            async def serve() -> None:
                await converse(self.console, theirs, "127.0.0.1")
                await theirs.aclose()

            async with trio.open_nursery() as nursery:
                nursery.start_soon(serve)
                await ours.send_all(data)
                while part := await ours.receive_some(65536):
                    answer += part
            return bytes(answer)

        return trio.run(main)


def taken_apart(answer: bytes) -> Answered:
    """Take an answer apart that is not in pieces."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        headers[name.lower()] = f"{headers[name.lower()]}\n{value}" if name.lower() in headers else value
    return Answered(int(first.split()[1]), headers, body)
