"""Partitions that split under chance: splits anywhere, idempotent producers, crashes at any moment.

SplitSimulation(seed).run()      raises AssertionError when a promise is broken

S1   what was acknowledged can be read, after every crash
S2   no record is stored twice, whatever is sent again, before and after splits
S3   the records of a key, read in the order of the tree (a parent up to the cut, then the child), ascend
S4   a split that was answered is there; each record lies where the tree says that it may
S5   the leader epoch of a partition never falls, and is that of its last split at least
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from broker.catalogue.split_rules import splits
from broker.config.split_keys import MODE_KEY
from groups.partition_tree import PartitionTree, hash_of
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.record_reader import iter_records
from protocol.records import check_crc, iter_batches, read_batch_header
from tests.broker.kit import creation, outcomes, producing
from tests.broker.splits import keyed, splitting
from tests.sim.clients import Link
from tests.sim.scenario import Scenario
from tests.sim.simulation import WALL_SHIFTS_MS
from tests.sim.world import World
from wal.segment import FileRange

WRITERS = 4
KEYS_EACH = 3
BATCH_MAX = 5
IN_FLIGHT_MAX = 5
SPLITS_MAX = 12

REPEATED = (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_ENOUGH_REPLICAS)
"""The errors after which a client sends again."""

LATE = 0.3
"""The part of the seeds in which the mode is set on a topic that has records."""

FIRST_PRODUCER = 1 << 62
"""Ids that are never given out to others."""

FACTOR = 1_000_000
"""A record's value is its key's number times that, and the number of the record."""


@dataclass(slots=True, eq=False)
class Sending:
    """One batch of a writer, from the first time it is sent until it is acknowledged."""

    first: int
    count: int
    waiting: bool = False


@dataclass(slots=True)
class Writer:
    """A producer that sends all it has to one partition, some batches at a time."""

    number: int
    partition: int
    sent: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Key and value of every record, in order."""
    unsure: list[Sending] = field(default_factory=list)
    """The batches on their way, or to be sent again, in order."""
    sure: set[bytes] = field(default_factory=set)
    """The values that are acknowledged."""
    link: Link | None = None

    @property
    def is_idempotent(self) -> bool:
        return self.number > 0

    @property
    def due(self) -> Sending | None:
        """The batch to be sent next, if one was made; a later one never overtakes it."""
        return next((each for each in self.unsure if not each.waiting), None)

    def make(self, keys: list[int]) -> None:
        """Make a batch of records with new numbers."""
        self.unsure.append(Sending(len(self.sent), len(keys)))
        for key in keys:
            self.sent.append((b"key-%d" % key, b"%d" % (key * FACTOR + len(self.sent))))

    def records(self, batch: Sending) -> bytearray:
        """Return a batch as it is sent."""
        producer = (FIRST_PRODUCER + self.number, 0, batch.first) if self.is_idempotent else (-1, -1, -1)
        return keyed(*self.sent[batch.first : batch.first + batch.count], producer=producer)

    def acknowledged(self, batch: Sending) -> None:
        """Count a batch as stored."""
        self.unsure.remove(batch)
        self.sure |= {value for _, value in self.sent[batch.first : batch.first + batch.count]}

    def failed(self, batch: Sending, error: int) -> None:
        """Send a batch again; one after it may be refused since it has not come."""
        follows = error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and batch is not self.unsure[0]
        assert error in REPEATED or follows, (error, batch)
        batch.waiting = False


