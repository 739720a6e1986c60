"""Groups in topics whose partitions split: of each key, nothing is read before what was written earlier."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from broker.coordinators.node_splits import first_record
from groups.context import GATHER_MS, LOOK_AGAIN_MS
from protocol.consumer_protocol import (
    ConsumerProtocolAssignment,
    TopicPartition,
    decode_assignment,
    encode_assignment,
)
from protocol.error_codes import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.heartbeat import HeartbeatRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import beating, commit, fetching_offsets, given, joining, syncing
from tests.broker.kit import producing, send
from tests.broker.shares import ACCEPT, Member, configure, values
from tests.broker.splits import HIGH, LOW, keyed, split, split_topic
from tests.broker.topic_requests import altered
from wal.errors import LogFailed


class Consumer:
    """A member of a consumer group of the new protocol."""

    def __init__(self, gateway: Gateway, topic_id: UUID, group: str = "g") -> None:
        self.gateway, self.topic_id, self.group = gateway, topic_id, group
        self.client = gateway.client()
        self.epoch = 0
        self.held: list[int] = []
        self.beat(topics=["t"])

    def beat(self, **fields: Any) -> list[int]:
        """Send heartbeats until nothing changes; return the partitions that the member has."""
        for _ in range(3):
            owned = {self.topic_id: self.held} if self.epoch and self.held else None
            answer = self.client.call(beating(self.group, "m", self.epoch, owned=owned, **fields), 1)
            self.epoch, fields = answer.member_epoch, {}
            found = given(answer)
            if found is not None:
                self.held = found.get(self.topic_id, [])
        return self.held

    def commit(self, *offsets: tuple[int, int]) -> list[int]:
        """Commit, let gates be looked at, and return the partitions that the member has then."""
        places = [("t", partition, offset) for partition, offset in offsets]
        commit(self.client, self.group, *places, member=("m", self.epoch))
        self.gateway.advance(GATHER_MS + 2_000)
        return self.beat()


def fill(client: Client, count: int = 4) -> None:
    """Write records of both halves to partition 0."""
    for number in range(count):
        assert send(client, "t", keyed(((HIGH, LOW)[number % 2], b"%d" % number))).error_code == 0


def test_a_child_is_withheld_until_the_group_has_committed_the_cut(gateway: Gateway) -> None:
    client = gateway.client()
    topic_id = split_topic(client)
    fill(client)
    split(client)
    consumer = Consumer(gateway, topic_id)
    assert consumer.held == [0]
    assert consumer.commit((0, 3)) == [0]
    assert consumer.commit((0, 4)) == [0, 1]


def test_a_group_that_goes_back_before_the_cut_gives_the_child_up(gateway: Gateway) -> None:
    client = gateway.client()
    topic_id = split_topic(client)
    fill(client)
    split(client)
    consumer = Consumer(gateway, topic_id)
    assert consumer.commit((0, 4)) == [0, 1]
    assert consumer.commit((0, 2)) == [0]
    assert consumer.commit((0, 4)) == [0, 1]


def test_a_grandchild_waits_for_its_parent_and_for_the_parents_parent(gateway: Gateway) -> None:
    client = gateway.client()
    topic_id = split_topic(client)
    fill(client)
    split(client)
    send(client, "t", keyed((HIGH, b"5")), partition=1)
    split(client, 1)
    consumer = Consumer(gateway, topic_id)
    assert consumer.held == [0]
    assert consumer.commit((0, 4)) == [0, 1]
    assert consumer.commit((1, 1)) == [0, 1, 2]
    assert consumer.commit((0, 1)) == [0]


def test_a_group_that_had_read_everything_at_the_split_gets_the_child_at_once(gateway: Gateway) -> None:
    client = gateway.client()
    topic_id = split_topic(client)
    fill(client)
    consumer = Consumer(gateway, topic_id)
    assert consumer.commit((0, 4)) == [0]
    split(client)
    gateway.advance(2_000)
    assert consumer.beat() == [0, 1]


def test_the_end_of_what_was_moved_or_ended_counts_as_read(gateway: Gateway) -> None:
    client = gateway.client()
    topic_id = split_topic(client)
    fill(client)
    split(client)
    # A batch without records is left in partition 0, and no client commits the offset after it.
    assert send(client, "t", keyed((HIGH, b"5"), producer=(7, 0, 0))).error_code == 0
    assert gateway.partition("t").log_end == 5
    split(client)
    consumer = Consumer(gateway, topic_id)
    assert consumer.commit((0, 4)) == [0, 1, 2]


def test_very_many_batches_without_records_are_looked_at_beside_other_work(gateway: Gateway) -> None:
    client = gateway.client()
    topic_id = split_topic(client)
    fill(client)
    split(client)
    for number in range(1_000):
        client.send(producing(("t", 0, keyed((HIGH, b"5"), producer=(7, 0, number)))), 9)
        if number % 50 == 49:
            gateway.settle()
            assert len(client.answers()) == 50
    assert gateway.partition("t").log_end == 1_004
    split(client)
    consumer = Consumer(gateway, topic_id)
    consumer.commit((0, 4))
    gateway.advance(LOOK_AGAIN_MS)
    assert consumer.commit((1, 1_000)) == [0, 1, 2]


@pytest.mark.parametrize("how", ["restart", "crash"])
def test_gates_outlive_a_restart(gateway: Gateway, how: str) -> None:
    client = gateway.client()
    topic_id = split_topic(client)
    fill(client)
    split(client)
    consumer = Consumer(gateway, topic_id)
    getattr(gateway, how)()
    gateway.settle()
    consumer.client = gateway.client()
    gateway.advance(2_000)
    assert consumer.beat() == [0]
    assert consumer.commit((0, 4)) == [0, 1]


def test_what_retention_has_deleted_is_not_waited_for(gateway: Gateway) -> None:
    client = gateway.client()
    topic_id = split_topic(client)
    fill(client)
    split(client)
    consumer = Consumer(gateway, topic_id)
    assert consumer.held == [0]
    partitions = [DeleteRecordsPartition(partition_index=0, offset=4)]
    deletion = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="t", partitions=partitions)], timeout_ms=1_000
    )
    client.call(deletion, 2)
    gateway.advance(LOOK_AGAIN_MS + 2_000)
    assert consumer.beat() == [0, 1]


def test_a_gate_opens_after_the_longest_wait_that_the_topic_allows(gateway: Gateway) -> None:
    client = gateway.client()
    topic_id = split_topic(client, kawal_split_gate_max_wait_ms="20000")
    fill(client)
    split(client)
    consumer = Consumer(gateway, topic_id)
    gateway.advance(10_000)
    assert consumer.beat() == [0]
    gateway.advance(10_000)
    consumer.beat()
    gateway.advance(LOOK_AGAIN_MS)
    assert consumer.beat() == [0, 1]


def test_a_group_begins_a_child_at_its_start_whatever_its_reset_policy(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client)
    fill(client)
    split(client)

    def position(group: str) -> int:
        (answer,) = client.call(fetching_offsets(group, ("t", 1)), 9).groups
        return int(answer.topics[0].partitions[0].committed_offset)

    commit(client, "g", ("t", 0, 4))
    assert (position("g"), position("stranger")) == (0, -1)


# --- classic groups -----------------------------------------------------------------------------------------


class Classic:
    """The only member of a classic group, which assigns all partitions to itself."""

    def __init__(self, gateway: Gateway, group: str = "g") -> None:
        self.gateway, self.group = gateway, group
        self.client = gateway.client()
        self.member_id = self.client.call(joining(group), 4).member_id
        self.generation = -1

    def join(self, count: int, version: int = 1) -> list[int]:
        """Join, assign so many partitions, and return those that are given."""
        joined = self.client.call(joining(self.group, self.member_id), 4)
        self.generation = joined.generation_id
        wanted = [TopicPartition(topic="t", partitions=list(range(count)))]
        blob = encode_assignment(ConsumerProtocolAssignment(assigned_partitions=wanted), version)
        request = syncing(self.group, self.member_id, self.generation, **{self.member_id: blob})
        answer = self.client.call(request, 5)
        assert answer.error_code == 0, answer
        return [
            index
            for entry in decode_assignment(answer.assignment).assigned_partitions
            for index in entry.partitions
        ]

    def beat(self) -> int:
        """Send a heartbeat and return its error."""
        request = HeartbeatRequest(
            group_id=self.group, generation_id=self.generation, member_id=self.member_id
        )
        return int(self.client.call(request, 4).error_code)

    def commit(self, offset: int) -> None:
        """Commit in partition 0 and let gates be looked at."""
        commit(self.client, self.group, ("t", 0, offset), member=(self.member_id, self.generation))
        self.gateway.advance(GATHER_MS + 100)


@pytest.fixture
def gateway() -> Gateway:
    return Gateway(group_initial_rebalance_delay_ms=0)


@pytest.mark.parametrize("version", [0, 1, 3])
def test_a_classic_group_joins_again_when_the_gate_opens(gateway: Gateway, version: int) -> None:
    client = gateway.client()
    split_topic(client)
    fill(client)
    split(client)
    consumer = Classic(gateway)
    assert consumer.join(2, version) == [0]
    consumer.commit(3)
    assert consumer.beat() == 0
    consumer.commit(4)
    assert consumer.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert consumer.join(2, version) == [0, 1]
    assert consumer.beat() == 0


def test_a_classic_group_knows_its_gates_after_a_restart(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client)
    fill(client)
    split(client)
    consumer = Classic(gateway)
    assert consumer.join(2) == [0]
    gateway.restart()
    gateway.settle()
    consumer.client = gateway.client()
    gateway.advance(1_000)
    assert consumer.beat() == 0
    consumer.commit(4)
    assert consumer.beat() == ErrorCode.REBALANCE_IN_PROGRESS


def test_an_assignment_that_cannot_be_read_passes_as_it_is(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client)
    fill(client)
    split(client)
    consumer = Classic(gateway)
    consumer.generation = client.call(joining("g", consumer.member_id), 4).generation_id
    request = syncing("g", consumer.member_id, consumer.generation, **{consumer.member_id: b"\xff own"})
    assert client.call(request, 5).assignment == b"\xff own"


# --- share groups -------------------------------------------------------------------------------------------


def held(member: Member) -> list[int]:
    """Return the partitions that a member is given with its next heartbeats."""
    found: list[int] = []
    for _ in range(3):
        answer = member.beat()
        if answer.assignment is not None:
            found = [index for entry in answer.assignment.topic_partitions for index in entry.partitions]
    return sorted(found)


def test_a_share_group_gets_a_child_when_it_is_done_with_the_parent(gateway: Gateway) -> None:
    client = gateway.client()
    topic_id = split_topic(client)
    configure(gateway, **{"share.auto.offset.reset": "earliest"})
    fill(client)
    split(client)
    send(client, "t", keyed((HIGH, b"after")), partition=1)
    member = Member(gateway, "a" * 22, "t")
    member.fetch((topic_id, 0))
    assert member.fetch((topic_id, 0)) is not None
    assert values(member.fetch((topic_id, 1))) == []
    member.acknowledge((topic_id, 0), (0, 3, [ACCEPT]))
    assert held(member) == [0, 1]
    assert values(member.fetch((topic_id, 1))) == [b"after"]


def test_a_share_group_that_reads_new_records_keeps_what_comes_after_a_split(gateway: Gateway) -> None:
    client = gateway.client()
    topic_id = split_topic(client)
    fill(client)
    member = Member(gateway, "a" * 22, "t")
    member.fetch((topic_id, 0))
    split(client)
    send(client, "t", keyed((HIGH, b"after")), partition=1)
    gateway.advance(2_000)
    assert held(member) == [0, 1]
    assert values(member.fetch((topic_id, 1))) == [b"after"]


def test_a_new_share_group_of_new_records_gets_all_partitions(gateway: Gateway) -> None:
    client = gateway.client()
    topic_id = split_topic(client)
    fill(client)
    split(client)
    send(client, "t", keyed((HIGH, b"old")), partition=1)
    member = Member(gateway, "a" * 22, "t")
    member.fetch((topic_id, 0), (topic_id, 1))
    send(client, "t", keyed((HIGH, b"new")), partition=1)
    assert values(member.fetch((topic_id, 1))) == [b"new"]


# --- refusals -----------------------------------------------------------------------------------------------


def test_records_are_looked_for_between_two_offsets(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client)
    split(client)
    send(client, "t", keyed((LOW, b"0"), (HIGH, b"1"), producer=(7, 0, 0)))
    send(client, "t", keyed((HIGH, b"2"), producer=(7, 0, 2)))
    partition = gateway.partition("t")
    assert partition.log_end == 3
    found = [first_record(partition, start, 3)[:2] for start in range(3)]
    assert found == [(0, True), (3, False), (3, False)]
    assert altered(client, "t", "kawal.partition.autosplit.mode", "up") == (0, "")


def test_a_record_that_was_found_is_not_looked_for_again(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = gateway.client()
    topic_id = split_topic(client)
    fill(client)
    split(client)
    looks: list[int] = []

    def counted(*places: Any) -> Any:
        looks.append(places[1])
        return first_record(*places)

    monkeypatch.setattr("broker.coordinators.node_splits.first_record", counted)
    consumer = Consumer(gateway, topic_id)
    assert [consumer.commit((0, offset)) for offset in (2, 2, 1)] == [[0]] * 3
    assert looks == [0, 2]
    assert consumer.commit((0, 4)) == [0, 1]


def test_what_could_not_be_read_is_read_again(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    client = gateway.client()
    topic_id = split_topic(client)
    split(client)
    send(client, "t", keyed((HIGH, b"5"), producer=(7, 0, 0)))
    split(client)
    partition = gateway.partition("t")

    def refuse(*_: Any, **__: Any) -> Any:
        raise LogFailed("a read failed")

    with monkeypatch.context() as patched:
        patched.setattr(type(partition), "read", refuse)
        consumer = Consumer(gateway, topic_id)
        assert 2 not in consumer.held
    gateway.advance(LOOK_AGAIN_MS)
    assert consumer.beat() == [0, 1, 2]
