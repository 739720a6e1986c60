"""A broker of durability `remote` in the simulation: its disk, its threads, and the clients at it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from broker.upkeep.remote_copy import CopyState
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, creation, outcomes, producing
from tests.broker.upkeep.copies import copy_of
from wal.memory_disk import MemoryDisk
from wal.memory_objects import MemoryObjects
from wal.remote.journal import JournalState

SETTINGS = {
    "kawal_durability": "remote",
    "kawal_remote_store": "s3://bucket",
    "kawal_vnodes": 2,
    "kawal_segment_bytes": 1 << 16,
    "kawal_remote_lag_ms": 500,
    "log_segment_delete_delay_ms": 1_000,
}
PRODUCE = 9
Done = Callable[[Exception | None], None]


class Sent(NamedTuple):
    """A record whose fate is not known: its producer's sequence number orders it among others."""

    name: str
    partition: int
    body: bytes
    sequence: int


class Connection:
    """A client at a process, and what it has asked, in order: one kind of request each."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.asked: list[Sent] = []


class Process:
    """One process; `disk` is its own."""

    def __init__(self, objects: MemoryObjects, disk: MemoryDisk, *, name: str, now_ms: int) -> None:
        self.name = name
        self.gateway = Gateway(disk, start_ms=now_ms, **SETTINGS)
        self.threads: list[tuple[Callable[[], object], Done]] = []
        """Calls of the store that were not made yet."""
        self.ended: list[tuple[Done, Exception | None]] = []
        """Those that were, and of which the event loop has not learned."""
        self.copy = copy_of(self.gateway, objects, incarnation=name, submit=self._submit)
        self.clients: dict[int, Connection] = {}
        self.admin = self.gateway.client()

    def _submit(self, work: Callable[[], object], done: Done) -> None:
        self.threads.append((work, done))

    @property
    def is_stopped(self) -> bool:
        """Whether it was fenced or refused."""
        return self.copy.counts.state is CopyState.STOPPED

    @property
    def epoch(self) -> int:
        """The epoch in which it acknowledges, 0 while it does not."""
        journal = self.copy.journal._journal
        return journal.mark.epoch if journal.state is JournalState.OPEN else 0

    # --- its parts at work -----------------------------------------------------------------------------

    def run_disk(self, random: Random) -> None:
        """Do the disk work that there is, all of it or the first piece."""
        self._turn()
        jobs = list(self.gateway.broker.take_jobs(self.gateway.now_ms))
        random.shuffle(jobs)
        self.gateway.finish(jobs)

    def run_thread(self, random: Random) -> None:
        """Make a call of the store; the event loop learns of it now, or later."""
        if not self.threads:
            return
        work, done = self.threads.pop(random.randrange(len(self.threads)))
        error: Exception | None = None
        try:
            work()
        except AssertionError:
            raise
        except Exception as failure:  # noqa: BLE001  (as a thread of the server does)
            error = failure
        self.ended.append((done, error))
        if random.random() < 0.7:
            self.learn(random)

    def learn(self, random: Random) -> None:
        """Have the event loop learn how a call went."""
        if self.ended:
            done, error = self.ended.pop(random.randrange(len(self.ended)))
            self._turn()
            done(error)

    def pass_time(self, duration_ms: int) -> None:
        """Let timers fire that are due."""
        self.gateway.now_ms += duration_ms
        self._turn()
        self.gateway.broker.tick(self.gateway.now_ms)
        self.gateway.broker.scheduler.run()

    def _turn(self) -> None:
        self.gateway.broker.clock.turn_ms = self.gateway.now_ms

    # --- its clients -----------------------------------------------------------------------------------

    def create(self, name: str) -> None:
        """Ask for a topic with two partitions; the answer is not waited for."""
        self.admin.send(CreateTopicsRequest(topics=[creation(name, 2)]), 7)

    def delete_records(self, name: str, partition: int, offset: int) -> None:
        """Ask for the records before an offset to be removed."""
        item = DeleteRecordsPartition(partition_index=partition, offset=offset)
        topic = DeleteRecordsTopic(name=name, partitions=[item])
        self.admin.send(DeleteRecordsRequest(topics=[topic], timeout_ms=1_000), 2)

    def admin_answers(self) -> list[str]:
        """Return the names of topics that were made."""
        made = []
        for answer in self.admin.answers():
            made += [
                topic.name for topic in answer.topics if getattr(topic, "error_code", 1) == ErrorCode.NONE
            ]
        return made

    def produce(self, producer_id: int, sent: Sent) -> None:
        """Send a record of a producer; the answer is not waited for."""
        if producer_id not in self.clients:
            self.clients[producer_id] = Connection(self.gateway.client())
        connection = self.clients[producer_id]
        data = batch(sent.body, producer=(producer_id, 0, sent.sequence))
        connection.asked.append(sent)
        connection.client.send(producing((sent.name, sent.partition, data)), PRODUCE)

    def answers(self, producer_id: int) -> list[tuple[Sent, int, int]]:
        """Return what was answered to a producer since the last call: error and offset of each record."""
        connection = self.clients.get(producer_id)
        if connection is None:
            return []
        found = []
        for answer in connection.client.answers():
            (outcome,) = outcomes(answer)
            found.append((connection.asked.pop(0), outcome.error_code, outcome.base_offset))
        return found
