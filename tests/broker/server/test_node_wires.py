"""Ways to nodes on other machines: the greeting, what is said when it fails, and clocks of two machines."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from broker.catalogue.address_book import Address, StaticAddresses
from broker.security.node_greeting import Greeter
from broker.server import node_wires
from broker.server.node_wires import CLOCK_MS_MAX, Clocks, NodeRefused, NodeWires
from broker.server.peer_links import LinkBroken
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.kawal_share_states import KawalShareStatesRequest
from tests.broker.gateway import Client, Gateway

SECRET = b"0123456789abcdef"
NOW_MS = 1_000_000
VOID_SOON = KawalShareStatesRequest(group_id="g", action=0, until_ms=NOW_MS + 3_000)


class Server:
    """A node, and the connections that are made to it."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *, secret: bytes = SECRET, greets: bool = True
    ) -> None:
        self.gateway = Gateway()
        self.connected: list[tuple[str, int]] = []
        if greets:
            self.gateway.broker.nodes.greeter = Greeter(secret, number=0, count=3, random=Random(1))
        monkeypatch.setattr(socket, "create_connection", self._connect)
        monkeypatch.setattr(node_wires, "exchange", self._exchange)

    def _connect(self, address: tuple[str, int], timeout: float) -> Any:
        assert 0 < timeout <= node_wires.CONNECT_SECONDS
        self.connected.append(address)
        return FakeSocket(self.gateway.client())

    def _exchange(
        self, sock: Any, request: Any, version: int, _number: int, *, client_id: str, ends: float
    ) -> Any:
        client: Client = sock.client
        client.send(request, version)
        self.gateway.settle()
        answers = client.answers()
        if not answers:
            raise LinkBroken("it closed the connection")
        return answers[0]


class FakeSocket:
    """A connection to it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.options: dict[tuple[int, int], int] = {}
        self.closed = False

    def setsockopt(self, level: int, option: int, value: int) -> None:
        self.options[level, option] = value

    def settimeout(self, seconds: float) -> None:
        assert seconds >= 0

    def recv(self, size: int) -> bytes:
        raise BlockingIOError

    def close(self) -> None:
        self.closed = True


def wires(*, cluster_id: str = "", count: int = 3, clock: Callable[[], int] = lambda: NOW_MS) -> NodeWires:
    book = StaticAddresses([Address("a.example", 9092), Address("b.example", 9092)])
    return NodeWires(book, SECRET, number=1, count=count, cluster_id=cluster_id, now_ms=clock)


def ends() -> float:
    return time.monotonic() + 30


def test_a_node_connects_where_the_book_says_and_learns_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    server, ways = Server(monkeypatch), wires()
    sock: Any = ways.to(0).connect(ends())
    assert server.connected == [("a.example", 9092)]
    assert ways.cluster_id == server.gateway.broker.cluster_id
    assert sock.client.connection.from_peer
    assert sock.options[socket.SOL_SOCKET, socket.SO_KEEPALIVE] == 1
    assert sock.options[socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT] == node_wires.UNCONFIRMED_MS


@pytest.mark.parametrize(
    ("server", "own", "to", "sentence"),
    [
        ({"secret": b"fedcba9876543210"}, {}, 0, "node 0 at a.example:9092 has another secret than this one"),
        ({}, {"cluster_id": "mine"}, 0, "of cluster .*, and the directory of this node 1 of cluster mine"),
        ({}, {"count": 2}, 0, "node 0 at a.example:9092 knows of another number of nodes than 2"),
        ({}, {}, 1, "the node at b.example:9092 is not node 1, or has the number 1"),
    ],
)
def test_a_node_that_is_refused_says_why_and_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, server: dict[str, Any], own: dict[str, Any], to: int, sentence: str
) -> None:
    Server(monkeypatch, **server)
    with pytest.raises(NodeRefused, match=sentence):
        wires(**own).to(to).connect(ends())


def test_a_server_that_is_no_node_may_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    Server(monkeypatch, greets=False)
    with pytest.raises(LinkBroken, match=r"a\.example:9092 takes no greetings of nodes: it closed"):
        wires().to(0).connect(ends())


@pytest.mark.parametrize("delay_ms", [0, 40, 5_000])
@pytest.mark.parametrize("drift", [-0.0005, 0.0, 0.0005])
@pytest.mark.parametrize("later_ms", [0, 10_000, CLOCK_MS_MAX])
def test_a_moment_by_the_other_clock_is_never_later_than_it_is(
    delay_ms: int, drift: float, later_ms: int
) -> None:
    """The other clock shows 500 when it answers; the answer takes `delay_ms`, and the clocks drift apart."""
    clocks = Clocks(500, NOW_MS + delay_ms)
    moment = NOW_MS + delay_ms + later_ms + 3_000
    true = 500 + (moment - NOW_MS) * (1 + drift)
    assert true - delay_ms - 0.002 * (later_ms + 3_000) - 2 <= clocks.theirs(moment) <= true


def test_a_request_that_is_void_from_a_moment_on_names_it_by_the_other_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server(monkeypatch)
    way = wires().to(0)
    way.connect(ends())
    told = way.told(VOID_SOON)
    theirs = server.gateway.broker.clock.turn_ms
    assert theirs + 2_990 <= told.until_ms <= theirs + 3_000
    assert VOID_SOON.until_ms == NOW_MS + 3_000
    other = FindCoordinatorRequest(key="g")
    assert way.told(other) is other


def test_what_is_known_of_a_clock_is_used_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    Server(monkeypatch)
    now = [NOW_MS]
    way = wires(clock=lambda: now[0]).to(0)
    sock = way.connect(ends())
    now[0] += CLOCK_MS_MAX
    assert not way.is_over(sock, VOID_SOON)
    now[0] += 1
    assert way.is_over(sock, VOID_SOON)
    assert not way.is_over(sock, FindCoordinatorRequest(key="g"))
