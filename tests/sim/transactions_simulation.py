"""Transactions under chance: copiers and their successors, while disks fail, processes die and power is cut.

    TransactionsSimulation(seed).run()     raises AssertionError when a promise is broken

Writers of both protocols fill a topic; two clients for each of its partitions, of one transactional id, fence
each other while they copy it, with their progress in the same transactions; readers of committed data follow
topics and a view. A quarter of the worlds are calm: there no client may be told that it was replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from groups.transactions.states import TransactionState
from groups.transactions.table import Table
from groups.transactions.transaction import EPOCH_MAX
from protocol.messages.create_topics import CreateTopicsRequest
from tests.broker.kit import creation
from tests.sim.clients import Link
from tests.sim.scenario import Scenario, Step
from tests.sim.transactions_actors import CommittedReader, Copier, Writer
from tests.sim.transactions_client import INPUT, OUTPUT, TV1, TV2, TransactionalClient
from tests.sim.transactions_history import History, Place
from tests.sim.world import BREAKABLE, World

DRAIN_ROUNDS = 150
STEPS_PER_ROUND = 12
VIEWS = {"all": f"STABLE {OUTPUT}", "odd": f"SELECT * FROM {OUTPUT} WHERE _offset % 2 = 1"}
WALL_SHIFTS_MS = (0, 0, 20_000, -20_000, -3_000_000)


class TransactionsSimulation(Scenario):
    """A world and the promises made in it."""

    ADVANCES_MS = (1, 1, 10, 10, 100, 500, 3_000)

    def __init__(self, seed: int, *, steps: int = 700) -> None:
        super().__init__(seed, steps=steps)
        chance = self.chance
        self.is_calm = chance.random() < 0.25
        self.breaks = chance.random() < 0.5
        self.world = World(
            chance,
            snapshot_bytes=chance.choice((2_000, 1 << 20)),
            kawal_vnodes=chance.choice((1, 2, 3)),
            kawal_segment_bytes=chance.choice((20_000, 1 << 20)),
            kawal_tail_cache_bytes=chance.choice((0, 20_000, 1 << 20)),
            kawal_min_free_bytes=0,
            transaction_state_log_num_partitions=chance.choice((1, 3)),
            offsets_topic_num_partitions=chance.choice((1, 3)),
            checkpoint_ns=chance.choice((1, 500_000, 800_000_000)),
        )
        self.history = History()
        self.crashed_in: Counter[TransactionState] = Counter()
        self._breakable = BREAKABLE
        self._create_topics()
        self.clients = self._clients()
        places: dict[Place, Place] = {(INPUT, index): (INPUT, index) for index in range(Writer.PARTITIONS)}
        for name in (OUTPUT, *VIEWS):
            places |= {(name, index): (OUTPUT, index) for index in range(Copier.PARTITIONS)}
        self.readers = [
            CommittedReader(self.world, self.history, chance, places, f"r{number}") for number in (0, 1)
        ]
        self._table = self._what_may_happen()

    def _create_topics(self) -> None:
        link, answers = Link(self.world), list[Any]()
        topics = [creation(INPUT, Writer.PARTITIONS), creation(OUTPUT, Copier.PARTITIONS)]
        link.send(CreateTopicsRequest(topics=topics), 7, answers.append)
        views = [creation(name, -1, **{"kawal.sql": sql}) for name, sql in VIEWS.items()]
        link.send(CreateTopicsRequest(topics=views), 7, answers.append)
        self._exchange()
        made = [topic for answer in answers for topic in answer.topics]
        assert not any(topic.error_code for topic in made), made
        self.topics: dict[str, UUID] = {topic.name: topic.topic_id for topic in made}
        link.close()

    def _clients(self) -> list[TransactionalClient]:
        chance = self.chance
        parts: tuple[Any, ...] = (self.world, self.history, chance)
        clients: list[TransactionalClient] = []

        def how() -> dict[str, Any]:
            return {
                "protocol": chance.choice((TV1, TV2)),
                "timeout_ms": 900_000 if self.is_calm else chance.choice((2_000, 8_000, 60_000)),
                "is_undisturbed": self.is_calm,
            }

        for number in range(2):
            clients.append(Writer(self.world, self.history, chance, f"w{number}", self.topics, **how()))
        for source in range(Writer.PARTITIONS):
            for instance in range(1 if self.is_calm else 2):
                name = f"c{source}{'ab'[instance]}"
                transactional_id = f"copier-{source}"
                clients.append(
                    Copier(
                        *parts, name, self.topics, source=source, transactional_id=transactional_id, **how()
                    )
                )
        return clients

    def _what_may_happen(self) -> list[tuple[float, Step]]:
        table: list[tuple[float, Step]] = [
            (45, self._act),
            (35, self._push_some),
            (35, self._pull_some),
            (50, self._work),
            (25, self._slice),
            (4, self._advance),
            (1, self._settle),
            (3, self._exchange),
            (0.5, self._hang_up),
            (0.5, self._kill),
            (0.2, self._stop),
            (0.3, self._cut_power),
            (0.9, self._cut_power_soon),
        ]
        if not self.is_calm:
            table += [(0.2, self._jump), (0.3, self._exhaust)]
        if self.breaks:
            table += [(1.2, self._break), (0.2, self._fill), (0.8, self._heal)]
        return table

    def _play(self) -> None:
        self._happen_by_chance()
        self._happen(self._heal)
        self._happen(self.chance.choice((self._stop, self._kill, self._settle)))
        self._drain()
        self._check()
        self._happen(self._stop)
        self._check()

    def _happen(self, step: Step) -> None:
        before = self._states()
        broker = self.world.broker
        super()._happen(step)
        if broker is not self.world.broker:
            self.crashed_in.update(before)
        for topic, partition in self.world.partitions():
            if topic.view is None:
                self.history.sample(topic, partition)

    @property
    def ids(self) -> Table:
        """The transactional ids of the coordinator."""
        return self.world.broker.transactions._machine._table

    def _states(self) -> set[TransactionState]:
        if self.world.broker.coordinators._transactions is None:
            return set()
        return {known.state for known in self.ids.ids.values()}

    # --- what may happen -------------------------------------------------------------------------------

    def _act(self) -> str:
        actors: list[TransactionalClient | CommittedReader] = [*self.clients, *self.clients, *self.readers]
        actor = self.chance.choice(actors)
        return f"{actor.name} {actor.step()}"

    def _slice(self) -> str:
        self.world.broker.scheduler.run()
        return "a slice"

    def _stop(self) -> str:
        self.world.stop()
        return "stop"

    def _cut_power(self) -> str:
        self._power_fails(self.chance.choice((None, None, self.chance.randrange(60))))
        return "cut power"

    def _jump(self) -> str:
        self.world.wall_shift_ms = self.chance.choice(WALL_SHIFTS_MS)
        return f"the wall clock is {self.world.wall_shift_ms} ms ahead"

    def _exhaust(self) -> str:
        """Let an id have used nearly all its epochs, as if 32,000 transactions had passed."""
        table = self.ids
        ready = [known for known in table.ids.values() if not known.partitions and known.epoch < 1_000]
        ready = [known for known in ready if known.state != TransactionState.PREPARE_ABORT]
        if not ready or not all(table.is_loaded(known.transactional_id) for known in ready):
            return "no id to exhaust"
        known = self.chance.choice(ready)
        epoch = EPOCH_MAX - self.chance.randint(2, 6)
        with self.world.broker.transactions.step(self.world.now_ms):
            table.put(known._replace(epoch=epoch), lambda _error, _now_ms: None)
        return f"{known.transactional_id} is in epoch {epoch}"

    # --- the end ---------------------------------------------------------------------------------------

    def _drain(self) -> None:
        """Let one client of each id come to its end; that it can is part of the promise."""
        last = {client.transactional_id: client for client in self.clients}
        for client in self.clients:
            if last[client.transactional_id] is not client:
                client.stop()
        writers = [client for client in self.clients if isinstance(client, Writer)]
        if not self.is_calm:
            # It never comes back; only its timeout ends what it has left open.
            writers.pop().stop()
        self._end(writers)
        # What clients left open when they ended has timed out by then.
        for _ in range(50):
            self.world.advance(3_000)
            self._happen(self._exchange)
        self._end([client for client in self.clients if isinstance(client, Copier)])

    def _end(self, clients: Sequence[TransactionalClient]) -> None:
        for client in clients:
            client.draining = True
        for _ in range(DRAIN_ROUNDS):
            for _ in range(STEPS_PER_ROUND):
                for client in clients:
                    self.trace.append(f"{client.name} {client.step()}")
                self._happen(self._exchange)
            if all(client.ended for client in clients):
                return
            self.world.advance(1_500)
        raise AssertionError(f"no end for {[client.name for client in clients if not client.ended]}")

    def _check(self) -> None:
        self._happen(self._exchange)
        for topic, partition in self.world.partitions():
            assert partition.last_stable_offset == partition.high_watermark, f"{topic.name} hangs"
        undecided = [known for known in self.ids.ids.values() if known.partitions]
        assert not undecided, f"transactions without an end: {undecided}"
        assert len(self.world.broker.coordinators.guards) == 0
        found = self._read_all()
        stored = {place: records for place, records in found.items() if place[0] in (INPUT, OUTPUT)}
        self.history.check_whole(stored)
        for index in range(Copier.PARTITIONS):
            output = found[OUTPUT, index]
            assert found["all", index] == output
            assert found["odd", index] == [record for record in output if record[0] % 2]
        for index in range(Writer.PARTITIONS):
            self._check_copies(index, found)

    def _check_copies(self, source: int, found: dict[Place, list[tuple[int, bytes]]]) -> None:
        copies = []
        for index in range(Copier.PARTITIONS):
            fields = [value.split(b":") for _, value in found[OUTPUT, index]]
            copies.append([int(offset) for _, part, offset in fields if int(part) == source])
        copier = next(
            client for client in self.clients[::-1] if isinstance(client, Copier) and client.source == source
        )
        offsets = [offset for offset, _ in found[INPUT, source]]
        History.check_copies(source, copier.position, offsets, copies)
        assert copier.position >= max(offsets, default=-1) + 1, f"input {source} was not copied to its end"

    def _read_all(self) -> dict[Place, list[tuple[int, bytes]]]:
        """Return what a new reader of committed data sees, and check that the others saw no more."""
        reader = CommittedReader(
            self.world, self.history, self.chance, self.readers[0]._sources, "the last reader"
        )
        for place in reader.positions:
            partition = self.world.broker.topics.partition(
                self.world.broker.catalogue.by_name[place[0]], place[1]
            )
            for _ in range(partition.high_watermark + 5):
                if reader.positions[place] >= partition.high_watermark:
                    break
                reader.fetch(place, 1 << 20)
                self._exchange()
            assert reader.positions[place] == partition.high_watermark, f"{place} cannot be read to its end"
        for other in self.readers:
            for place, records in other.seen.items():
                read = [record for record in reader.seen[place] if record[0] < other.positions[place]]
                assert records == read, f"{other.name} has read something else of {place}"
        return reader.seen
