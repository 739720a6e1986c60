"""Actors of the simulation that make, drop and read views: all, some by `_offset % 3 = r`, and what is unfit.

What a view must show follows from what its source holds: every record whose offset leaves the remainder,
under the same offset, and no other; and readers must come to the end, whatever is left out there.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.record_reader import iter_records
from protocol.records import check_crc, iter_batches, read_batch_header
from tests.sim.actors import GONE, Actor
from tests.sim.clients import Link
from tests.sim.history import VIEW, History
from tests.sim.world import World

MODULUS = 3


@dataclass(slots=True)
class ViewFacts:
    """The facts known about one view; `remainder` is None for one that shows everything."""

    name: str
    source_id: UUID
    remainder: int | None
    drop_asked: bool = False
    dropped: bool = False

    def shows(self, offset: int) -> bool:
        """Whether the view shows the source's record at the offset."""
        return self.remainder is None or offset % MODULUS == self.remainder


class ViewAdmin(Actor):
    """An actor that makes and drops views, and asks to delete sources of views."""

    def __init__(self, world: World, history: History, chance: Random, name: str) -> None:
        super().__init__(world, history, chance, name)
        self.views: dict[UUID, ViewFacts] = {}
        self._names = 0

    def live(self) -> list[tuple[UUID, ViewFacts]]:
        """Return the views that no client has asked to drop."""
        return [(key, facts) for key, facts in self.views.items() if not facts.drop_asked]

    def step(self) -> str:
        """Do one of its duties."""
        if not self.live() or self.chance.random() < 0.5:
            return self._create()
        return self._drop() if self.chance.random() < 0.5 else self._drop_source()

    def _create(self) -> str:
        sources = self.history.live_topics()
        if not sources:
            return "has nothing to view"
        source_id, source = self.chance.choice(sources)
        self._names += 1
        remainder = self.chance.choice((None, 0, 1, 2))
        facts = ViewFacts(f"{VIEW}{self._names}", source_id, remainder)
        is_unfit = self.chance.random() < 0.4
        kind = "UNFIT" if is_unfit else "STABLE" if remainder is None else "SELECT * FROM"
        sql = f"{kind} `{source.name}`"
        if remainder is not None:
            sql += f" WHERE _offset % {MODULUS} = {remainder}"
        topic = CreatableTopic(
            name=facts.name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[],
            configs=[CreatableTopicConfig(name="kawal.sql", value=sql)],
        )

        def done(answer: Any) -> None:
            if answer is None:
                return
            (made,) = answer.topics
            if not made.error_code:
                self.views[made.topic_id] = facts
            elif made.error_code != ErrorCode.KAFKA_STORAGE_ERROR:
                # Topics that a client makes by asking for them declare no columns.
                has_no_columns = is_unfit and "declares none" in (made.error_message or "")
                assert source.deletion_asked or has_no_columns, made

        self.open_link.send(CreateTopicsRequest(topics=[topic]), 7, done)
        return f"views {kind} {source.name} by {remainder} as {facts.name}"

    def _drop(self) -> str:
        topic_id, facts = self.chance.choice(self.live())
        facts.drop_asked = True

        def done(answer: Any) -> None:
            if answer is not None and not answer.responses[0].error_code:
                facts.dropped = True

        self._delete(topic_id, done)
        return f"drops {facts.name}"

    def _drop_source(self) -> str:
        _, facts = self.chance.choice(self.live())
        source = self.history.topics[facts.source_id]

        def done(answer: Any) -> None:
            if answer is None:
                return
            code = answer.responses[0].error_code
            if code not in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.UNKNOWN_TOPIC_ID):
                # It may be dropped only if the view was, in the meantime.
                assert code == ErrorCode.POLICY_VIOLATION or facts.drop_asked, answer

        source.deletion_asked = True
        self._delete(facts.source_id, done)
        return f"asks for the end of {source.name}, which {facts.name} reads"

    def _delete(self, topic_id: UUID, done: Any) -> None:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=topic_id)], timeout_ms=1000)
        self.open_link.send(request, 6, done)


