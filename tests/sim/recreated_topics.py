"""A gateway whose topics are deleted and made again under the offsets of groups, and which loses its process.

Each topic of a name is a *life* of it, and an offset tells by its thousands in which life it was committed.
The disk is late, for each log by itself: the catalogue may have the next life while the offsets of the last
one are neither deleted nor all written.
"""

from __future__ import annotations

from collections import Counter, deque
from random import Random
from typing import Any
from uuid import UUID

from broker.storage.vnode import DiskJob, Vnode
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.broker.gateway import Gateway
from tests.broker.kit import creation
from tests.broker.txn import Producer

NAMES = ("t", "u")
GROUPS = tuple(f"g{number}" for number in range(6))
WRITERS = "writers"
"""The group whose offsets are committed in transactions."""
PARTITIONS = 3
LIFE = 1_000_000
"""What is committed in the second life of a topic is above this, and so on."""

Place = tuple[str, str, int]
"""A group, a topic and a partition."""


class World:
    """A gateway, its clients, chance, and what is known of the offsets."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.gateway = Gateway(kawal_vnodes=self.chance.choice((1, 2, 3)), offsets_topic_num_partitions=2)
        self.happened: Counter[str] = Counter()
        self._late: list[tuple[Vnode, DiskJob]] = []
        self._lives: dict[UUID, int] = {}
        self._last = 0
        # By place: what may be there of each life, and what must be, or something later.
        self._sent: dict[Place, set[int]] = {}
        self._acknowledged: dict[tuple[Place, int], int] = {}
        # Commits without an answer, each with its connection.
        self._open: list[tuple[Any, Place, int]] = []
        self._counting: dict[Place, int] = {}
        self.vague: set[int] = set()
        """Commits that may have waited until their topic's name was that of the next life."""
        self._connect()
        for name in NAMES:
            self._create(name)
        self.settle()

    def _connect(self) -> None:
        self._admin, self._reader = self.gateway.client(), self.gateway.client()
        self._open.clear()
        self._writer = Writer(self, self._counting)

    # --- time and the disk ----------------------------------------------------------------------------------

    def let_pass(self, *, slices: float = 0.7) -> None:
        """Let some of the disk work be done, each log for itself, and some time pass; perhaps slices, too."""
        gateway = self.gateway
        gateway.finish(self._late)
        jobs = list(gateway.broker.take_jobs(gateway.now_ms))
        self.chance.shuffle(jobs)
        done = self.chance.randint(0, len(jobs))
        self._late = jobs[done:]
        gateway.finish(jobs[:done])
        if self.chance.random() < slices:
            gateway.broker.scheduler.run()
        gateway.now_ms += self.chance.choice((0, 0, 1, 1, 2))
        gateway.tick()

    def settle(self) -> None:
        """Let everything be done and answered."""
        self.gateway.finish(self._late)
        self._late = []
        self.gateway.settle()
        self.gateway.advance(400)
        self.gateway.settle()
        self.hear()
        self._writer.settled()

    def crash(self) -> None:
        """Lose the process, and what was not synced."""
        self._late = []
        self._writer.ends()
        self.gateway.crash()
        self._connect()
        self.happened["crashes"] += 1
        if self.chance.random() < 0.5:
            # While the offsets are being loaded.
            self.change_topics()
            for _ in range(self.chance.randint(0, 8)):
                self.let_pass(slices=0.1)

    # --- topics ---------------------------------------------------------------------------------------------

    def life(self, name: str) -> int | None:
        """Return the number of the topic that clients may use under a name."""
        topic = self.gateway.broker.catalogue.find(name)
        return None if topic is None else self._life_of(topic.topic_id)

    def _life_of(self, topic_id: UUID) -> int:
        return self._lives.setdefault(topic_id, len(self._lives))

    def _create(self, name: str) -> None:
        self._admin.send(CreateTopicsRequest(topics=[creation(name, PARTITIONS)]), 7)

    def change_topics(self) -> None:
        """Delete a topic, make one, or both in a row."""
        name = self.chance.choice(NAMES)
        kind = self.chance.choice(("delete", "create", "both", "both"))
        if kind != "create":
            self.happened["deletions"] += self.life(name) is not None
            self._admin.send(DeleteTopicsRequest(topic_names=[name], timeout_ms=1_000), 5)
            if self.chance.random() < 0.3:
                self.let_pass()
        if kind != "delete":
            self._create(name)

    # --- offsets --------------------------------------------------------------------------------------------

    def next(self, life: int) -> int:
        """Return an offset that was never committed before."""
        self._last += 1
        return life * LIFE + self._last

    def may_be(self, place: Place, value: int) -> None:
        """Note that an offset may be found from now on."""
        self._sent.setdefault(place, set()).add(value)

    def must_be(self, place: Place, value: int) -> None:
        """Note that an offset, or a later one, is found from now on in its life of the topic."""
        if value not in self.vague:
            self._acknowledged[place, value // LIFE] = value

    def commit(self) -> None:
        """Commit some offsets of a group."""
        group, name = self.chance.choice(GROUPS), self.chance.choice(NAMES)
        topic = self.gateway.broker.catalogue.by_name.get(name)
        if topic is None:
            return
        # It may be that it does not exist yet: then its offsets must be refused.
        life = self._life_of(topic.topic_id)
        client = self.gateway.client()
        for index in self.chance.sample(range(PARTITIONS), self.chance.randint(1, PARTITIONS)):
            value = self.next(life)
            progress = OffsetCommitRequestPartition(
                partition_index=index, committed_offset=value, committed_metadata=""
            )
            request = OffsetCommitRequest(
                group_id=group,
                generation_id_or_member_epoch=-1,
                member_id="",
                retention_time_ms=self.chance.choice((-1, 10**9)),
                topics=[OffsetCommitRequestTopic(name=name, partitions=[progress])],
            )
            self.may_be((group, name, index), value)
            client.send(request, 4)
            self._open.append((client, (group, name, index), value))

    def hear(self) -> None:
        """Take the answers that have come."""
        answers = {id(client): client.answers() for client, _, _ in self._open}
        waiting = []
        for client, place, value in self._open:
            if not answers[id(client)]:
                waiting.append((client, place, value))
                continue
            code = answers[id(client)].pop(0).topics[0].partitions[0].error_code
            self.happened[ErrorCode(code).name] += 1
            if not code:
                self.must_be(place, value)
        self._open = waiting
        self._writer.hear()
        self._admin.answers()

    def check(self) -> None:
        """Check that no old offset is found, and no new one is missing."""
        self.hear()
        for name in NAMES:
            life = self.life(name)
            if life is None:
                continue
            for group in (*GROUPS, WRITERS):
                for index, value in self._fetched(group, name).items():
                    self._check((group, name, index), life, value)

    def _check(self, place: Place, life: int, value: int) -> None:
        acknowledged = self._acknowledged.get((place, life))
        if value >= 0:
            assert life == value // LIFE or value in self.vague, f"{place}: {value} is there in life {life}"
            assert value in self._sent[place], f"{place}: {value} was never committed"
            is_newer = acknowledged is None or value >= acknowledged or value in self.vague
            assert is_newer, f"{place}: {value} is there, {acknowledged} was acknowledged last"
            self.happened["found"] += 1
        else:
            assert acknowledged is None, f"{place}: {acknowledged} is lost"
            self.happened["not found"] += 1

    def _fetched(self, group: str, name: str) -> dict[int, int]:
        """Return the offsets of a group in a topic, -1: none; nothing while they are loaded."""
        topic = OffsetFetchRequestTopics(name=name, partition_indexes=list(range(PARTITIONS)))
        asked = OffsetFetchRequestGroup(
            group_id=group, topics=None if self.chance.random() < 0.3 else [topic]
        )
        self._reader.send(OffsetFetchRequest(groups=[asked]), 8)
        (answer,) = self._reader.answers()
        if answer.groups[0].error_code:
            return {}
        found = dict.fromkeys(range(PARTITIONS), -1)
        for found_topic in answer.groups[0].topics:
            if found_topic.name == name:
                found |= {part.partition_index: part.committed_offset for part in found_topic.partitions}
        return found

    def step(self) -> None:
        """Do one thing."""
        chosen = self.chance.random()
        if chosen < 0.35:
            self.commit()
        elif chosen < 0.52:
            self._writer.go_on()
        elif chosen < 0.60:
            self.change_topics()
        elif chosen < 0.63:
            self.settle()
        elif chosen < 0.67:
            self.crash()
        else:
            self.let_pass()
        self.check()


class Writer:
    """A client that commits the offsets of its own group in transactions, one after the other."""

    def __init__(self, world: World, counting: dict[Place, int]) -> None:
        self._world = world
        self._producer: Producer | None = None
        # What is staged; what is asked for, None: the end; whether that is on its way.
        self._staged: dict[Place, int] = {}
        self._asked: deque[tuple[Place, int] | None] = deque()
        self._ends = self._commits = False
        self.counting = counting
        """The offsets of transactions whose commit was answered, and which count a moment later."""

    def go_on(self) -> None:
        """Do the next thing."""
        if self._producer is None:
            self._world.settle()
            self._producer = Producer(self._world.gateway)
        elif self._ends:
            return
        elif (self._staged or self._asked) and self._world.chance.random() < 0.4:
            self._end(self._producer)
        else:
            self._stage(self._producer)

    def _stage(self, producer: Producer) -> None:
        name = self._world.chance.choice(NAMES)
        life = self._world.life(name)
        for index in range(PARTITIONS if life is not None else 0):
            value = self._world.next(life or 0)
            producer.client.send(producer.committing(value, group_id=WRITERS, topic=name, index=index), 5)
            self._asked.append(((WRITERS, name, index), value))

    def _end(self, producer: Producer) -> None:
        self._ends, self._commits = True, self._world.chance.random() < 0.7
        producer.client.send(producer.ending(commit=self._commits), 5)
        if self._commits:
            for place, value in (*self._staged.items(), *filter(None, self._asked)):
                self._world.may_be(place, value)
        self._asked.append(None)

    def hear(self) -> None:
        """Take the answers that have come."""
        for answer in self._producer.client.answers() if self._producer else ():
            asked = self._asked.popleft()
            if asked is None:
                self._ended(answer)
                continue
            place, value = asked
            if self._world.life(place[1]) != value // LIFE:
                self._world.vague.add(value)
            if not answer.topics[0].partitions[0].error_code:
                self._staged[place] = value
                self._world.happened["staged"] += 1

    def _ended(self, answer: Any) -> None:
        assert self._producer is not None
        if answer.error_code:
            self._producer = None
        else:
            self._producer._begin(answer.producer_id, answer.producer_epoch)
            self._world.happened["committed" if self._commits else "aborted"] += 1
            if self._commits:
                self.counting |= self._staged
        self._staged, self._ends = {}, False

    def ends(self) -> None:
        """Lose the connection: what had no answer may be anything."""
        self._world.vague.update(value for _, value in filter(None, self._asked))

    def settled(self) -> None:
        """Note that what was to count does."""
        for place, value in self.counting.items():
            self._world.must_be(place, value)
        self.counting.clear()
