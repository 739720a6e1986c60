"""The HTTP side of a server: loaded at the first request, with a limit on clients."""

from __future__ import annotations

from typing import Any

import trio
import trio.testing

from broker.server.operations import CONNECTIONS_MAX, Operations
from tests.broker.gateway import START_MS, Gateway

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class FakeListener:
    """A bound socket, as far as its address goes."""

    def __init__(self, host: str) -> None:
        self.host = host

    def getsockname(self) -> tuple[str, int]:
        return self.host, 9644


def operations(host: str = "127.0.0.1") -> Operations:
    listener: Any = FakeListener(host)
    return Operations(Gateway().broker, listener, lambda: START_MS)


async def ask(served: Operations, request: bytes) -> bytes:
    """Send a request on a connection of its own and return the answer."""
    ours, theirs = trio.testing.memory_stream_pair()
    answer = bytearray()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(served.admit, theirs)
        await ours.send_all(request)
        while part := await ours.receive_some(65536):
            answer += part
        await ours.aclose()
    return bytes(answer)


def test_clients_are_served_together() -> None:
    async def main() -> None:
        served = operations()
        answers: list[bytes] = []

        async def one() -> None:
            answers.append(await ask(served, REQUEST))

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(one)
        assert [answer.endswith(b"ok\n") for answer in answers] == [True] * 5

    trio.run(main)


def test_only_behind_loopback_names_matter() -> None:
    request = REQUEST.replace(b"localhost", b"gateway.example")
    assert b" 421 " in trio.run(ask, operations(), request)
    assert b" 200 " in trio.run(ask, operations("0.0.0.0"), request)


def test_of_too_many_clients_the_one_connected_longest_has_to_leave() -> None:
    async def main() -> None:
        served = operations()
        pairs = [trio.testing.memory_stream_pair() for _ in range(CONNECTIONS_MAX)]
        async with trio.open_nursery() as nursery:
            for _, theirs in pairs:
                nursery.start_soon(served.admit, theirs)
                await trio.testing.wait_all_tasks_blocked()
            for ours, _ in pairs:
                await ours.send_all(REQUEST[:10])
            assert (await ask(served, REQUEST)).endswith(b"ok\n")
            first, second = pairs[0][0], pairs[1][0]
            assert await first.receive_some(1) == b""
            await second.send_all(REQUEST[10:])
            assert (await second.receive_some(65536)).startswith(b"HTTP/1.1 200")
            for ours, _ in pairs:
                await ours.aclose()

    trio.run(main)
