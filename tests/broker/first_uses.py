"""A program in which requests of many kinds meet a fresh broker; it prints what they make on the event loop.

    python -m tests.broker.first_uses

Imports, codecs, weights and constructors are looked at, each of which takes milliseconds at its first use.  A
thread may make them: of that, nothing is printed.  A line is `during WHAT: MODULE` or `during WHAT: FUNCTION
NAME`, and the last one says how many kinds of clients there were.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from broker.connections import message_weight
from broker.start import open_broker
from protocol import schema, wire
from protocol.api_keys import ApiKey
from protocol.headers import encode_request_header
from protocol.messages.leave_group import LeaveGroupRequest
from tests.broker.gateway import Client, Gateway, take_outgoing
from tests.broker.groups import beating, committing, join
from tests.broker.kit import batch, create, producing, read
from tests.broker.shares import Member
from tests.broker.txn import Producer

MAKERS = (
    (wire, "_make_decoder"),
    (wire, "_make_narrow_decoder"),
    (wire, "_make_encoder"),
    (message_weight, "_make_weigh"),
    (schema, "_write_init"),
)


class Watch:
    """Says whether the broker's loop works now, and what it makes."""

    def __init__(self) -> None:
        self.on_loop = False
        self.during = "the start"
        self.made: list[str] = []

    def note(self, what: str) -> None:
        if self.on_loop:
            self.made.append(f"during {self.during}: {what}")

    @contextmanager
    def working(self, *, on_loop: bool) -> Iterator[None]:
        """Work on the loop, or in a thread."""
        before, self.on_loop = self.on_loop, on_loop
        try:
            yield
        finally:
            self.on_loop = before

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Note an import, and leave it to the others; modules without parents are the standard library's."""
        if "." in name or name == "construct":
            self.note(name)

    def see(self, module: Any, name: str) -> None:
        """Note calls of a function that makes something for a class."""
        make: Callable[..., Any] = getattr(module, name)

        def noted(cls: Any, *rest: Any) -> Any:
            self.note(f"{name} {getattr(cls, 'cls', cls).__name__}")
            return make(cls, *rest)

        setattr(module, name, noted)


class Watched(Gateway):
    """A broker whose loop is watched."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        super().__init__(group_initial_rebalance_delay_ms=0)

    def _open(self) -> Any:
        def offload(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
            with self.watch.working(on_loop=False):
                work()
            done(None)

        broker: Any = open_broker(
            self.disk,
            self.config,
            random=Random(1),
            now_ms=self.now_ms,
            wall_ms=self.now_ms,
            offload=offload,
        )
        for owner, names in (
            (broker.intake, ("receive", "resume")),
            (broker.scheduler, ("run",)),
            (broker, ("tick", "job_done", "take_jobs")),
        ):
            for name in names:
                self._watch(owner, name)
        return broker

    def _watch(self, owner: Any, name: str) -> None:
        do = getattr(owner, name)

        def watched(*args: Any, **named: Any) -> Any:
            with self.watch.working(on_loop=True):
                return do(*args, **named)

        setattr(owner, name, watched)


def main() -> None:
    """Let clients of all kinds do what they do first."""
    watch = Watch()
    for module, name in MAKERS:
        watch.see(module, name)
    sys.meta_path.insert(0, watch)  # it finds nothing
    gateway = Watched(watch)
    client = gateway.client()
    for what, do in STEPS.items():
        watch.during = what
        do(gateway, client)
    sys.stdout.write("".join(f"{line}\n" for line in [*watch.made, f"{len(STEPS)} kinds of clients"]))


def _unknown_versions(gateway: Gateway, _: Client) -> None:
    client = gateway.client()
    header = encode_request_header(
        api_key=ApiKey.API_VERSIONS, api_version=99, correlation_id=1, client_id="new"
    )
    client.send_bytes(struct.pack(">i", len(header)) + header)
    gateway.settle()
    assert len(take_outgoing(client.connection)) > 100


def _write_and_read(_: Gateway, client: Client) -> None:
    create(client, "t")
    client.call(producing(("t", 0, batch(b"v"))), 9)
    assert read(client, "t") == [b"v"]


def _classic(_: Gateway, client: Client) -> None:
    member = join(client, "classic")
    assert client.call(committing("classic", ("t", 0, 1), member=member), 8).topics
    assert client.call(LeaveGroupRequest(group_id="classic", member_id=member[0]), 1).error_code == 0


def _consumer(gateway: Gateway, client: Client) -> None:
    for member_id, wanted in (("a", {"topics": ["t"]}), ("b", {"regex": "t.*"})):
        assert client.call(beating("consumer", member_id, **wanted), 1).error_code == 0
    gateway.advance(1_000)
    assert client.call(beating("consumer", "b", epoch=1), 1).error_code in (0, 110)


def _shares(gateway: Gateway, client: Client) -> None:
    topic_id = create(client, "queue")
    client.call(producing(("queue", 0, batch(b"v"))), 9)
    member = Member(gateway, "m", "queue", group="shares")
    gateway.advance(1_000)
    member.beat()
    member.fetch((topic_id, 0))
    assert member.acknowledge((topic_id, 0)).error_code == 0


def _transaction(gateway: Gateway, _: Client) -> None:
    producer = Producer(gateway, "tx")
    producer.write("t", 0, b"a")
    producer.commit()


STEPS: dict[str, Callable[[Gateway, Client], None]] = {
    "ApiVersions of a later version": _unknown_versions,
    "a record": _write_and_read,
    "a classic group": _classic,
    "a consumer group": _consumer,
    "a share group": _shares,
    "a transaction": _transaction,
}

if __name__ == "__main__":
    main()
