"""A broker of durability `remote` whose threads for the store run when the test says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker.upkeep.remote_copy import CopyState
from protocol.messages.create_topics import CreateTopicsRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import creation, fetching, outcomes, producing
from tests.broker.upkeep.copies import copy_of
from wal.memory_disk import MemoryDisk
from wal.memory_objects import MemoryObjects
from wal.remote.journal import JournalState
from wal.remote.restore import RemoteRestore

Done = Callable[[Exception | None], None]


class Remote:
    """The broker, the store, and the calls of the store that wait for a thread."""

    def __init__(
        self,
        objects: MemoryObjects | None = None,
        disk: MemoryDisk | None = None,
        *,
        incarnation: str = "a",
        **settings: Any,
    ) -> None:
        values = {"kawal_durability": "remote", "kawal_remote_store": "s3://b", "kawal_vnodes": 1}
        self.gateway = Gateway(disk, **{**values, "kawal_segment_bytes": 1 << 16, **settings})
        self.objects = objects or MemoryObjects()
        self.threads: list[tuple[Callable[[], object], Done]] = []
        self.copy = copy_of(
            self.gateway,
            self.objects,
            incarnation=incarnation,
            submit=lambda work, done: self.threads.append((work, done)),
        )
        self.client = self.gateway.client()

    @property
    def is_open(self) -> bool:
        """Whether the journal follows a cut, so that commits can be stored."""
        return self.copy.journal._journal.state is JournalState.OPEN

    @property
    def is_stopped(self) -> bool:
        """Whether the copy, and all that waits for the store, has stopped for good."""
        return self.copy.counts.state is CopyState.STOPPED

    def run(self, nth: int = 0) -> None:
        """Have a thread do one of the calls that wait, and the event loop learn of it."""
        work, done = self.threads.pop(nth)
        error: Exception | None = None
        try:
            work()
        except Exception as failure:  # noqa: BLE001  (as in a thread)
            error = failure
        done(error)
        self.gateway.settle()

    def run_all(self) -> None:
        """Do all disk work, and all calls of the store."""
        self.gateway.settle()
        while self.threads:
            self.run()

    def opened(self, *topics: str, partitions: int = 1) -> Remote:
        """Have the journal follow a cut, and make topics."""
        self.gateway.advance(1)
        self.run_all()
        assert self.is_open
        return self.with_topics(*topics, partitions=partitions)

    def opened_without_journal(self, *topics: str) -> Remote:
        """Have the first round done, and make topics."""
        self.gateway.advance(1_100)
        self.run_all()
        assert not self.is_open
        return self.with_topics(*topics)

    def with_topics(self, *topics: str, partitions: int = 1, database: str = "default") -> Remote:
        """Make topics."""
        for name in topics:
            (made,) = self.call(
                CreateTopicsRequest(topics=[creation(name, partitions, kawal_database=database)]), 7
            ).topics
            assert made.error_code == 0, made
        return self

    def call(self, request: Any, version: int) -> Any:
        """Send a request, let everything run, and return the answer."""
        client = self.gateway.client()
        client.send(request, version)
        self.run_all()
        (answer,) = client.answers()
        return answer

    def produce(self, data: bytes | bytearray, name: str = "t", partition: int = 0) -> Client:
        """Send a batch on a connection of its own, and have it written; return the connection."""
        client = self.gateway.client()
        client.send(producing((name, partition, data)), 9)
        self.gateway.settle()
        return client

    def end_mark(self, name: str = "t", partition: int = 0) -> int:
        """Return the high watermark that a fetch is told."""
        client = self.gateway.client()
        client.send(fetching({(name, partition): 0}), 12)
        self.gateway.settle()
        (answer,) = client.answers()
        (outcome,) = answer.responses[0].partitions
        mark: int = outcome.high_watermark
        return mark


def told(client: Client) -> list[tuple[int, int]]:
    """Return error and offset of each answer to a produce that has come."""
    return [(o.error_code, o.base_offset) for answer in client.answers() for o in outcomes(answer)]


def restarted_elsewhere(remote: Remote, incarnation: str = "z") -> Remote:
    """Return a broker on a directory that was restored from the store."""
    disk, cluster_id = MemoryDisk(), remote.gateway.broker.cluster_id
    for _ in RemoteRestore(remote.objects, disk, cluster_id=cluster_id, data="/data").run():
        pass
    fresh = Remote(remote.objects, disk, incarnation=incarnation)
    fresh.opened()
    return fresh
