"""The pages of worker 0 with those of the other workers: their metrics together, ready if all are.

The others serve their pages over Unix sockets.  One that does not answer in time is left out and counted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import trio

from broker.core import Broker
from broker.server.http import Route
from broker.server.http_conversation import HttpRequest, Page
from broker.server.joined_exposition import joined

if TYPE_CHECKING:
    from broker.server.operations import Pages

logger = logging.getLogger("kawal.http")

ANSWER_SECONDS: Final = 2.0
"""The time in which another worker has to answer."""

UNAVAILABLE: Final = 503


def joined_pages(pages: Pages, addresses: Mapping[int, str]) -> Pages:
    """Return the pages with those of the other workers, whose sockets have these addresses by number."""

    def make(broker: Broker, now_ms: Callable[[], int]) -> Mapping[str, Route]:
        routes = dict(pages(broker, now_ms))
        own_metrics, own_readiness = routes["/metrics"].make, routes["/readyz"].make

        async def metrics(request: HttpRequest) -> Page:
            own = await own_metrics(request)
            others = await ask_all(addresses, "/metrics", request.headers.get("accept", ""))
            texts = {0: own.body} | {number: page.body for number, page in others.items()}
            decoded = {number: body.decode() for number, body in sorted(texts.items())}
            body = await trio.to_thread.run_sync(joined, decoded, len(addresses) + 1)
            return own._replace(body=body.encode())

        async def readyz(request: HttpRequest) -> Page:
            own = await own_readiness(request)
            others = await ask_all(addresses, "/readyz", "")
            reasons = [own.body] if own.status == UNAVAILABLE else []
            for number in sorted(addresses):
                page = others.get(number)
                if page is None:
                    reasons.append(b"worker %d does not answer\n" % number)
                elif page.status == UNAVAILABLE:
                    reasons += [b"worker %d: %s\n" % (number, line) for line in page.body.splitlines()]
            return Page(b"".join(reasons), UNAVAILABLE) if reasons else own

        return routes | {"/metrics": Route(metrics), "/readyz": Route(readyz)}

    return make


async def ask_all(addresses: Mapping[int, str], path: str, accept: str) -> dict[int, Page]:
    """Return the page of each worker that has answered in time."""
    found: dict[int, Page] = {}

    async def ask(number: int, address: str) -> None:
        with trio.move_on_after(ANSWER_SECONDS):
            try:
                page = page_of(await _answer(address, request_of(path, accept)))
            except (OSError, trio.BrokenResourceError, ValueError) as error:
                logger.warning("worker %d does not give its page %s: %s", number, path, error)
            else:
                found[number] = page

    async with trio.open_nursery() as nursery:
        for number, address in addresses.items():
            nursery.start_soon(ask, number, address)
    return found


async def _answer(address: str, request: bytes) -> bytes:
    """Return all that comes for a request, until the other side closes the connection."""
    async with await trio.open_unix_socket(address) as stream:
        await stream.send_all(request)
        return b"".join([part async for part in stream])


def request_of(path: str, accept: str) -> bytes:
    """Return the request for a page, the only one of its connection."""
    accepted = f"Accept: {accept}\r\n" if accept else ""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{accepted}Connection: close\r\n\r\n".encode("latin-1")


def page_of(answer: bytes) -> Page:
    """Return the page in an answer.  Raises: ValueError, if it is not a whole one."""
    head, separator, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
    if not separator or len(body) != int(headers.get(b"content-length", b"-1")):
        raise ValueError("the answer is not whole")
    return Page(body, int(first.split(b" ")[1]))