class ViewReader(Actor):
    """A reader that follows one partition of a view at a time by long polls."""

    def __init__(
        self, world: World, history: History, chance: Random, name: str, admin: ViewAdmin, *, named: bool
    ) -> None:
        """Create a reader; a `named` one names its software, and so is told of progress without records."""
        super().__init__(world, history, chance, name)
        self.admin = admin
        self.positions: dict[tuple[UUID, int], int] = {}
        self.is_named = named
        self._waits = False

    def step(self) -> str:
        """Send a fetch when none is under way."""
        if self._waits:
            return "waits"
        live = self.admin.live()
        if not live:
            return "idle"
        topic_id, facts = self.chance.choice(live)
        source = self.history.topics[facts.source_id]
        index = self.chance.randrange(max(1, source.partition_count))
        self._waits = True
        self.fetch(topic_id, facts, index, max_wait_ms=self.chance.choice((0, 100, 500)))
        return f"fetches {facts.name}-{index}"

    def fetch(self, topic_id: UUID, facts: ViewFacts, index: int, *, max_wait_ms: int) -> None:
        """Read on in a partition."""
        position = self.positions.setdefault((topic_id, index), 0)
        asked = FetchPartition(
            partition=index,
            fetch_offset=position,
            partition_max_bytes=self.chance.choice((1, 2_000, 1 << 20)),
        )
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=self.chance.choice((0, 1, 500)),
            isolation_level=self.chance.randrange(2),
            topics=[FetchTopic(topic_id=topic_id, partitions=[asked])],
        )

        def done(answer: Any) -> None:
            self._waits = False
            if answer is not None:
                (data,) = answer.responses[0].partitions
                self._take(topic_id, facts, index, position, data)

        self.open_link.send(request, 13, done)

    def _connected(self, link: Link) -> None:
        if self.is_named:
            hello = ApiVersionsRequest(client_software_name="kgo", client_software_version="1")
            link.send(hello, 3, lambda _: None)

    def _take(self, topic_id: UUID, facts: ViewFacts, index: int, position: int, data: Any) -> None:
        where = f"{facts.name}-{index} at {position}"
        log_start = self.history.marks_of(facts.source_id, index).log_start
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            assert position < log_start, f"{where}: out of range"
            self.positions[topic_id, index] = log_start
        elif data.error_code:
            gone = data.error_code in GONE
            assert gone or data.error_code == ErrorCode.KAFKA_STORAGE_ERROR, f"{where}: {data}"
            if gone and not facts.drop_asked:
                # Only a partition that the source got, and a crash took back, may be unknown.
                assert index >= 1, f"{where}: was deleted, but no client asked for it"
        else:
            self.positions[topic_id, index] = self._read(facts, index, position, data, where, log_start)

    def _read(
        self, facts: ViewFacts, index: int, position: int, data: Any, where: str, log_start: int
    ) -> int:
        """Compare the records with what the source holds; return where to read on."""
        found: set[int] = set()
        end = position
        for batch in iter_batches(data.records or b""):
            header = read_batch_header(batch)
            assert check_crc(batch), f"{where}: {header} has a wrong CRC"
            assert header.last_offset >= end, f"{where}: {header} ends before {end}"
            for record in iter_records(batch) if header.record_count else ():
                assert record.value is not None
                assert facts.shows(record.offset), f"{where}: {record.offset} is not to be shown"
                self.history.seen(facts.source_id, index, record.offset, record.value)
                found.add(record.offset)
            end = header.last_offset + 1
        assert end <= data.high_watermark, where
        expected = {offset for offset in range(max(position, log_start), end) if facts.shows(offset)}
        assert expected <= found, f"{where}: {sorted(expected - found)} are missing"
        return end
