"""Readers of a topic whose partitions split, one of each kind of group, that die before they commit.

Each is a script of requests, like the transactional clients (tests/sim/transactions_client.py). What a group
sees for the first time goes into its `Seen`, however often members die, and is judged there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from random import Random
from typing import Any, ClassVar
from uuid import UUID

from groups.split_gates import has_ancestor_in
from protocol.consumer_protocol import (
    ConsumerProtocolAssignment,
    TopicPartition,
    decode_assignment,
    encode_assignment,
)
from protocol.error_codes import ErrorCode as E
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.record_reader import iter_records
from protocol.records import iter_batches, read_batch_header
from tests.broker.groups import beating, codes, committing, fetching_offsets, joining, syncing
from tests.broker.kit import fetched, fetching
from tests.sim.clients import Link
from tests.sim.world import World

READ_COMMITTED = 1

ABORT = b"\0\0\0\0"
"""The key of the marker of an aborted transaction: version 0, type 0."""

GONE = (E.UNKNOWN_MEMBER_ID, E.FENCED_MEMBER_EPOCH, E.GROUP_ID_NOT_FOUND)
"""The answers to a heartbeat after which a member joins anew."""

Asking = Generator[tuple[Any, int], Any, Any]

Row = tuple[int, bytes, int]
"""Offset, key and number of a record."""


def committed(data: bytes, aborted: Iterable[tuple[int, int]]) -> list[Row]:
    """Return the records that a reader of committed data shows; `aborted` has producers and first offsets."""
    left = sorted((offset, producer) for producer, offset in aborted)
    open_now: set[int] = set()
    found: list[Row] = []
    for batch in iter_batches(data):
        header = read_batch_header(batch)
        while left and left[0][0] <= header.last_offset:
            open_now.add(left.pop(0)[1])
        if header.is_control:
            if header.record_count and next(iter(iter_records(batch))).key == ABORT:
                open_now.discard(header.producer_id)
        elif not header.is_transactional or header.producer_id not in open_now:
            rows = iter_records(batch)
            found += [(row.offset, row.key or b"", int(row.value or b"-1")) for row in rows]
    return found


class Seen:
    """The records that a group has seen first, by key."""

    def __init__(self) -> None:
        self.by_key: dict[bytes, list[int]] = {}
        self.values: set[int] = set()
        self.partitions: set[int] = set()
        self.on_first: Callable[[int], None] = lambda _partition: None
        """Called with each partition before its first records are taken in."""

    def add(self, partition: int, rows: Iterable[Row]) -> None:
        """Take in what a member was given; numbers that came before are repetitions."""
        rows = list(rows)
        if rows and partition not in self.partitions:
            self.on_first(partition)
            self.partitions.add(partition)
        for _, key, number in rows:
            if number not in self.values:
                self.values.add(number)
                self.by_key.setdefault(key, []).append(number)


class Reader:
    """One member at a time of a group; `DIES` is the chance of each step that it ends without a word."""

    DIES: ClassVar[float] = 0.02

    def __init__(self, world: World, chance: Random, name: str, topic_id: UUID) -> None:
        self.world, self.chance, self.name, self.topic_id = world, chance, name, topic_id
        self.seen = Seen()
        self.lives = 0
        self.is_draining = False
        self.positions: dict[int, int] = {}
        self.progress: set[int] = set()
        """The partitions in which the group has committed."""
        self._link: Link | None = None
        self._question: object | None = None
        self._answer: Any = None
        self._script = self.life()

    @property
    def member(self) -> str:
        """The name of the present member."""
        return f"{self.name}-{self.lives}"

    def step(self) -> str:
        """Do the next thing."""
        if not self.is_draining and self.chance.random() < self.DIES:
            self._leave_link()
            self._script = self.life()
            self._answer = None
            return f"{self.name} dies"
        if self._question is not None:
            return f"{self.name} waits"
        answer, self._answer = self._answer, None
        request, version = self._script.send(answer)
        if self._link is None or not self._link.is_open:
            self._link = Link(self.world)
        question = self._question = object()

        def done(found: Any) -> None:
            if self._question is question:
                self._question, self._answer = None, found

        self._link.send(request, version, done)
        return f"{self.member} sends {type(request).__name__}"

    def _leave_link(self) -> None:
        link, self._link, self._question = self._link, None, None
        if link is not None:
            link.close()

    def life(self) -> Generator[tuple[Any, int], Any, Any]:
        """Be one member after the other, for ever; the first value sent is None."""
        while True:
            self.lives += 1
            self.positions = {}
            yield from self.live()

    def live(self) -> Asking:
        """Be a member until the group knows it no more."""
        raise NotImplementedError

    def hold(self, partitions: Iterable[int]) -> Asking:
        """Have exactly these partitions, new ones from where the group has committed."""
        wanted = set(partitions)
        self.positions = {index: self.positions[index] for index in self.positions if index in wanted}
        for index in sorted(wanted - set(self.positions)):
            answer = yield fetching_offsets(self.name, ("t", index)), 9
            if answer is None or answer.groups[0].error_code:
                return
            (found,) = answer.groups[0].topics[0].partitions
            if found.error_code:
                return
            self.positions[index] = found.committed_offset
            if found.committed_offset < 0:
                self.positions[index] = self._reset_position(index)

    def _reset_position(self, index: int) -> int:
        """Return where a member begins that was told no offset: as `latest` has it, once there is progress.

        A group that has committed in a partition must never be asked where to begin in its children.
        """
        topic = self.world.broker.find_topic("t")
        if topic.tree is None or not has_ancestor_in(topic.tree, index, self.progress):
            return 0
        return self.world.broker.topics.partition(topic, index).high_watermark

    def read(self) -> Asking:
        """Read on in one partition."""
        if not self.positions:
            return
        index = self.chance.choice(sorted(self.positions))
        asked = fetching({("t", index): self.positions[index]}, isolation_level=READ_COMMITTED)
        answer = yield asked, 11
        if answer is None or index not in self.positions:
            return
        data = fetched(answer)["t", index]
        if data.error_code or not data.records:
            return
        records = bytes(data.records)
        aborted = [(each.producer_id, each.first_offset) for each in data.aborted_transactions or ()]
        rows = [row for row in committed(records, aborted) if row[0] >= self.positions[index]]
        self.seen.add(index, rows)
        *_, last = iter_batches(records)
        self.positions[index] = read_batch_header(last).last_offset + 1

    def commit(self, generation: int) -> Generator[tuple[Any, int], Any, bool]:
        """Commit all positions; return whether the member is still one."""
        if not self.positions:
            return True
        places = [("t", index, offset) for index, offset in sorted(self.positions.items())]
        answer = yield committing(self.name, *places, member=(self.member, generation)), 9
        if answer is None:
            return True
        found = set(codes(answer))
        if found == {0}:
            self.progress |= {index for _, index, _ in places}
        return not {E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION} & found

    def work(self, generation: int) -> Generator[tuple[Any, int], Any, bool]:
        """Read, and commit now and then; return whether the member is still one."""
        for _ in range(self.chance.randint(1, 4)):
            yield from self.read()
        if self.is_draining or self.chance.random() < 0.5:
            return (yield from self.commit(generation))
        return True


class NewReader(Reader):
    """A member of the new protocol."""

    def live(self) -> Asking:
        """Send heartbeats, and read what they give."""
        epoch, told = 0, True
        while True:
            owned = {self.topic_id: sorted(self.positions)} if epoch and told else None
            topics = None if epoch else ["t"]
            answer = yield beating(self.name, self.member, epoch, topics=topics, owned=owned), 1
            if answer is None:
                continue
            if answer.error_code in GONE:
                return
            if answer.error_code:
                continue
            epoch, told = answer.member_epoch, False
            if answer.assignment is not None:
                entries = answer.assignment.topic_partitions
                yield from self.hold(index for entry in entries for index in entry.partitions)
                told = True
            if not (yield from self.work(epoch)):
                return


class ClassicReader(Reader):
    """A member of the classic protocol, which gives itself all partitions that it knows of."""

    @property
    def member(self) -> str:
        """The id that the server has given."""
        return self._member_id or f"{self.name}-{self.lives}"

    _member_id = ""

    def live(self) -> Asking:
        """Join again and again, and read between."""
        self._member_id = ""
        while True:
            answer = yield joining(self.name, self._member_id), 4
            if answer is None:
                continue
            if answer.error_code == E.MEMBER_ID_REQUIRED:
                self._member_id = answer.member_id
                continue
            if answer.error_code == E.UNKNOWN_MEMBER_ID:
                return
            if answer.error_code:
                continue
            self._member_id, generation = answer.member_id, answer.generation_id
            given: dict[str, bytes] = {}
            if answer.leader == self._member_id:
                given = _assigned([each.member_id for each in answer.members], self._known())
            answer = yield syncing(self.name, self._member_id, generation, **given), 5
            if answer is None or answer.error_code:
                continue
            found = decode_assignment(answer.assignment).assigned_partitions
            yield from self.hold(index for entry in found for index in entry.partitions)
            while (yield from self._beat(generation)) and (yield from self.work(generation)):
                pass

    def _known(self) -> int:
        """Return the number of partitions; its metadata is as old as the last join."""
        topic = self.world.broker.find_topic("t")
        return int(topic.partition_count)

    def _beat(self, generation: int) -> Generator[tuple[Any, int], Any, bool]:
        request = HeartbeatRequest(group_id=self.name, generation_id=generation, member_id=self._member_id)
        answer = yield request, 4
        return answer is None or not answer.error_code or E(answer.error_code) == E.NOT_COORDINATOR


def _assigned(members: list[str], count: int) -> dict[str, bytes]:
    """Divide all partitions among the members."""
    found: dict[str, bytes] = {}
    for number, member in enumerate(members):
        mine = [TopicPartition(topic="t", partitions=list(range(number, count, len(members))))]
        found[member] = encode_assignment(ConsumerProtocolAssignment(assigned_partitions=mine), 1)
    return found
