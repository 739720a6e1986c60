"""Databases under chance: made, filled, split and dropped while disks fail, processes die and power is cut.

    DatabasesSimulation(seed).run()      raises AssertionError when a promise is broken

Answers are kept: a database that was created is there until a client asks to drop it, one that was dropped
never comes back, it has every vnode that was added, and acknowledged records are there, once and in order. In
the end the data directory holds the directories of the databases that exist, and no others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.kawal_databases import DatabaseAction
from tests.broker.databases import asking
from tests.broker.kit import batch, creation, fetching, producing, records_of
from tests.sim.clients import Link
from tests.sim.scenario import Scenario
from tests.sim.world import BREAKABLE, World


@dataclass
class Facts:
    """The requests and answers about one database and the topic in it."""

    created: bool = False
    vnodes: int = 0
    """The vnodes that it was made with, and those that were added."""
    drop_asked: bool = False
    dropped: bool = False
    topic_made: bool = False
    delete_asked: bool = False
    deleted: bool = False
    sent: int = 0
    acked: dict[int, bytes] = field(default_factory=dict)
    """Records by their offsets."""


class DatabasesSimulation(Scenario):
    """A world and the promises made in it."""

    ADVANCES_MS = (1, 100, 1_000, 61_000)

    def __init__(self, seed: int, *, steps: int = 300) -> None:
        super().__init__(seed, steps=steps)
        chance = self.chance
        self.world = World(
            chance,
            snapshot_bytes=chance.choice((300, 1 << 20)),
            kawal_vnodes=1,
            kawal_segment_bytes=chance.choice((8_000, 1 << 20)),
            kawal_min_free_bytes=0,
            log_segment_delete_delay_ms=0,
        )
        self.facts: dict[str, Facts] = {}
        self.link: Link | None = None
        self._breakable = (*BREAKABLE, "make_directory", "remove", "remove_directory")
        self._table = [
            (6, self._create),
            (14, self._use),
            (4, self._split),
            (5, self._drop),
            (25, self._push),
            (20, self._pull),
            (45, self._work),
            (4, self._advance),
            (2, self._settle),
            (0.5, self._kill),
            (0.5, self._cut_power),
            (0.8, self._cut_power_soon),
            (1.5, self._break),
            (0.6, self._heal),
        ]

    def _play(self) -> None:
        self._happen_by_chance()
        for step in (self._heal, self.chance.choice((self._kill, self._cut_power, self._settle))):
            self._happen(step)
        for _ in range(8):
            self._exchange()
            self.world.advance(61_000)
        self._check()
        self.world.stop()
        self._check()
        assert self.world.broker.catalogue.databases.dropped == {}

    @property
    def _open_link(self) -> Link:
        if self.link is None or not self.link.is_open:
            self.link = Link(self.world)
        return self.link

    # --- what clients ask for --------------------------------------------------------------------------

    def _create(self) -> str:
        name = f"d{len(self.facts)}"
        facts = self.facts[name] = Facts()

        def done(answer: Any) -> None:
            facts.created = answer is not None and not answer.databases[0].error_code

        facts.vnodes = self.chance.randint(1, 3)
        vnodes = str(facts.vnodes)
        self._open_link.send(asking(DatabaseAction.CREATE, name, vnodes=vnodes), 0, done)
        return f"create {name} of {vnodes}"

    def _use(self) -> str:
        live = [name for name, facts in self.facts.items() if facts.created and not facts.drop_asked]
        if not live:
            return "nothing to use"
        name = self.chance.choice(live)
        facts = self.facts[name]
        if not facts.topic_made:
            return self._make_topic(name, facts)
        value = b"%d" % facts.sent
        facts.sent += 1

        def done(answer: Any) -> None:
            if answer is None:
                return
            (part,) = answer.responses[0].partition_responses
            if not part.error_code:
                facts.acked[part.base_offset] = value

        self._open_link.send(producing((f"t-{name}", 0, batch(value))), 9, done)
        return f"produce {value!r} in {name}"

    def _split(self) -> str:
        live = [name for name, facts in self.facts.items() if facts.created and not facts.drop_asked]
        if not live:
            return "nothing to split"
        name = self.chance.choice(live)
        facts = self.facts[name]

        def done(answer: Any) -> None:
            facts.vnodes += answer is not None and not answer.databases[0].error_code

        self._open_link.send(asking(DatabaseAction.SPLIT, name), 0, done)
        return f"split {name}"

    def _make_topic(self, name: str, facts: Facts) -> str:
        def done(answer: Any) -> None:
            facts.topic_made |= answer is not None and not answer.topics[0].error_code

        # Of its partitions the first is used; where it lies depends on the splits before.
        topic = creation(f"t-{name}", 3, **{"kawal.database": name})
        self._open_link.send(CreateTopicsRequest(topics=[topic]), 7, done)
        return f"create a topic in {name}"

    def _drop(self) -> str:
        live = [name for name, facts in self.facts.items() if facts.created and not facts.dropped]
        if not live:
            return "nothing to drop"
        name = self.chance.choice(live)
        facts = self.facts[name]
        facts.drop_asked = facts.delete_asked = True

        def deleted(answer: Any) -> None:
            facts.deleted |= answer is not None and not answer.responses[0].error_code

        def dropped(answer: Any) -> None:
            facts.dropped |= answer is not None and answer.databases[0].error_code in (0, 91)

        topics = [DeleteTopicState(name=f"t-{name}")]
        self._open_link.send(DeleteTopicsRequest(topics=topics, timeout_ms=1_000), 6, deleted)
        self._open_link.send(asking(DatabaseAction.DROP, name), 0, dropped)
        return f"drop {name}"

    # --- what else happens -----------------------------------------------------------------------------

    def _push(self) -> str:
        self._open_link.push(self.chance.choice((30, 200, 100_000)))
        return "push"

    def _pull(self) -> str:
        self._open_link.pull()
        return "pull"

    def _cut_power(self) -> str:
        self._power_fails(self.chance.choice((None, self.chance.randrange(60))))
        return "cut power"

    # --- the end ---------------------------------------------------------------------------------------

    def _check(self) -> None:
        broker = self.world.broker
        self.world.settle()
        assert self.world.is_sound()
        found = broker.catalogue.databases
        assert set(broker.vnodes) == set(found)
        directories = {name for name in self.world.disk.list("/data") if name.startswith("db-")}
        assert directories == {
            database.directory for database in found.values() if database.name != "default"
        }
        for name, facts in self.facts.items():
            assert name not in found or not facts.dropped, f"{name} has come back"
            if facts.created and not facts.drop_asked:
                assert name in found, f"{name} is lost"
                count = found[name].vnode_count
                assert facts.vnodes <= count == len(broker.vnodes[name]), f"{name} has lost a vnode"
                if facts.topic_made:
                    self._check_records(name, facts)

    def _records_from(self, name: str, offset: int) -> dict[int, bytes | None]:
        """Fetch once; an answer need not have all that there is."""
        answers: list[Any] = []
        self._open_link.send(fetching({(f"t-{name}", 0): offset}), 12, answers.append)
        self._exchange()
        (data,) = answers[0].responses[0].partitions
        assert not data.error_code, data
        found = records_of(bytes(data.records or b""))
        return {record.offset: record.value for record in found if record.offset >= offset}

    def _check_records(self, name: str, facts: Facts) -> None:
        records: dict[int, bytes | None] = {}
        while found := self._records_from(name, max(records, default=-1) + 1):
            records |= found
        assert facts.acked.items() <= records.items()
        values = [int(value or b"") for value in records.values()]
        assert values == sorted(set(values))
