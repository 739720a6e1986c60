"""Clients that behave, and note how long each of their round trips takes, from when it was due.

Counting from when a round was due, not from when it began, lets one stall show in every round it delays.
"""

from __future__ import annotations

import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from compat_tests.batches import Batch
from compat_tests.broker import HOST, Broker
from compat_tests.logins import Address
from compat_tests.overload.figures import loop_seconds
from compat_tests.requests import fetch_request, produce_request
from compat_tests.wire import Addressed, RawClient, raw_client
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

TOPIC: Final = "good"
GROUP: Final = "good"
CLIENT_ID: Final = "good"

PATIENCE_SECONDS: Final = 120.0
"""A round that takes longer has failed."""


class Round(NamedTuple):
    """One round trip."""

    due: float
    """By the monotonic clock."""
    took: float
    own: float
    """Without the wait for earlier rounds, which one that falls behind adds to those after it."""
    loop: float
    """Processor seconds of the server's event loop between the request and its answer."""


Call = Callable[[], None]


class GoodClient(threading.Thread):
    """One client in a thread; what goes wrong with it is kept in `failures`, and it connects again."""

    def __init__(self, broker: Broker, kind: str, per_second: float, loads_until: float = 0.0) -> None:
        super().__init__(daemon=True, name=f"good client: {kind}")
        self.kind = kind
        self.rounds: list[Round] = []
        self.failures: list[str] = []
        self._broker = broker
        self._loads_until = loads_until
        self._pause = 1 / per_second
        self._pid = broker.process.pid
        self._ended = threading.Event()

    def run(self) -> None:
        """Make rounds until `end`."""
        due = time.monotonic()
        while not self._ended.is_set():
            try:
                with KINDS[self.kind][0](self._broker, self._loads_until) as call:
                    while not self._ended.is_set():
                        time.sleep(max(0.0, due - time.monotonic()))
                        self._round(call, due)
                        due = max(due + self._pause, time.monotonic() - 1)
            except Exception as error:  # noqa: BLE001  (whatever ends a round is a failure, and the next follows)
                if not self._ended.is_set():
                    self.failures.append(f"{self.kind}: {type(error).__name__}: {error}")
                    time.sleep(0.2)

    def _round(self, call: Call, due: float) -> None:
        before, began = loop_seconds(self._pid), time.monotonic()
        call()
        ended = time.monotonic()
        self.rounds.append(Round(due, ended - due, ended - began, loop_seconds(self._pid) - before))

    def end(self) -> None:
        """Finish the round that is under way."""
        self._ended.set()
        self.join(PATIENCE_SECONDS)


class GoodClients:
    """All kinds of good clients beside each other; the server must have the topic `good`."""

    def __init__(self, broker: Broker, *, loads_until: float = 0.0) -> None:
        """`loads_until`: until then, by the monotonic clock, the server may be loading its groups."""
        self.broker = broker
        self.clients = [GoodClient(broker, kind, rate, loads_until) for kind, (_, rate) in KINDS.items()]
        self._http_port = broker.settings.get("kawal.http.listen", "none")
        if not self._http_port.startswith(HOST):
            self.clients = [client for client in self.clients if client.kind != "health"]

    def __enter__(self) -> GoodClients:
        """Start them."""
        for client in self.clients:
            client.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End them."""
        for client in self.clients:
            client.end()

    @property
    def failures(self) -> list[str]:
        """Descriptions of wrong answers and lost connections."""
        return [failure for client in self.clients for failure in client.failures]

    def rounds(self, kind: str, since: float, until: float) -> list[Round]:
        """Return the rounds of a kind that were due between two times."""
        for client in self.clients:
            if client.kind == kind:
                return [found for found in client.rounds if since <= found.due < until]
        return []


@contextmanager
def _connected(broker: Addressed) -> Iterator[RawClient]:
    with raw_client(broker) as client:
        client.socket.settimeout(PATIENCE_SECONDS)
        yield client


def _leader(broker: Broker) -> Address:
    """Return the address of the node that leads the topic's partition."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
    deadline = time.monotonic() + PATIENCE_SECONDS
    with _connected(broker) as client:
        while True:
            answer = client.call(request, 12)
            ports = {node.node_id: node.port for node in answer.brokers}
            leaders = [ports.get(partition.leader_id) for partition in answer.topics[0].partitions]
            if leaders and leaders[0] is not None:
                return Address(leaders[0])
            assert time.monotonic() < deadline, f"{TOPIC} has no leader: {answer}"
            time.sleep(0.05)


