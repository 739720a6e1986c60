"""The HTTP side of a server: loaded at the first request, with a limit on clients."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
import trio
import trio.testing

from broker.server.operations import CONNECTIONS_MAX, Operations
from tests.broker.gateway import START_MS, Gateway
from tests.broker.logins import JAAS

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class FakeListener:
    """A bound socket, as far as its address goes: a host, or the path of a Unix socket."""

    def __init__(self, host: str) -> None:
        self.host = host

    def getsockname(self) -> tuple[str, int] | str:
        return self.host if "/" in self.host else (self.host, 9644)


def operations(host: str = "127.0.0.1", **settings: Any) -> Operations:
    listener: Any = FakeListener(host)
    return Operations(Gateway(**settings).broker, listener, lambda: START_MS)


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
    assert b" 200 " in trio.run(ask, operations("0.0.0.0", kawal_insecure=True), request)


def test_what_comes_over_a_unix_socket_comes_from_this_machine() -> None:
    assert b" 200 " in trio.run(ask, operations("/data/worker-1.http.sock"), REQUEST)


@pytest.mark.parametrize("page", [b"/healthz", b"/readyz", b"/metrics", b"/none"])
def test_other_machines_need_a_login_for_every_page(page: bytes) -> None:
    request = REQUEST.replace(b"/healthz", page)
    for host in (b"localhost", b"127.0.0.1:9644", b"gateway.example"):
        answer = trio.run(ask, operations("0.0.0.0"), request.replace(b"localhost", host))
        assert b" 401 " in answer
        assert b'WWW-Authenticate: Basic realm="kawal"' in answer
        assert b"kawal_build" not in answer


def test_a_user_of_the_server_is_let_in_from_another_machine() -> None:
    settings: dict[str, Any] = {
        "listeners": ("SASL_PLAINTEXT://127.0.0.1:0",),
        "sasl_enabled_mechanisms": ("PLAIN",),
        "listener_overrides": {"listener.name.sasl_plaintext.plain.sasl.jaas.config": JAAS},
    }
    token = b64encode(b"alice:secret")
    request = REQUEST.replace(b"Connection", b"Authorization: Basic " + token + b"\r\nConnection")
    assert b" 200 " in trio.run(ask, operations("0.0.0.0", **settings), request)
    wrong = request.replace(token, b64encode(b"alice:guess"))
    assert b" 401 " in trio.run(ask, operations("0.0.0.0", **settings), wrong)


def test_the_log_warns_of_passwords_that_are_not_encrypted(caplog: pytest.LogCaptureFixture) -> None:
    for host, warned in (("127.0.0.1", False), ("0.0.0.0", True)):
        caplog.clear()
        with pytest.raises(TypeError):  # the listener is not a real one
            trio.run(operations(host).run)
        assert ("is not encrypted" in caplog.text) is warned


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
