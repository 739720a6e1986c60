"""A broker with a topic of jobs, and one for their dead letters."""

from __future__ import annotations

from uuid import UUID

from protocol.record_reader import Record, iter_records
from protocol.records import iter_batches
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send
from tests.broker.shares import REJECT, Member, configure
from wal.segment import FileRange

TAKES = {"errors.deadletterqueue.group.enable": "true"}


class Tail:
    """A broker with a topic `jobs`, a topic `dlq.jobs` for its dead letters, and a share group."""

    def __init__(
        self, *, vnodes: int = 1, has_topic: bool = True, partitions: int = 1, gateway: Gateway | None = None
    ) -> None:
        self.gateway = gateway or Gateway(kawal_vnodes=vnodes)
        self.topic_id: UUID = create(self.gateway.client(), "jobs", partitions)
        if has_topic:
            create(self.gateway.client(), "dlq.jobs", 1, **TAKES)
        self.settings(share_auto_offset_reset="earliest", share_delivery_count_limit="2")
        self.settings(errors_deadletterqueue_topic_name="dlq.jobs")
        self.place = (self.topic_id, 0)

    def settings(self, **settings: str) -> None:
        configure(self.gateway, **settings)

    def produce(self, *records: bytes, index: int = 0) -> None:
        send(self.gateway.client(), "jobs", batch(*records), index)

    def member(self, name: str = "m1") -> Member:
        return Member(self.gateway, name, "jobs")

    def letters(self, index: int = 0, topic: str = "dlq.jobs") -> list[Record]:
        self.gateway.settle()
        return records_of(self.gateway, topic, index)

    def offsets(self) -> list[int]:
        return [int(told(letter)["offset"]) for letter in self.letters()]

    def start(self) -> int:
        """Return the first offset that the group has not finished."""
        self.gateway.settle()
        with self.gateway.broker.coordinators.shares.step(self.gateway.now_ms) as machine:
            (key,) = machine.keys_of("g")
            found = machine.find(key)
        assert found is not None
        return found.start


def records_of(gateway: Gateway, topic: str, index: int = 0) -> list[Record]:
    partition = gateway.partition(topic, index)
    if partition.log_start == partition.high_watermark:
        return []
    parts = partition.read(partition.log_start, 1 << 24).parts
    data = b"".join(part.read() if isinstance(part, FileRange) else bytes(part) for part in parts)
    return [record for found in iter_batches(data) for record in iter_records(found)]


def told(letter: Record) -> dict[str, str]:
    """Return what a letter says, by the last part of the headers' names."""
    prefix = "__dlq.errors."
    return {
        name.removeprefix(prefix): (value or b"").decode()
        for name, value in letter.headers
        if name.startswith(prefix)
    }


def rejected(tail: Tail, count: int = 2) -> None:
    """Have records rejected, from the first on."""
    member = tail.member()
    tail.produce(*[b"%d" % number for number in range(count)])
    member.fetch(tail.place)
    member.acknowledge(tail.place, (0, count - 1, [REJECT]))
    tail.gateway.settle()


def later(tail: Tail) -> None:
    tail.gateway.advance(60_000)
