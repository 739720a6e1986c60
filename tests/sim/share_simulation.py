"""Share groups under chance: workers, producers and operators, while disks fail and power is cut.

    ShareSimulation(seed).run()     raises AssertionError when a promise is broken

Producers of all kinds fill a topic; the members of two groups take its records, and do with them all that can
be done (share_member.py); an operator deletes records, progress and groups (share_operator.py).  What is
promised is in share_history.py.  In the end one member of each group accepts what is left: nothing may be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final
from uuid import UUID

from broker.storage.partition import Partition
from groups.share.config import ShareConfig
from groups.share.share_partition import SharePartition
from groups.share.state_records import ShareKey
from groups.share.states import FINISHED
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.wire import ZERO_UUID
from tests.broker.dead_letters import TAKES, told
from tests.broker.kit import creation
from tests.broker.shares import configuring
from tests.sim.clients import Link
from tests.sim.history import History
from tests.sim.producers import IdempotentProducer, PlainProducer
from tests.sim.scenario import Scenario, Step
from tests.sim.share_history import Rules, Seat, ShareHistory
from tests.sim.share_member import ShareMember
from tests.sim.share_operator import Operator
from tests.sim.share_stored import data_in, records_in
from tests.sim.transactions_actors import Writer
from tests.sim.transactions_client import INPUT, TV1, TV2, TransactionalClient
from tests.sim.transactions_history import History as Transactions
from tests.sim.transactions_history import Outcome
from tests.sim.world import World

PARTITIONS: Final = 2
GROUPS: Final = ("g", "h")
LETTERS: Final = "dlq.in"
REAR: Final = f"{INPUT}.rear"
STATE_PARTITIONS: Final = 50
DRAIN_ROUNDS: Final = 120


class ShareSimulation(Scenario):
    """A world and the promises made in it."""

    ADVANCES_MS = (1, 1, 10, 100, 1_000, 4_000, 9_000, 16_000)
    ROOMS_BYTES = (0, 1_000, 50_000)

    def __init__(self, seed: int, *, steps: int = 900, vnodes: int | None = None) -> None:
        super().__init__(seed, steps=steps)
        chance = self.chance
        self.breaks = chance.random() < 0.5
        self.operates = chance.random() < 0.7
        self.vnodes = vnodes or chance.choice((1, 1, 2, 3))
        self.updates_per_snapshot = chance.choice((1, 4, 500))
        self.world = World(
            chance,
            snapshot_bytes=chance.choice((1_000, 1 << 20)),
            kawal_vnodes=self.vnodes,
            kawal_segment_bytes=chance.choice((20_000, 1 << 20)),
            kawal_tail_cache_bytes=chance.choice((0, 20_000, 1 << 20)),
            kawal_min_free_bytes=0,
            offsets_topic_num_partitions=1,
            transaction_state_log_num_partitions=1,
            checkpoint_ns=chance.choice((1, 500_000, 800_000_000)),
            frame_bytes_max=chance.choice((2_000, 8 << 20)),
        )
        self.log = History()
        self.transactions = Transactions()
        self.values: dict[tuple[int, int], bytes] = {}
        self.history = ShareHistory({group: self._rules() for group in GROUPS}, PARTITIONS)
        self.topic_id = ZERO_UUID
        self.topic_id = self._create_topics()
        self._configure()
        self.writers = [self._writer(number) for number in range(2)]
        self.producers: list[PlainProducer | IdempotentProducer] = [
            PlainProducer(self.world, self.log, chance, "p0"),
            IdempotentProducer(self.world, self.log, chance, "p1"),
        ]
        self.members = [
            self._member(f"m{number}", group)
            for group in GROUPS
            for number in range(chance.choice((1, 2, 3, 4)))
        ]
        self.operator = Operator(self.world, self.history, chance, INPUT, self.members, self._bounds)
        if any(rules.letters_topic == LETTERS for rules in self.history.rules.values()):
            self.operator.letters_topic = LETTERS
        self.crashes = 0
        self._table = self._what_may_happen()

    # --- the beginning ---------------------------------------------------------------------------------

    def _create_topics(self) -> UUID:
        link, answers = Link(self.world), list[Any]()
        limits = {"retention.bytes": "6000", "internal.segment.bytes": "2000"}
        configs = limits if self.chance.random() < 0.15 else {}
        topics = [
            creation(INPUT, PARTITIONS, **configs),
            creation(LETTERS, self.chance.choice((1, 2)), **TAKES),
        ]
        link.send(CreateTopicsRequest(topics=topics), 7, answers.append)
        self._exchange()
        link.close()
        made = {topic.name: topic for answer in answers for topic in answer.topics}
        assert not any(topic.error_code for topic in made.values()), made
        self.log.saw_topic(made[INPUT].topic_id, INPUT, PARTITIONS)
        return UUID(int=made[INPUT].topic_id.int)

    def _rules(self) -> Rules:
        chance = self.chance
        return Rules(
            limit=chance.choice((2, 3, 5)),
            lock_ms=15_000,
            window=chance.choice((0, 0, 3)),
            reads_committed=chance.random() < 0.5,
            letters_topic=chance.choice(("", LETTERS, LETTERS, REAR)),
        )

    def _configure(self) -> None:
        """Give the groups their settings."""
        chance, link, answers = self.chance, Link(self.world), list[Any]()
        for group, of_group in self.history.rules.items():
            settings = {
                "share_auto_offset_reset": "earliest",
                "share_delivery_count_limit": str(of_group.limit),
                "share_record_lock_duration_ms": str(of_group.lock_ms),
                "share_isolation_level": "read_committed" if of_group.reads_committed else "read_uncommitted",
                "kawal_share_member_max_records": str(of_group.window),
                "kawal_share_avoid_last_member_ms": chance.choice(("0", "0", "1000")),
                "errors_deadletterqueue_copy_record_enable": chance.choice(("true", "false")),
                "kawal_share_rear_enable": str(of_group.letters_topic == REAR).lower(),
            }
            if of_group.letters_topic == LETTERS:
                settings["errors_deadletterqueue_topic_name"] = LETTERS
            link.send(configuring(group, **settings), 1, answers.append)
        self._exchange()
        link.close()
        assert not any(found.error_code for answer in answers for found in answer.responses), answers

    def _writer(self, number: int) -> Writer:
        topics = {INPUT: self.topic_id}
        protocol = self.chance.choice((TV1, TV2))
        parts: tuple[Any, ...] = (self.world, self.transactions, self.chance, f"w{number}", topics)
        return Writer(*parts, protocol=protocol, timeout_ms=10_000)

    def _member(self, name: str, group: str) -> ShareMember:
        topic = (INPUT, self.topic_id)
        return ShareMember(self.world, self.history, self.chance, name, group, topic, self._saw)

    def _what_may_happen(self) -> list[tuple[float, Step]]:
        table: list[tuple[float, Step]] = [
            (8, self._produce),
            (40, self._consume),
            (35, self._push_some),
            (35, self._pull_some),
            (50, self._work),
            (25, self._slice),
            (6, self._advance),
            (1, self._settle),
            (6, self._exchange),
            (0.3, self._kill),
            (0.1, self._stop),
            (0.2, self._cut_power),
            (0.8, self._cut_power_soon),
        ]
        if self.operates:
            table += [(2, self._operate)]
        if self.breaks:
            table += [(1.0, self._break), (0.2, self._fill), (0.8, self._heal)]
        return table

    # --- what may happen -------------------------------------------------------------------------------

    def _happen(self, step: Step) -> None:
        self.history.step += 1
        super()._happen(step)
        self._look()

    def _look(self) -> None:
        """See which states the server has in memory, and where they begin."""
        self.history.now_ms = self.world.now_ms
        if self.topic_id == ZERO_UUID:
            return
        shares = self.world.broker.coordinators.maybe_shares
        table = None if shares is None else shares._machine.table
        if table is not None:
            table.config = ShareConfig(
                share_coordinator_state_topic_num_partitions=STATE_PARTITIONS,
                share_coordinator_snapshot_update_records_per_snapshot=self.updates_per_snapshot,
            )
        for seat in self.history.facts:
            share = None if table is None else table.shares.get(self._key(seat))
            is_loaded = share is not None and table is not None and share.home in table.loaded
            shape = share.partition if share is not None and is_loaded else None
            is_due = partial(self._is_due_again, seat, shape) if shape is not None else None
            start = None if shape is None else shape.start
            self.history.look(seat, shape, start, is_due, self._bounds(seat[1])[0])

    def _key(self, seat: Seat) -> ShareKey:
        return ShareKey(seat[0], self.topic_id, seat[1])

    def _pull_some(self) -> str:
        self._look()
        return super()._pull_some()

    def _produce(self) -> str:
        actors: list[TransactionalClient | PlainProducer | IdempotentProducer] = [
            *self.writers,
            *self.producers,
        ]
        actor = self.chance.choice(actors)
        return f"{actor.name} {actor.step()}"

    def _consume(self) -> str:
        member = self.chance.choice(self.members)
        return f"{member.group} {member.name[:2]} {member.step()}"

    def _operate(self) -> str:
        return f"the operator {self.operator.step()}"

    def _slice(self) -> str:
        self.world.broker.scheduler.run()
        return "a slice"

    def _stop(self) -> str:
        self._crash(self.world.stop)
        return "stop"

    def _cut_power(self) -> str:
        self._power_fails(self.chance.choice((None, None, self.chance.randrange(60))))
        return "cut power"

    def _crash(self, how: Any) -> None:
        with self._sound_disk():
            self._look()
            for member in self.members:
                member.read_too_late()
        self.crashes += 1
        super()._crash(how)
        self._look()

    # --- what is in the log ----------------------------------------------------------------------------

    def _partition(self, name: str, index: int) -> Partition:
        broker = self.world.broker
        return broker.topics.partition(broker.catalogue.by_name[name], index)

    def _bounds(self, index: int) -> tuple[int, int]:
        partition = self._partition(INPUT, index)
        return partition.log_start, partition.high_watermark

    def _saw(self, group: str, index: int, offset: int, value: bytes) -> None:
        """Check a record that a member was given."""
        known = self.values.setdefault((index, offset), value)
        assert known == value, f"{index}/{offset} was {known!r} and is {value!r}"
        if b"#" not in value:
            self.log.seen(self.topic_id, index, offset, value)
        elif self.history.rules[group].reads_committed:
            outcome = self.transactions.attempt_of(value).outcome
            assert outcome in (Outcome.COMMITTING, Outcome.COMMITTED), f"{value!r} was delivered: {outcome}"

    def _is_due(self, group: str, value: bytes) -> bool:
        """Whether a group has to be given a record with this value."""
        if b"#" not in value or not self.history.rules[group].reads_committed:
            return True
        return self.transactions.attempt_of(value).outcome == Outcome.COMMITTED

    def _is_due_again(self, seat: Seat, share: SharePartition, end: int) -> bool:
        """Whether records before an offset, which were finished, are to be delivered."""
        partition = self._partition(INPUT, seat[1])
        unfinished = [
            range(part.first, min(part.last + 1, end))
            for part in share.ranges
            if part.facts.state not in FINISHED
        ]
        with self._sound_disk():
            due = [offset for offset, value in data_in(partition) if self._is_due(seat[0], value)]
        return any(offset in part for offset in due for part in (*unfinished, range(share.end, end)))

    @contextmanager
    def _sound_disk(self) -> Iterator[None]:
        """Let the disk neither fail nor lose its power while the simulation itself reads."""
        world = self.world
        planned = world.calls_until_cut, world.broken
        world.calls_until_cut = world.broken = None
        yield
        world.calls_until_cut, world.broken = planned

    # --- the end ---------------------------------------------------------------------------------------

    @property
    def happened(self) -> Counter[str]:
        """The number of all that has happened, by kind."""
        return self.history.happened + Counter(crashes=self.crashes)

    def _play(self) -> None:
        self._happen_by_chance()
        self._end()

    def _end(self) -> None:
        self._happen(self._heal)
        self._happen(self.chance.choice((self._stop, self._kill, self._settle)))
        self._drain()
        self._check()
        self._happen(self._kill)
        # What is finished stays so.
        self._drain()
        self._check()

    def _drain(self) -> None:
        """Let one member of each group accept what is left."""
        self._happen(self._exchange)
        self.operator.end()
        for writer in self.writers:
            writer.stop()
        for member in self.members:
            member.hang_up()
        last = [self._member(f"z{len(self.members)}", group) for group in GROUPS]
        self.members += last
        for member in last:
            member.accepts_all = True
        for _ in range(DRAIN_ROUNDS):
            for member in last:
                for _ in range(4):
                    self.trace.append(f"{member.group} drains: {member.step()}")
                    self._happen(self._exchange)
            if all(self._is_drained(seat) for seat in self.history.facts):
                break
            self.world.advance(3_000)
        else:
            left = [seat for seat in self.history.facts if not self._is_drained(seat)]
            raise AssertionError(f"not drained: {left}")

    def _is_drained(self, seat: Seat) -> bool:
        shares = self.world.broker.coordinators.maybe_shares
        share = None if shares is None else shares._machine.table.shares.get(self._key(seat))
        partition = self._partition(INPUT, seat[1])
        # What clients left open when they ended times out before long.
        is_decided = partition.last_stable_offset == partition.high_watermark
        return is_decided and share is not None and share.partition.start >= partition.high_watermark

    def _check(self) -> None:
        for member in self.members:
            member.hang_up()
        self._happen(self._exchange)
        assert self.world.broker.stats.dead_letters_held == 0
        letters = self._letters()
        self.history.happened["letters"] = sum(found.total() for found in letters.values())
        for seat in self.history.facts:
            partition = self._partition(INPUT, seat[1])
            due = [offset for offset, value in data_in(partition) if self._is_due(seat[0], value)]
            self.history.check_records(seat, due, letters[seat])
            self.history.check_letters(seat, letters[seat], is_exact=self.vnodes == 1)

    def _letters(self) -> dict[Seat, Counter[int]]:
        found: dict[Seat, Counter[int]] = {seat: Counter() for seat in self.history.facts}
        for name in (LETTERS, REAR):
            topic = self.world.broker.catalogue.find(name)
            for index in range(0 if topic is None else topic.partition_count):
                assert topic is not None
                for record in records_in(self._partition(name, index)):
                    said = told(record)
                    seat = (said["group"], int(said["partition"]))
                    rules = self.history.rules[seat[0]]
                    assert rules.letters_topic == name, (seat, name, said)
                    assert (said["topic"], seat[1] % topic.partition_count) == (INPUT, index), said
                    assert int(said["delivery.count"]) <= rules.limit, said
                    found[seat][int(said["offset"])] += 1
        return found
