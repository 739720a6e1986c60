"""One run of the whole broker: a seed chooses what happens, what arrives when, what breaks and what dies.

    Simulation(seed).run()      raises AssertionError when a promise is broken; `trace` tells what happened

The same seed gives the same trace, so that a seed in a bug report is the bug.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.record_reader import iter_records
from protocol.records import iter_batches
from tests.sim.admins import Admin
from tests.sim.clients import Link
from tests.sim.consumers import Consumer
from tests.sim.history import History
from tests.sim.producers import IdempotentProducer, PlainProducer
from tests.sim.scenario import Scenario, Step
from tests.sim.world import BREAKABLE, World

DRAIN_ROUNDS = 60

WALL_SHIFTS_MS = (0, 0, -3_600_000, 3_600_000, 1_000, -1_000, 315_360_000_000)
"""The leads of the wall clock over the other one: up to ten years."""


class Simulation(Scenario):
    """A world, its actors and the history of what they were told."""

    ADVANCES_MS = (1, 10, 100, 1_000, 6_000)

    def __init__(self, seed: int, *, steps: int = 500, history: History | None = None) -> None:
        super().__init__(seed, steps=steps)
        chance = self.chance
        # Durability `os` survives the end of the process only.
        self.weak = chance.random() < 0.15
        self.breaks = chance.random() < 0.6
        self.world = World(
            chance,
            snapshot_bytes=chance.choice((300, 2_000, 1 << 20)),
            kawal_durability="os" if self.weak else "disk",
            kawal_vnodes=chance.choice((1, 2, 3)),
            kawal_segment_bytes=chance.choice((8_000, 30_000, 1 << 20)),
            kawal_tail_cache_bytes=chance.choice((0, 20_000, 1 << 20)),
            kawal_min_free_bytes=chance.choice((0, 50_000)),
            log_retention_check_interval_ms=chance.choice((1_000, 20_000)),
            log_segment_delete_delay_ms=chance.choice((0, 5_000)),
            checkpoint_ns=chance.choice((1, 500_000, 800_000_000)),
            num_partitions=2,
        )
        self.history = history or History()
        parts = (self.world, self.history, chance)
        self.admin = Admin(*parts, "a0")
        self.idempotent = [IdempotentProducer(*parts, f"i{number}") for number in range(3)]
        self.actors: list[Any] = [
            *self.idempotent,
            PlainProducer(*parts, "p0"),
            PlainProducer(*parts, "p1"),
            Consumer(*parts, "c0", uses_session=False),
            Consumer(*parts, "c1", uses_session=True),
            self.admin,
        ]
        # A directory that cannot be synced ends in a new mount, which costs the page cache.
        self._breakable = [kind for kind in BREAKABLE if kind != "sync_directory" or not self.weak]
        self._table = self._what_may_happen()

    def _what_may_happen(self) -> list[tuple[float, Step]]:
        """Return the steps, with how often they happen."""
        table: list[tuple[float, Step]] = [
            (30, self._act),
            (25, self._push_some),
            (25, self._pull_some),
            (45, self._work),
            (4, self._advance),
            (2, self._settle),
            (0.7, self._hang_up),
            (0.3, self._kill),
            (0.2, self._stop),
            (0.2, self._jump),
        ]
        if not self.weak:
            table += [(0.3, self._cut_power), (0.6, self._cut_power_soon)]
        if self.breaks:
            table += [(1.2, self._break), (0.2, self._break_for_long), (0.2, self._fill), (0.6, self._heal)]
        return table

    def _play(self) -> None:
        for _ in range(3):
            self.trace.append(self.admin.create())
            self._happen(self._exchange)
        assert len(self.history.topics) == 3, "nothing is broken yet, and topics are not made"
        self._happen_by_chance()
        self._happen(self._heal)
        self._happen(self.chance.choice((self._stop, self._kill, self._settle)))
        self._drain()
        self._check_all()
        self._happen(self._stop)
        self._check_all()

    def _happen(self, step: Step) -> None:
        broker = self.world.broker
        super()._happen(step)
        if broker is not self.world.broker:
            self.history.in_doubt.clear()
        self._look()
        if self.world.is_sound():
            self.history.logs_are_sound()

    def _look(self) -> None:
        for topic, partition in self.world.partitions():
            self.history.sample(topic, partition)

    # --- what may happen -------------------------------------------------------------------------------

    def _act(self) -> str:
        actor = self.chance.choice(self.actors)
        return f"{actor.name} {actor.step()}"

    def _jump(self) -> str:
        self.world.wall_shift_ms = self.chance.choice(WALL_SHIFTS_MS)
        return f"the wall clock is {self.world.wall_shift_ms} ms ahead"

    def _stop(self) -> str:
        self.world.stop()
        return "stop"

    def _cut_power(self) -> str:
        again = self.chance.choice((None, None, self.chance.randrange(60)))
        self._power_fails(again)
        return f"cut power, again after {again}"

    # --- the end ---------------------------------------------------------------------------------------

    def _drain(self) -> None:
        """Let every idempotent producer finish; that it can is part of the promise."""
        for _ in range(DRAIN_ROUNDS):
            self._happen(self._exchange)
            self.world.advance(1_500)
            for producer in self.idempotent:
                self.trace.append(f"{producer.name} {producer.step(drain=True)}")
            if all(producer.is_done for producer in self.idempotent):
                break
        else:
            raise AssertionError("a producer does not come to an end")
        self._happen(self._exchange)

    def _pass_time(self) -> str:
        self.world.advance(25_000)
        return "time passes"

    def _check_all(self) -> None:
        # Streams of deleted topics that a failed log kept are dropped when retention runs next.
        self._happen(self._pass_time)
        self._happen(self._settle)
        topics = {
            key: topic for key, topic in self.world.broker.catalogue.by_id.items() if topic.view is None
        }
        self.history.check_catalogue({key: topic.partition_count for key, topic in topics.items()})
        for topic_id, topic in topics.items():
            self.history.saw_topic(topic_id, topic.name, topic.partition_count)
            for index in range(topic.partition_count):
                self.history.check_partition(topic_id, index, self._read_all(topic_id, index))
        owned = {stream for topic in topics.values() for stream in topic.stream_ids()}
        for vnodes in self.world.broker.vnodes.values():
            for vnode in vnodes:
                assert set(vnode.log.streams()) <= owned, "streams that no topic owns are kept"

    def _read_all(self, topic_id: UUID, index: int) -> dict[int, bytes]:
        """Return all records of a partition, as a new consumer reads them."""
        link = Link(self.world)
        records: dict[int, bytes] = {}
        marks = self.history.marks_of(topic_id, index)
        position = marks.log_start
        while position < marks.high_watermark:
            answers: list[Any] = []
            asked = FetchPartition(partition=index, fetch_offset=position, partition_max_bytes=1 << 20)
            topic = FetchTopic(topic_id=topic_id, partitions=[asked])
            link.send(FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic]), 13, answers.append)
            link.push(1 << 30)
            link.pull()
            data = answers[0].responses[0].partitions[0]
            assert not data.error_code, data
            before = position
            for batch in iter_batches(data.records):
                for record in iter_records(batch):
                    if record.offset >= position:
                        assert record.value is not None
                        records[record.offset] = record.value
                position = max(records) + 1
            assert position > before, f"{topic_id}/{index} cannot be read from {position} on"
        link.close()
        return records
