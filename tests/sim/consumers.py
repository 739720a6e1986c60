"""Consumers of the simulation: they follow partitions by long polls, with fetch sessions or without."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

from protocol.error_codes import ErrorCode
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from protocol.record_reader import iter_records
from protocol.records import check_crc, iter_batches, read_batch_header
from tests.sim.actors import GONE, Actor
from tests.sim.clients import Link
from tests.sim.history import History
from tests.sim.world import World

Target = tuple[UUID, int]


class Consumer(Actor):
    """A reader of every partition it knows of, from the beginning, that compares records with the history."""

    def __init__(
        self, world: World, history: History, chance: Random, name: str, *, uses_session: bool
    ) -> None:
        super().__init__(world, history, chance, name)
        self._positions: dict[Target, int] = {}
        self._uses_session = uses_session
        self._session_id = 0
        self._epoch = 0 if uses_session else -1
        # What the broker's session holds: the position last told for each partition.
        self._told: dict[Target, int] = {}
        self._waits = False

    def step(self) -> str:
        """Send a fetch when none is under way."""
        if self._waits:
            return "waits"
        self._learn()
        if not self._positions:
            return "idle"
        link = self.open_link
        request = self._request()
        told = dict(self._told)
        self._waits = True

        def done(answer: Any) -> None:
            self._waits = False
            if answer is None:
                self._begin_session()
            else:
                self._take(answer, told)

        link.send(request, 13 if self._uses_session else self.chance.choice((13, 15, 17)), done)
        return f"fetches {len(self._told)} session={request.session_id}/{request.session_epoch}"

    def _learn(self) -> None:
        for topic_id, facts in self.history.topics.items():
            if not facts.deletion_asked:
                for index in range(facts.partition_count):
                    self._positions.setdefault((topic_id, index), 0)

    def _connected(self, link: Link) -> None:
        self._begin_session()

    def _begin_session(self) -> None:
        self._session_id = 0
        self._epoch = 0 if self._uses_session else -1
        self._told = {}

    def _request(self) -> FetchRequest:
        gone = [target for target in self._told if target not in self._positions]
        if self._epoch <= 0:
            self._told = {}
            gone = []
        changed = [item for item, offset in self._positions.items() if self._told.get(item) != offset]
        self.chance.shuffle(changed)
        for target in changed:
            self._told[target] = self._positions[target]
        for target in gone:
            del self._told[target]
        return FetchRequest(
            max_wait_ms=self.chance.choice((0, 100, 500)),
            min_bytes=self.chance.choice((0, 1, 1, 500, 100_000)),
            max_bytes=self.chance.choice((1, 3_000, 1 << 20)),
            session_id=self._session_id,
            session_epoch=self._epoch,
            isolation_level=self.chance.randrange(2),
            topics=[
                FetchTopic(
                    topic_id=topic_id,
                    partitions=[
                        FetchPartition(
                            partition=index,
                            fetch_offset=self._positions[topic_id, index],
                            current_leader_epoch=self.chance.choice(
                                (-1, self.world.broker.topics.leader_epoch)
                            ),
                            partition_max_bytes=self.chance.choice((1, 2_000, 1 << 20)),
                        )
                    ],
                )
                for topic_id, index in changed
            ],
            forgotten_topics_data=[
                ForgottenTopic(topic_id=topic_id, partitions=[index]) for topic_id, index in gone
            ],
        )

    def _take(self, answer: Any, told: dict[Target, int]) -> None:
        if answer.error_code:
            assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND, answer
            self._begin_session()
            return
        if self._uses_session:
            self._session_id = answer.session_id
            self._epoch = self._epoch + 1 if answer.session_id else 0
        for topic in answer.responses:
            for data in topic.partitions:
                target = (topic.topic_id, data.partition_index)
                assert target in told, f"{target} was not asked for"
                self._take_partition(target, told[target], data)

    def _take_partition(self, target: Target, offset: int, data: Any) -> None:
        topic_id, index = target
        log_start = self.history.marks_of(topic_id, index).log_start
        if data.error_code in GONE:
            assert self.history.topics[topic_id].deletion_asked, (
                f"{target} was deleted, but no client asked for it"
            )
            del self._positions[target]
        elif data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            assert offset < log_start, f"{target}: {offset} is out of range"
            self._positions[target] = log_start
        elif data.error_code:
            assert data.error_code == ErrorCode.KAFKA_STORAGE_ERROR, data
        else:
            self._positions[target] = self._read(target, offset, data)

    def _read(self, target: Target, offset: int, data: Any) -> int:
        """Compare the records with the history; return where to read on."""
        topic_id, index = target
        position = offset
        for number, batch in enumerate(iter_batches(data.records)):
            header = read_batch_header(batch)
            assert check_crc(batch), f"{target}: the batch at {header.base_offset} has a wrong CRC"
            fits = header.base_offset <= offset if number == 0 else header.base_offset == position
            assert fits, f"{target}: {header.base_offset} follows {position} (L8)"
            assert header.last_offset >= position
            for record in iter_records(batch):
                assert record.value is not None
                self.history.seen(topic_id, index, record.offset, record.value)
            position = header.last_offset + 1
        assert position <= data.high_watermark
        assert data.log_start_offset <= data.high_watermark
        return position