def _coordinator(broker: Broker) -> Address:
    """Return the address of the node that coordinates the group."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    with _connected(broker) as client:
        while True:
            (found,) = client.call(FindCoordinatorRequest(coordinator_keys=[GROUP]), 4).coordinators
            if not found.error_code:
                return Address(found.port)
            assert time.monotonic() < deadline, f"group {GROUP} has no coordinator: {found}"
            time.sleep(0.05)


def call_as_good(client: RawClient, request: Any, version: int) -> Any:
    """Send a request under the name by which the server's request log knows good clients."""
    return client.call(request, version, client_id=CLIENT_ID)


@contextmanager
def _records(broker: Broker, loads_until: float) -> Iterator[Call]:
    """Produce a record with acks=all and read it back.

    Where groups have settings for reading, a fetch is answered without records as long as the server does not
    know after its start who the members are: a consumer asks again.
    """
    with _connected(_leader(broker)) as client:

        def call() -> None:
            produced = call_as_good(client, produce_request(TOPIC, Batch(values=[b"x" * 100])), 9)
            part = produced.responses[0].partition_responses[0]
            assert part.error_code == 0, part
            while True:
                fetched = call_as_good(client, fetch_request(TOPIC, part.base_offset, max_wait_ms=1_000), 11)
                if fetched.throttle_time_ms and not fetched.responses:
                    return  # a quota, which the hunt sets, too, is kept by empty answers (KIP-219)
                assert fetched.responses, fetched
                data = fetched.responses[0].partitions[0]
                assert data.error_code == 0, data
                if data.records:
                    return
                text = f"the record that was acknowledged as {part} is not there: {data}"
                assert time.monotonic() < loads_until, text

        yield call


@contextmanager
def _metadata(broker: Broker, _loads_until: float) -> Iterator[Call]:
    """Ask for the metadata of one topic."""
    with _connected(broker) as client:

        def call() -> None:
            wanted = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
            answer = call_as_good(client, wanted, 12)
            assert answer.topics[0].error_code == 0, answer.topics[0]

        yield call


@contextmanager
def _heartbeats(broker: Broker, _loads_until: float) -> Iterator[Call]:
    """Be the only member of a consumer group."""
    with _connected(_coordinator(broker)) as client:
        member: dict[str, Any] = {"member_id": f"good-{time.monotonic_ns()}", "member_epoch": 0}

        def call() -> None:
            joining = member["member_epoch"] == 0
            answer = call_as_good(
                client,
                ConsumerGroupHeartbeatRequest(
                    group_id=GROUP,
                    **member,
                    rebalance_timeout_ms=60_000 if joining else -1,
                    subscribed_topic_names=[TOPIC] if joining else None,
                    topic_partitions=[] if joining else None,
                ),
                1,
            )
            # A stall may have cost the membership, and a client that deletes __consumer_offsets the group:
            # joining again is an ordinary client's answer to that.
            if answer.error_code in (25, 69, 110):
                member["member_epoch"] = 0
                return
            assert answer.error_code in (0, 14, 15, 16), answer
            if answer.error_code == 0:
                member["member_epoch"] = answer.member_epoch

        yield call


@contextmanager
def _health(broker: Broker, _loads_until: float) -> Iterator[Call]:
    """Ask /healthz, on a new connection each time as a supervisor does."""
    url = f"http://{broker.settings['kawal.http.listen']}/healthz"

    def call() -> None:
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
            assert answer.status == 200

    yield call


KINDS: Final[dict[str, tuple[Callable[[Broker, float], Any], float]]] = {
    "records": (_records, 20.0),
    "metadata": (_metadata, 20.0),
    "heartbeats": (_heartbeats, 20.0),
    "health": (_health, 10.0),
}
"""The kinds of clients, and their rounds in a second.

A client makes one round after the other, so at 50 in a second it falls behind as soon as they take more than
20 ms, and counts all it is behind in each: 35 ms for a record and its sync became "1,005 ms", which is the
second that a client may be behind at most.
"""


def percentile(values: list[float], share: float) -> float:
    """Return the value below which this share of the values lies; 0 if there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