class SplitSimulation(Scenario):
    """One broker, one topic, producers and operators that split it."""

    ADVANCES_MS = (1, 10, 100, 2_000, 20_000)
    ROOMS_BYTES = (0, 1_000, 50_000)
    CALLS_BEFORE_CUT_MAX = 20

    def __init__(self, seed: int, *, steps: int = 500, **settings: Any) -> None:
        super().__init__(seed, steps=steps)
        chance = self.chance
        self.begins_late = chance.random() < LATE
        """Whether the topic has records before the server chooses partitions."""
        self.world = World(
            chance,
            snapshot_bytes=chance.choice((300, 1 << 20)),
            kawal_segment_bytes=chance.choice((8_000, 30_000)),
            kawal_tail_cache_bytes=chance.choice((0, 20_000)),
            checkpoint_ns=chance.choice((1, 500_000)),
            frame_bytes_max=chance.choice((450, 8 << 20)),
            **{"kawal_vnodes": chance.choice((1, 2, 3)), **self._world_settings(), **settings},
        )
        # With one partition that has records there is nothing to wait for.
        self.roots = chance.choice((1, 2, 2, 3) if self.begins_late else (1, 1, 2, 3))
        self.writers = [Writer(number, chance.randrange(self.roots)) for number in range(WRITERS)]
        self.splits_answered = self.crashes = 0
        self.epochs: dict[int, int] = {}
        """The leader epochs that clients were told, by partition."""
        self.operator: Link | None = None
        self._table = [
            (40, self._send),
            (25, self._push_some),
            (25, self._pull_some),
            (45, self._work),
            (3, self._split),
            (2 * self.begins_late, self._begin_to_choose),
            (4, self._advance),
            (1, self._hang_up),
            (0.3, self._jump),
            (1.5, self._trouble),
        ]

    def _world_settings(self) -> dict[str, Any]:
        """Return settings of the server that are not left to chance."""
        return {}

    def _play(self) -> None:
        configs = {"kawal_partition_write_bytes_per_sec": "100000000"}
        if not self.begins_late:
            configs["kawal_partition_autosplit_mode"] = "paused"
        request = CreateTopicsRequest(topics=[creation("t", self.roots, **configs)])
        Link(self.world).send(request, 7, lambda _answer: None)
        self._exchange()
        self._begin(self.world.broker.find_topic("t").topic_id)
        self._happen_by_chance()
        self._happen(self._heal)
        self._happen(self.chance.choice((self._stop, self._kill, self._settle)))
        self._finish()
        self.check()
        self._happen(self._kill)
        self.check()

    def _begin(self, topic_id: UUID) -> None:
        """Make the clients that there are besides; the topic is there."""

    def _finish(self) -> None:
        """Let every producer send again what is not acknowledged, until all of it is."""
        for writer in self.writers:
            for _ in range(30):
                self._exchange()
                while writer.due is not None:
                    self._send_from(writer)
                self._exchange()
                if not writer.unsure:
                    break
                self.world.advance(1_500)
            else:
                raise AssertionError(f"writer {writer.number} does not come to an end")

    # --- what may happen -------------------------------------------------------------------------------

    def _send(self) -> str:
        writer = self.chance.choice(self.writers)
        if writer.due is None:
            if len(writer.unsure) >= (IN_FLIGHT_MAX if writer.is_idempotent else 1):
                return f"writer {writer.number} waits"
            first = writer.number * KEYS_EACH
            keys = [
                first + self.chance.randrange(KEYS_EACH) for _ in range(self.chance.randint(1, BATCH_MAX))
            ]
            writer.make(keys)
        return self._send_from(writer)

    def _send_from(self, writer: Writer) -> str:
        batch = writer.due
        assert batch is not None
        if writer.link is None or not writer.link.is_open:
            writer.link = Link(self.world)
        batch.waiting = True

        def answered(answer: Any) -> None:
            batch.waiting = False
            if answer is None:
                return
            (outcome,) = outcomes(answer)
            if outcome.error_code:
                writer.failed(batch, outcome.error_code)
            else:
                writer.acknowledged(batch)

        writer.link.send(producing(("t", writer.partition, writer.records(batch))), 9, answered)
        return f"writer {writer.number} sends {batch.count} from {batch.first}"

    def _split(self) -> str:
        if self.operator is None or not self.operator.is_open:
            self.operator = Link(self.world)
        topic = self.world.broker.catalogue.find("t")
        if topic is None or topic.planned_count >= self.roots + SPLITS_MAX:
            return "no split"
        partition = self.chance.randrange(topic.partition_count)

        def answered(answer: Any) -> None:
            self.splits_answered += answer is not None and not answer.topics[0].error_code

        self.operator.send(splitting(partition), 0, answered)
        return f"split {partition}"

    def _begin_to_choose(self) -> str:
        if self.operator is None or not self.operator.is_open:
            self.operator = Link(self.world)
        line = AlterableConfig(name=MODE_KEY.name, config_operation=0, value="paused")
        resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=[line])
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
        self.operator.send(request, 1, lambda _answer: None)
        return "have the server choose partitions"

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
        if broker is not self.world.broker:
            self.crashes += 1
            if self.world.is_sound():
                self.check()

    def check(self) -> None:
        """Compare all records that can be read with what was acknowledged."""
        topic = self.world.broker.find_topic("t")
        tree = topic.tree or PartitionTree(topic.partition_count)
        assert tree.pending is None
        assert len(tree.splits) >= self.splits_answered, "a split that was answered is lost (S4)"
        assert topic.partition_count == self.roots + len(tree.splits)
        self._check_epochs(tree, topic.partition_count)
        where: dict[bytes, list[tuple[int, int, int]]] = {}
        for index in range(topic.partition_count):
            for offset, key, value in self._read(index):
                where.setdefault(key, []).append((index, offset, value))
        for writer in self.writers:
            self._check_writer(writer, tree if splits(topic.configs) else None, where)

    def _check_epochs(self, tree: PartitionTree, count: int) -> None:
        topics = self.world.broker.topics
        topic = self.world.broker.find_topic("t")
        for index in range(count):
            told = topics.own_epoch(topic, index)
            least = max(self.epochs.get(index, 0), tree.epoch_of(index))
            assert told >= least, f"partition {index} goes back from leader epoch {least} to {told} (S5)"
            self.epochs[index] = told

    def _check_writer(
        self, writer: Writer, tree: PartitionTree | None, where: dict[bytes, list[tuple[int, int, int]]]
    ) -> None:
        stored: set[bytes] = set()
        for key in {key for key, _ in writer.sent}:
            path = _path_of(tree, key) if tree is not None else {writer.partition: (0, None)}
            found: list[tuple[int, int, int]] = []
            for index, offset, value in where.get(key, []):
                assert index in path, f"{key!r} {value} lies in {index}, and belongs on {path} (S4)"
                place, cut = path[index]
                assert cut is None or offset < cut, f"{key!r} {value} is in {index} after the cut {cut} (S4)"
                found.append((place, offset, value))
            values = [value for _, _, value in sorted(found)]
            if writer.is_idempotent:
                assert len(set(values)) == len(values), f"{key!r} is stored twice: {values} (S2)"
                assert values == sorted(values), f"{key!r} is out of order: {values} (S3)"
            stored |= {b"%d" % value for value in values}
        assert writer.sure <= stored, f"writer {writer.number} lost {sorted(writer.sure - stored)} (S1)"

    def _read(self, index: int) -> list[tuple[int, bytes, int]]:
        """Return the offset, key and value of all records of a partition."""
        broker = self.world.broker
        partition = broker.topics.partition(broker.find_topic("t"), index)
        found: list[tuple[int, bytes, int]] = []
        offset = partition.log_start
        while offset < partition.high_watermark:
            result = partition.read(offset, 3_000)
            data = b"".join(part.read() if isinstance(part, FileRange) else part for part in result.parts)
            assert result.next_offset > offset, f"a reader is stuck at {offset}"
            for batch in iter_batches(data):
                assert check_crc(batch), f"the batch at {offset} has a wrong CRC"
                if read_batch_header(batch).is_control:
                    continue
                found += [
                    (record.offset, record.key or b"", int(record.value or b"-1"))
                    for record in iter_records(batch)
                ]
            offset = result.next_offset
        return found


def _path_of(tree: PartitionTree, key: bytes) -> dict[int, tuple[int, int | None]]:
    """Return the partitions that have had a key, each with its place on the way, and the cut if it left."""
    hashed = hash_of(key)
    # Before there were successors, its clients have placed a key.
    path: dict[int, tuple[int, int | None]] = {each.parent: (0, each.cut) for each in tree.successions}
    path.setdefault(hashed % tree.root_count, (0, None))
    last = hashed % tree.root_count
    for split in tree.splits:
        if split.parent == last and tree.place(hashed) >= split.bound:
            path[last] = (path[last][0], split.cut)
            path[split.child] = (len(path), None)
            last = split.child
    return path
