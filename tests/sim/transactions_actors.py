"""The clients of the simulated transactions: writers of the input, copiers from it, and readers of all."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from protocol.error_codes import ErrorCode
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from protocol.record_reader import iter_records
from protocol.records import check_crc, iter_batches, read_batch_header
from tests.sim.clients import Link
from tests.sim.transactions_client import GROUP, INPUT, OUTPUT, Asking, TransactionalClient
from tests.sim.transactions_history import History, Place
from tests.sim.world import World

ABORTS = 0.25
READ_MAX = 5
"""The most records that one transaction copies."""


class Found(NamedTuple):
    """The committed records of an answer, and the place to read on."""

    records: list[tuple[int, bytes]]
    next_offset: int


def committed_records(data: Any, position: int) -> Found:
    """Leave out control records and those of aborted transactions, as Java's and librdkafka's clients do."""
    aborted = [(found.first_offset, found.producer_id) for found in data.aborted_transactions or ()]
    assert aborted == sorted(aborted, key=lambda item: item[0]), f"not sorted by first offset: {aborted}"
    skipped: set[int] = set()
    records: list[tuple[int, bytes]] = []
    start = position
    for batch in iter_batches(data.records or b""):
        header = read_batch_header(batch)
        assert check_crc(batch), f"the batch at {header.base_offset} has a wrong CRC"
        assert header.last_offset >= position, f"{header} ends before {position}"
        while aborted and aborted[0][0] <= header.last_offset:
            skipped.add(aborted.pop(0)[1])
        if header.is_control:
            skipped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in skipped) and header.record_count:
            records += [
                (record.offset, bytes(record.value or b""))
                for record in iter_records(batch)
                if record.offset >= start
            ]
        position = header.last_offset + 1
    assert position <= max(data.last_stable_offset, start), f"{position} > {data.last_stable_offset}"
    return Found(records, position)


def fetching(place: Place, position: int, max_bytes: int) -> FetchRequest:
    """Return a request for committed records."""
    topic, index = place
    asked = FetchPartition(partition=index, fetch_offset=position, partition_max_bytes=max_bytes)
    return FetchRequest(
        max_wait_ms=0, min_bytes=0, isolation_level=1, topics=[FetchTopic(topic=topic, partitions=[asked])]
    )


def progress_asked(index: int, *, is_stable: bool) -> OffsetFetchRequest:
    """Return a request for the group's progress in one input partition."""
    topics = [OffsetFetchRequestTopics(name=INPUT, partition_indexes=[index])]
    group = OffsetFetchRequestGroup(group_id=GROUP, topics=topics)
    return OffsetFetchRequest(groups=[group], require_stable=is_stable)


class Writer(TransactionalClient):
    """A producer that fills the input, and aborts some of its transactions."""

    PARTITIONS = 2

    def work(self) -> Asking:
        """Write a transaction."""
        if self.draining:
            return False
        attempt = self.begin()
        commit = self.chance.random() >= ABORTS
        if self.protocol == 2 and not commit and not self.is_undisturbed and self.chance.random() < 0.2:
            # An abort of nothing: it raises the epoch.
            yield from self.end(attempt, commit=False)
            return True
        count = 0
        for _ in range(self.chance.randint(1, 3)):
            records: dict[int, list[bytes]] = {}
            for index in self.chance.sample(range(self.PARTITIONS), self.chance.randint(1, self.PARTITIONS)):
                size = self.chance.randint(1, 3)
                records[index] = [f"{attempt.name}:{count + number}".encode() for number in range(size)]
                count += size
            yield from self.produce(attempt, records, INPUT)
        yield from self.end(attempt, commit=commit)
        if self.protocol == 1 and not commit:
            yield from self.bump()
        return True


