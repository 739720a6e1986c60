"""Named producers under chance (kawal.dedup=seqno): sources that start again anywhere, crashes at any moment.

SeqnoSimulation(seed).run()      raises AssertionError when a promise is broken

N1   what was acknowledged can be read, after every crash
N2   no number of a name is stored twice, whatever is sent again, by whichever connection
N3   the numbers of a name ascend in its partition
N4   the last number of a name, as the server tells it, never falls below one that was acknowledged
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.record_reader import iter_records
from protocol.records import check_crc, iter_batches, read_batch_header
from tests.broker.kit import creation, outcomes, producing
from tests.broker.numbered import numbered
from tests.sim.clients import Link
from tests.sim.scenario import Scenario
from tests.sim.simulation import WALL_SHIFTS_MS
from tests.sim.world import World
from wal.named_producers import NONE
from wal.segment import FileRange

PARTITIONS = 3
NAMES = 5
BATCH_MAX = 4

REPEATED = (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_ENOUGH_REPLICAS)
"""The errors after which a client sends again."""


@dataclass(slots=True)
class Source:
    """A program that numbers its records; it forgets where it was and goes back, as after a restart."""

    name: bytes
    partition: int
    numbers: list[int] = field(default_factory=list)
    """All that it has sent, ascending."""
    sure: int = 0
    """As many of them are known to be stored."""
    acked: int = NONE
    """The greatest number that was acknowledged."""
    waiting: bool = False
    link: Link | None = None

    def next_batch(self, chance: Random) -> list[int]:
        """Return some numbers from where it is sure, or from earlier; new ones follow the last."""
        start = self.sure if chance.random() < 0.7 else chance.randrange(self.sure + 1)
        wanted = start + chance.randint(1, BATCH_MAX)
        while len(self.numbers) < wanted:
            last = self.numbers[-1] if self.numbers else -1
            self.numbers.append(last + chance.choice((1, 1, 2, 1_000)))
        return self.numbers[start:wanted]

    def answered(self, batch: list[int], answer: Any) -> None:
        """Learn the outcome of a batch."""
        self.waiting = False
        if answer is None:
            return
        (outcome,) = outcomes(answer)
        if outcome.error_code:
            assert outcome.error_code in REPEATED, outcome
            return
        self.sure = max(self.sure, self.numbers.index(batch[-1]) + 1)
        self.acked = max(self.acked, batch[-1])


class SeqnoSimulation(Scenario):
    """One broker, one topic over several logs, and sources that send their records again and again."""

    ADVANCES_MS = (1, 10, 100, 2_000, 20_000)
    ROOMS_BYTES = (0, 1_000, 50_000)
    CALLS_BEFORE_CUT_MAX = 20

    def __init__(self, seed: int, *, steps: int = 700) -> None:
        super().__init__(seed, steps=steps)
        chance = self.chance
        self.world = World(
            chance,
            kawal_vnodes=chance.choice((1, 2, 3)),
            kawal_segment_bytes=chance.choice((8_000, 30_000)),
            kawal_tail_cache_bytes=chance.choice((0, 20_000)),
            checkpoint_ns=chance.choice((1, 500_000)),
        )
        self.sources = [Source(b"source-%d" % number, number % PARTITIONS) for number in range(NAMES)]
        self.binds = chance.random() < 0.5
        self.crashes = self.repeated = 0
        self._table = [
            (40, self._send),
            (25, self._push_some),
            (25, self._pull_some),
            (45, self._work),
            (4, self._advance),
            (1, self._hang_up),
            (0.5, self._move),
            (0.3, self._jump),
            (1.5, self._trouble),
        ]

    def _play(self) -> None:
        self._create_topic()
        self._happen_by_chance()
        self._happen(self._heal)
        self._happen(self.chance.choice((self._stop, self._kill, self._settle)))
        self._finish()
        self.check()
        self._happen(self._kill)
        self.check()

    def _create_topic(self) -> None:
        configs = {"kawal_dedup": "seqno", **({"kawal_routing": "producer-bind"} if self.binds else {})}
        link = Link(self.world)
        request = CreateTopicsRequest(topics=[creation("t", PARTITIONS, **configs)])
        link.send(request, 7, lambda _answer: None)
        self._exchange()

    def _finish(self) -> None:
        """Let every source send what it has, until all of it is acknowledged."""
        for source in self.sources:
            for _ in range(20):
                if source.sure == len(source.numbers):
                    break
                self._exchange()
                # What was on its way may have been all.
                if rest := source.numbers[source.sure :][:BATCH_MAX]:
                    self._send_from(source, rest)
                self._exchange()
                self.world.advance(1_500)
            else:
                raise AssertionError(f"{source.name!r} does not come to an end")

    # --- what may happen -------------------------------------------------------------------------------

    def _send(self) -> str:
        source = self.chance.choice(self.sources)
        if source.waiting:
            return f"{source.name!r} waits"
        return self._send_from(source, source.next_batch(self.chance))

    def _send_from(self, source: Source, batch: list[int]) -> str:
        if source.link is None or not source.link.is_open:
            source.link = Link(self.world)
        source.waiting = True
        records = numbered(*batch, name=source.name)
        source.link.send(
            producing(("t", source.partition, records)), 9, lambda answer: source.answered(batch, answer)
        )
        return f"{source.name!r} sends {batch}"

    def _move(self) -> str:
        """Let a source go on in another partition, once it is sure of all that it has sent."""
        source = self.chance.choice(self.sources)
        if self.binds or source.waiting or source.sure < len(source.numbers):
            return f"{source.name!r} stays"
        source.partition = self.chance.randrange(PARTITIONS)
        return f"{source.name!r} moves to {source.partition}"

    def _jump(self) -> str:
        self.world.wall_shift_ms = self.chance.choice(WALL_SHIFTS_MS)
        return f"the wall clock is {self.world.wall_shift_ms} ms ahead"

    def _trouble(self) -> str:
        trouble = self.chance.choice(
            (
                self._break, self._break_for_long, self._fill, self._heal, self._heal,
                self._cut_power_soon, self._cut_power, self._kill, self._stop,
            )
        )  # fmt: skip
        return trouble()

    def _stop(self) -> str:
        self._crash(self.world.stop)
        return "stop"

    def _cut_power(self) -> str:
        self._power_fails(self.chance.choice((None, self.chance.randrange(60))))
        return "cut power"

    # --- what must hold --------------------------------------------------------------------------------

    def _happen(self, step: Any) -> None:
        broker = self.world.broker
        super()._happen(step)
        self._check_numbers()
        if broker is not self.world.broker:
            self.crashes += 1
            self.repeated += sum(vnode.repeated_records for vnode in broker.vnodes.every)
            if self.world.is_sound():
                self.check()

    def _check_numbers(self) -> None:
        """Check that no name's last number is below one that was acknowledged."""
        broker = self.world.broker
        scope = broker.find_topic("t").stream_id(0)
        logs = [vnode.log for vnode in broker.vnodes.every]
        for source in self.sources:
            states = [log.named_producers.of(scope, source.name) for log in logs]
            last = max((state.last_seqno for state in states if state is not None), default=NONE)
            assert last >= source.acked, (
                f"{source.name!r} is at {last}, and {source.acked} was acknowledged (N4)"
            )

    def check(self) -> None:
        """Compare all records that can be read with what was acknowledged."""
        stored: dict[bytes, set[int]] = {source.name: set() for source in self.sources}
        for index in range(PARTITIONS):
            newest: dict[bytes, int] = {}
            for name, number in self._read(index):
                assert number not in stored[name], f"{name!r} {number} is stored twice (N2)"
                assert newest.get(name, NONE) < number, f"{name!r} {number} stands too late (N3)"
                stored[name].add(number)
                newest[name] = number
        for source in self.sources:
            sure = set(source.numbers[: source.sure])
            assert sure <= stored[source.name], f"{source.name!r} lost {sure - stored[source.name]} (N1)"
            assert stored[source.name] <= set(source.numbers), f"{source.name!r} has what was never sent"

    def _read(self, index: int) -> list[tuple[bytes, int]]:
        """Return the names and numbers of all records of a partition."""
        broker = self.world.broker
        partition = broker.topics.partition(broker.find_topic("t"), index)
        found: list[tuple[bytes, int]] = []
        offset = partition.log_start
        while offset < partition.high_watermark:
            result = partition.read(offset, 3_000)
            data = b"".join(part.read() if isinstance(part, FileRange) else part for part in result.parts)
            assert result.next_offset > offset, f"a reader is stuck at {offset}"
            for batch in iter_batches(data):
                assert check_crc(batch), f"the batch at {offset} has a wrong CRC"
                assert read_batch_header(batch).last_offset >= offset
                if read_batch_header(batch).is_control:
                    continue
                for record in iter_records(batch):
                    found.append(
                        (dict(record.headers)["kawal-producer-id"] or b"", int(record.value or b"-1"))
                    )
            offset = result.next_offset
        return found
