"""Members of groups as raw sockets: many calls are sent before the first answer is read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from compat_tests.broker import Broker
from compat_tests.wire import RawClient, raw_client
from protocol.consumer_protocol import ConsumerProtocolSubscription, encode_subscription
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

JOIN_VERSION, SYNC_VERSION = 9, 5
SESSION_MS, REBALANCE_MS = 45_000, 60_000
PING_EVERY_SECONDS = 0.002


def connect(stack: ExitStack, broker: Broker, count: int) -> list[RawClient]:
    """Open connections that are closed with the stack."""
    clients = [stack.enter_context(raw_client(broker)) for _ in range(count)]
    for client in clients:
        client.socket.settimeout(120)
    return clients


def call_all(clients: Sequence[RawClient], requests: Iterable[Any], version: int) -> list[Any]:
    """Send a request on each connection, then read all answers."""
    for client, request in zip(clients, requests, strict=True):
        client.send(request, version)
    return [client.receive() for client in clients]


class ClassicMember:
    """A member of the classic protocol with its connection."""

    def __init__(self, client: RawClient, group_id: str, topic: str) -> None:
        self.client = client
        self.group_id = group_id
        self.member_id = ""
        self.generation = -1
        self.joined: Any = None
        metadata = encode_subscription(ConsumerProtocolSubscription(topics=[topic]))
        self._protocols = [JoinGroupRequestProtocol(name="range", metadata=metadata)]

    def joining(self) -> JoinGroupRequest:
        """Return its next JoinGroup."""
        return JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=self._protocols,
        )

    def syncing(self) -> SyncGroupRequest:
        """Return its SyncGroup; the leader's gives every member something."""
        given = []
        if self.joined.leader == self.member_id:
            given = [
                SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"yours")
                for member in self.joined.members
            ]
        return SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=given,
        )


def join_classic(members: Sequence[ClassicMember]) -> None:
    """Bring members into their groups, all at once."""
    clients = [member.client for member in members]
    told = call_all(clients, (member.joining() for member in members), 9)
    for member, answer in zip(members, told, strict=True):
        member.member_id = answer.member_id
    answers = call_all(clients, (member.joining() for member in members), JOIN_VERSION)
    for member, answer in zip(members, answers, strict=True):
        assert answer.error_code == 0, answer
        member.joined, member.generation = answer, answer.generation_id
    for answer in call_all(clients, (member.syncing() for member in members), SYNC_VERSION):
        assert (answer.error_code, answer.assignment) == (0, b"yours"), answer


class Pinger:
    """A client that keeps asking for ApiVersions; its longest wait shows how long the server's loop was busy.

    The time that server and client waited for a core that others had is subtracted.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._stopping = threading.Event()
        self.longest_ms = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Pinger:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        with raw_client(self._broker) as client:
            while not self._stopping.is_set():
                began, queued = time.perf_counter(), self._queued_seconds()
                client.call(ApiVersionsRequest(), 2)
                waited = time.perf_counter() - began - (self._queued_seconds() - queued)
                self.longest_ms = max(self.longest_ms, waited * 1_000)
                time.sleep(PING_EVERY_SECONDS)

    def _queued_seconds(self) -> float:
        own = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text().split()[1]
        return self._broker.process.queued_seconds() + int(own) / 1e9


def seconds(work: Callable[[], object]) -> float:
    """Return the time that `work` takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