class Copier(TransactionalClient):
    """A client that copies one input partition to the output, with its progress in the same transactions."""

    PARTITIONS = 3

    def __init__(self, *args: Any, source: int, **how: Any) -> None:
        self.source = source
        self.position = -1
        super().__init__(*args, **how)

    def init(self) -> Asking:
        """Fence the instance before, then go on where it has got to."""
        yield from super().init()
        yield from self._go_back()

    def _go_back(self) -> Asking:
        while True:
            answer = yield progress_asked(self.source, is_stable=True), 8
            if answer is None:
                continue
            (group,) = answer.groups
            found = [part for topic in group.topics for part in topic.partitions]
            if not group.error_code and not found[0].error_code:
                break
        offset = found[0].committed_offset
        self.history.saw_progress(self.source, offset, found[0].metadata or "", is_stable=True)
        self.position = max(offset, 0)

    def work(self) -> Asking:
        """Copy a few records."""
        was_draining = self.draining
        while True:
            answer = yield (
                fetching((INPUT, self.source), self.position, self.chance.choice((1, 300, 2_000))),
                12,
            )
            if answer is not None and not answer.responses[0].partitions[0].error_code:
                break
        data = answer.responses[0].partitions[0]
        found = committed_records(data, self.position)
        records = found.records[: self.chance.randint(1, READ_MAX)]
        if not records:
            is_end = was_draining and found.next_offset == data.high_watermark
            self.position = found.next_offset
            return not is_end
        for offset, value in records:
            self.history.saw((INPUT, self.source), offset, value)
        yield from self._copy(records)
        return True

    def _copy(self, records: list[tuple[int, bytes]]) -> Asking:
        attempt = self.begin()
        after = records[-1][0] + 1
        outputs: dict[int, list[bytes]] = {}
        for offset, _ in records:
            value = f"{attempt.name}:{self.source}:{offset}".encode()
            outputs.setdefault(offset % self.PARTITIONS, []).append(value)
        parts = self._parts(outputs)
        sent_before = self.chance.randint(0, len(parts))
        for number, part in enumerate(parts):
            if number == sent_before:
                yield from self.send_offset(attempt, self.source, after)
            yield from self.produce(attempt, part, OUTPUT)
        if sent_before == len(parts):
            yield from self.send_offset(attempt, self.source, after)
        commit = self.draining or self.chance.random() >= ABORTS
        yield from self.end(attempt, commit=commit)
        if commit:
            self.position = after
        elif self.protocol == 1:
            yield from self.bump()

    def _parts(self, outputs: dict[int, list[bytes]]) -> list[dict[int, list[bytes]]]:
        """Return the requests that carry the copies: one for all, or one for each partition."""
        if self.chance.random() < 0.5:
            return [outputs]
        return [{index: values} for index, values in outputs.items()]


class CommittedReader:
    """A reader that follows topics or views at random, and compares what it sees with what was promised."""

    def __init__(
        self, world: World, history: History, chance: Random, places: dict[Place, Place], name: str
    ) -> None:
        """Read the partitions `places`, each with that which stores its records."""
        self.world, self.history, self.chance, self.name = world, history, chance, name
        self.positions = dict.fromkeys(places, 0)
        self.seen: dict[Place, list[tuple[int, bytes]]] = {place: [] for place in places}
        self._sources = places
        self._link: Link | None = None
        self._waits = False

    def step(self) -> str:
        """Send a fetch when none is under way."""
        if self._waits:
            return "waits"
        if self.chance.random() < 0.15:
            return self._look_at_progress()
        place = self.chance.choice(list(self.positions))
        return self.fetch(place, self.chance.choice((1, 200, 1_000, 1 << 20)))

    def _open(self) -> Link:
        if self._link is None or not self._link.is_open:
            self._link = Link(self.world)
        self._waits = True
        return self._link

    def fetch(self, place: Place, max_bytes: int) -> str:
        """Read on in a partition."""
        position = self.positions[place]

        def done(answer: Any) -> None:
            self._waits = False
            if answer is None or (data := answer.responses[0].partitions[0]).error_code:
                return
            found = committed_records(data, position)
            for offset, value in found.records:
                self.history.saw(self._sources[place], offset, value)
            self.seen[place] += found.records
            self.positions[place] = found.next_offset

        self._open().send(fetching(place, position, max_bytes), 12, done)
        return f"fetches {place} from {position}"

    def _look_at_progress(self) -> str:
        index = self.chance.randrange(Writer.PARTITIONS)

        def done(answer: Any) -> None:
            self._waits = False
            if answer is None or answer.groups[0].error_code:
                return
            found = [part for topic in answer.groups[0].topics for part in topic.partitions]
            if found[0].error_code == ErrorCode.NONE:
                self.history.saw_progress(
                    index, found[0].committed_offset, found[0].metadata or "", is_stable=False
                )

        self._open().send(progress_asked(index, is_stable=False), 8, done)
        return f"looks at the progress in {index}"
