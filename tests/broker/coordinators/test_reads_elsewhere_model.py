"""Whatever happens to nodes and members, no member is shown what its group leaves out, and all others are."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from tests.broker.coordinators.reading_nodes import Reading
from tests.broker.gateway import Client
from tests.broker.groups import beating
from tests.broker.kit import fetched, fetching, values

STEPS = 80
OWN, EVERY = [b"own", b"own too"], [b"own", b"restored", b"own too"]
STRANGER = "10.0.0.5"
SILENT_STEPS = 10
"""So many steps, of a second or two each, a node is silent at most: much less than half a minute."""


class Member:
    """A consumer, as far as it knows its group."""

    def __init__(self, number: int) -> None:
        self.name, self.host = f"m{number}", f"10.0.0.{10 + number}"
        self.epoch = 0
        self.owned: list[int] = []
        self.connections: dict[int, Client] = {}


class World:
    """Nodes of which one may be silent, members, and a reader without a group."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.nodes = Reading(self.random.choice((2, 3)), own_directories=self.random.random() < 0.5)
        self.nodes.configure(consume_excluded="true")
        self.members = [Member(number) for number in range(3)]
        self.stranger = Member(-5)
        self.stranger.host = STRANGER
        self.stranger.owned = list(range(2 * self.nodes.count))
        self.silent_for = 0
        self.shown = 0

    def is_well(self, number: int) -> bool:
        return number not in self.nodes.down | self.nodes.hung

    def call(self, client: Client, request: Any, version: int) -> Any:
        """Return the answer; None if the node does not give it soon."""
        client.send(request, version)
        for _ in range(20):
            self.nodes.settle()
            if answers := client.answers():
                return answers[0]
            self.nodes.advance(50)
        return None

    def beat(self) -> None:
        member = self.random.choice(self.members)
        if not self.is_well(self.nodes.coordinator):
            return
        leaves = bool(member.epoch) and self.random.random() < 0.15
        request = beating(
            "g",
            member.name,
            -1 if leaves else member.epoch,
            topics=None if member.epoch else ["t"],
            owned={self.nodes.topic_id: member.owned} if member.epoch and not leaves else None,
        )
        client = self.nodes[self.nodes.coordinator].client(member.host)
        answer = self.call(client, request, 1)
        client.close()
        if answer is None or answer.error_code in (
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ErrorCode.NOT_COORDINATOR,
        ):
            return
        if answer.error_code or leaves:
            member.epoch, member.owned = 0, []
            return
        member.epoch = answer.member_epoch
        if answer.assignment is not None:
            member.owned = [index for part in answer.assignment.topic_partitions for index in part.partitions]

    def fetch(self, reader: Member, right: list[bytes]) -> None:
        """Read a partition that the reader has: it is shown what is right, or nothing for the moment."""
        if not reader.owned:
            return
        index = self.random.choice(reader.owned)
        leader = self.nodes.leader_of(index)
        if not self.is_well(leader):
            return
        client = reader.connections.get(leader)
        if client is None or self.random.random() < 0.2:
            client = reader.connections[leader] = self.nodes[leader].client(reader.host)
        answer = self.call(client, fetching({("t", index): 0}, max_wait_ms=500), 12)
        assert answer is not None
        data = fetched(answer)["t", index]
        assert data.error_code == 0
        found = values(data.records)
        assert found in ([], right)
        self.shown += bool(found)

    def harm(self) -> None:
        number = self.random.randrange(self.nodes.count)
        if self.silent_for or not self.is_well(number):
            return
        self.silent_for = SILENT_STEPS
        chosen = self.random.choice(("kill", "hang", "cut"))
        if chosen == "kill":
            self.nodes.kill(number)
        elif chosen == "hang":
            self.nodes.hung.add(number)
        else:
            self.nodes.cut.add(frozenset(self.random.sample(range(self.nodes.count), 2)))

    def mend(self) -> None:
        nodes = self.nodes
        self.silent_for = 0
        nodes.cut.clear()
        for number in sorted(nodes.hung):
            nodes.wake(number)
        for number in sorted(nodes.down):
            nodes.revive(number)
            for reader in (*self.members, self.stranger):
                reader.connections.pop(number, None)

    def step(self) -> None:
        if self.silent_for:
            self.silent_for -= 1
            if not self.silent_for:
                self.mend()
        chosen = self.random.random()
        if chosen < 0.35:
            self.beat()
        elif chosen < 0.75:
            self.fetch(self.random.choice(self.members), OWN)
        elif chosen < 0.85:
            self.fetch(self.stranger, EVERY)
        elif chosen < 0.9:
            self.harm()
        else:
            self.nodes.advance(self.random.choice((100, 1_500)))


@pytest.mark.parametrize("seed", range(20))
def test_members_are_shown_what_their_group_reads_and_strangers_everything(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    world.mend()
    world.nodes.advance(2_000)
    before = world.shown
    for _ in range(20):
        world.beat()
        for member in world.members:
            world.fetch(member, OWN)
        world.fetch(world.stranger, EVERY)
        world.nodes.advance(500)
    assert world.shown > before
