"""Producers that send whole transactions without waiting for answers, beside plain commits and copies.

The clock passes, the disk is late, and at times the server loses its process: what it serves then is what
it served before, and just the committed records are read. Kafka serves a connection's requests one by one,
so no request may fail.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import broker.coordinators.copier as copier
from broker.connections.response_errors import errors_of
from groups import staged_offsets, txn_offset_commit
from groups.offset_values import read_committed
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import create
from tests.broker.txn import TV1, TV2, Producer, committed

PARTITIONS = 4
STEPS = 40
GROUPS = ("g", "h")


class Writer(Producer):
    """A producer, and the records that its transactions commit."""

    def __init__(self, gateway: Gateway, name: str, protocol: int) -> None:
        super().__init__(gateway, name, protocol=protocol)
        self.written: list[tuple[int, bytes]] = []

    def send(self, request: Any, *versions: int) -> None:
        """Send a request with the version of the producer's protocol."""
        self.client.send(request, versions[0 if self.protocol == TV1 else -1])


class World:
    """A gateway, its clients, and chance."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.gateway = Gateway(kawal_vnodes=self.chance.choice((1, 1, 2, 3)))
        create(self.gateway.client(), "t", partitions=PARTITIONS)
        self.writers = [
            Writer(self.gateway, f"tx-{number}", self.chance.choice((TV1, TV2))) for number in range(3)
        ]
        self.plain = self.gateway.client()
        self._last = 0

    def step(self) -> None:
        """Do one thing."""
        self.transact(self.chance.choice(self.writers))
        if self.chance.random() < 0.3:
            self.commit_plainly()
        self.let_pass()
        if self.chance.random() < 0.06:
            self.crash()

    def next(self) -> int:
        """Return a number that was never used before."""
        self._last += 1
        return self._last

    @property
    def clients(self) -> list[Client]:
        return [self.plain, *(writer.client for writer in self.writers)]

    def let_pass(self) -> None:
        """Let the disk or the clock go on, or neither."""
        chosen = self.chance.random()
        if chosen < 0.25:
            self.gateway.run_jobs()
        elif chosen < 0.4:
            self.gateway.settle()
        elif chosen < 0.45:
            self.gateway.advance(self.chance.choice((1, 100, 300)))

    def transact(self, writer: Writer) -> None:
        """Send all requests of one transaction."""
        commits = self.chance.random() < 0.6
        indexes = self.chance.sample(range(PARTITIONS), self.chance.choice((1, 2, 4)))
        if writer.protocol == TV1:
            writer.send(writer.adding(*(("t", index) for index in indexes)), 3)
        for index in indexes:
            value = b"%d" % self.next()
            writer.send(writer.producing(("t", index), value=value), 9, 12)
            if commits:
                writer.written.append((index, value))
        for group_id in self.chance.sample(GROUPS, self.chance.choice((0, 1, 2))):
            if writer.protocol == TV1:
                writer.send(writer.adding_group(group_id), 4)
            for _ in range(self.chance.choice((1, 1, 2))):
                index = self.chance.randrange(PARTITIONS)
                writer.send(writer.committing(self.next(), group_id=group_id, index=index), 4, 5)
                if self.chance.random() < 0.2:
                    self.let_pass()
        writer.send(writer.ending(commit=commits), 4, 5)
        if writer.protocol == TV2:
            writer.epoch += 1
            writer.sequences.clear()

    def commit_plainly(self) -> None:
        """Send a commit that is part of no transaction."""
        progress = OffsetCommitRequestPartition(
            partition_index=self.chance.randrange(PARTITIONS),
            committed_offset=self.next(),
            committed_metadata="",
        )
        topic = OffsetCommitRequestTopic(name="t", partitions=[progress])
        self.plain.send(
            OffsetCommitRequest(
                group_id=self.chance.choice(GROUPS),
                generation_id_or_member_epoch=-1,
                member_id="",
                topics=[topic],
            ),
            8,
        )

    def answer_all(self) -> None:
        """Let everything be answered; no answer may have an error."""
        while any(client._sent or client.unread for client in self.clients):
            self.gateway.settle()
            for client in self.clients:
                failed = [answer for answer in client.answers() if errors_of(answer)]
                assert not failed
            self.gateway.advance(1)
        self.gateway.settle()

    def served(self) -> tuple[Any, ...]:
        """Return the progress of groups, what is staged, and the ends of the partitions."""
        context = self.gateway.broker.groups._machine._context
        offsets = {
            (group_id, name, index): read_committed(value).offset
            for group_id in context.offsets.groups()
            for name, partitions in context.offsets.topics(group_id).items()
            for index, value in partitions.items()
        }
        ends = [
            (partition.last_stable_offset, partition.high_watermark)
            for partition in (self.gateway.partition("t", index) for index in range(PARTITIONS))
        ]
        return offsets, context.staged.keys(), ends

    def crash(self) -> None:
        """Lose the process, and compare what is served with what was served before."""
        self.answer_all()
        before = self.served()
        self.gateway.crash()
        self.gateway.advance(400)
        self.gateway.settle()
        assert self.served() == before
        assert not before[1], "every transaction has ended"
        self.plain = self.gateway.client()
        for writer in self.writers:
            writer.client = self.gateway.client()
        for index in range(PARTITIONS):
            expected = sorted(
                value for writer in self.writers for found, value in writer.written if found == index
            )
            assert sorted(committed(self.plain, "t", index)) == expected


@pytest.mark.parametrize("large", [staged_offsets.LARGE, 1], ids=["", "ends in slices"])
@pytest.mark.parametrize("seed", range(12))
def test_pipelined_transactions_are_served_in_order_and_the_same_after_a_crash(
    seed: int, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copier, "COPY_FORWARD_BYTES_MIN", 3_000)
    monkeypatch.setattr(staged_offsets, "LARGE", large)
    monkeypatch.setattr(txn_offset_commit, "OFFSETS_PER_STEP", 1)
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    world.crash()
