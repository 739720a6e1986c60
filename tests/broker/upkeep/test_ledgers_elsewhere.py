"""`__kawal_ledgers` of several nodes: the leader of the topic tells of the ledgers of all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from broker.catalogue.topic import LEDGERS_TOPIC
from broker.upkeep import own_ledgers
from broker.upkeep.ledgers_topic import INTERVAL_MS, LedgersTopic
from protocol.error_codes import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.cluster import UNANSWERED, UNSENT, Cluster
from tests.broker.identified import identified
from tests.broker.kit import batch, fetch, records_of, send

PARTITIONS = 4


class Telling(Cluster):
    """Nodes of which each would tell of the ledgers, and a topic with ids on both."""

    def __init__(self, count: int = 2, **settings: Any) -> None:
        super().__init__(count, **settings)
        for number in range(count):
            self._begin(number)
        self.make()

    def _begin(self, number: int) -> None:
        broker = self.nodes[number].broker
        LedgersTopic(broker, broker, broker.vnodes)

    def make(self, partitions: int = PARTITIONS) -> None:
        """Create the topic, whose ledgers have one batch."""
        identified(self[0].client(), entries=1, partitions=partitions)
        self.settle()

    def begin_again(self, number: int) -> None:
        """Start a node that was killed."""
        self.revive(number)
        self._begin(number)

    def leader_of(self, topic: str, index: int = 0) -> int:
        """Return the number of the node that leads a partition."""
        broker = self.nodes[0].broker
        return broker.topics.leader(broker.catalogue.by_name[topic], index)[0]

    @property
    def leader(self) -> int:
        """The number of the node that leads the topic of ledgers."""
        return self.leader_of(LEDGERS_TOPIC)

    def elsewhere(self) -> int:
        """Return a partition that another node leads."""
        return next(index for index in range(PARTITIONS) if self.leader_of("t", index) != self.leader)

    def write(self, *indexes: int) -> None:
        """Write a batch to each of these partitions."""
        for index in indexes:
            answer = send(self[self.leader_of("t", index)].client(), "t", batch(b"x"), partition=index)
            assert answer.error_code == 0
        self.settle()

    def delete_up_to(self, offset: int, index: int) -> None:
        """Delete the records of a partition before an offset."""
        partition = DeleteRecordsPartition(partition_index=index, offset=offset)
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name="t", partitions=[partition])], timeout_ms=1_000
        )
        answer = self[self.leader_of("t", index)].client().call(request, 2)
        assert answer.topics[0].partitions[0].error_code == 0

    def delete(self) -> None:
        """Delete the topic."""
        request = DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000)
        assert self[0].client().call(request, 5).responses[0].error_code == 0

    def told(self) -> list[tuple[str, Any]]:
        """Return all records of the topic of ledgers."""
        client = self.nodes[self.leader].client()
        found: list[tuple[str, Any]] = []
        while (data := fetch(client, LEDGERS_TOPIC, len(found))).records:
            for record in records_of(data.records):
                value = json.loads(bytes(record.value)) if record.value is not None else None
                found.append((bytes(record.key or b"").decode(), value))
        return found

    def newest(self) -> dict[str, Any]:
        """Return what is left when the topic is compacted."""
        return {key: value for key, value in dict(self.told()).items() if value is not None}

    def kept(self) -> dict[int, list[Any]]:
        """Return what is left, by partition, in the order of the ledgers."""
        rows = sorted(self.newest().values(), key=lambda row: (row["partition"], row["ledger"]))
        return {index: [row for row in rows if row["partition"] == index] for index in range(PARTITIONS)}

    def counts(self) -> list[int]:
        """Return the number of ledgers that are left, by partition."""
        return [len(rows) for rows in self.kept().values()]

    def pass_some(self, passes: int = 4) -> None:
        """Let some passes happen, and what the nodes say to each other."""
        for _ in range(passes):
            self.advance(INTERVAL_MS)


@pytest.fixture
def cluster() -> Telling:
    """Two nodes that have told of two ledgers in each partition."""
    cluster = Telling()
    cluster.write(*range(PARTITIONS), *range(PARTITIONS))
    cluster.pass_some()
    return cluster


@pytest.mark.parametrize("own_directories", [False, True], ids=["workers", "machines"])
def test_the_ledgers_of_all_nodes_are_told_once_when_they_begin_and_when_they_end(
    own_directories: bool,
) -> None:
    cluster = Telling(own_directories=own_directories)
    assert {cluster.leader_of("t", index) for index in range(PARTITIONS)} == {0, 1}
    cluster.write(*range(PARTITIONS))
    cluster.pass_some()
    assert cluster.counts() == [1] * PARTITIONS
    cluster.write(*range(PARTITIONS))
    cluster.pass_some()

    size = len(batch(b"x"))
    for index, rows in cluster.kept().items():
        ended, opened = rows
        assert (ended["first_offset"], ended["end_offset"], ended["entries"]) == (0, 1, 1)
        assert ended["bytes"] == size
        assert (opened["first_offset"], opened["end_offset"], opened["entries"]) == (1, None, None)
        assert (ended["partition"], ended["topic"]) == (index, "t")
    assert len(cluster.told()) == 3 * PARTITIONS, "nothing that has not changed is told again"


def test_ledgers_that_were_deleted_at_another_node_are_told_as_null(cluster: Telling) -> None:
    index = cluster.elsewhere()
    cluster.write(index)
    cluster.delete_up_to(2, index)
    cluster.pass_some()
    assert [row["first_offset"] for row in cluster.kept()[index]] == [2]


@pytest.mark.parametrize("mishap", [UNSENT, UNANSWERED])
def test_what_was_lost_on_the_way_is_asked_for_again(mishap: str) -> None:
    cluster = Telling()
    cluster.write(*range(PARTITIONS), *range(PARTITIONS))
    cluster.pass_some(1)
    cluster.mishaps += [mishap] * 4
    cluster.pass_some(6)
    assert cluster.counts() == [2] * PARTITIONS


def test_a_node_that_starts_again_has_only_what_is_new_told(cluster: Telling) -> None:
    index = cluster.elsewhere()
    number, count = cluster.leader_of("t", index), len(cluster.told())
    cluster.kill(number)
    cluster.pass_some()
    assert len(cluster.told()) == count
    cluster.begin_again(number)
    cluster.pass_some()
    assert len(cluster.told()) == count
    cluster.write(index)
    cluster.pass_some()
    ended, opened = cluster.told()[count:]
    assert (ended[1]["first_offset"], ended[1]["end_offset"]) == (1, 2)
    assert (opened[1]["first_offset"], opened[1]["partition"]) == (2, index)


def test_the_leader_that_starts_again_tells_only_what_has_changed_since(cluster: Telling) -> None:
    index, leader, count = cluster.elsewhere(), cluster.leader, len(cluster.told())
    cluster.kill(leader)
    cluster.write(index)
    cluster.delete_up_to(1, index)
    cluster.begin_again(leader)
    cluster.pass_some()
    since = cluster.told()[count:]
    assert sorted(value["first_offset"] for _, value in since if value is not None) == [1, 2]
    assert len(since) == 3, "and the end of the first one"
    assert [row["first_offset"] for row in cluster.kept()[index]] == [1, 2]


@pytest.mark.parametrize("written", [False, True], ids=["empty", "written"])
def test_another_topic_of_the_name_leaves_nothing_of_the_first_wherever_its_partitions_are(
    cluster: Telling, written: bool
) -> None:
    cluster.delete()
    # Its partitions are led by other nodes than those of the same number were.
    identified(cluster[0].client(), "between", entries=1)
    cluster.make()
    if written:
        cluster.write(*range(PARTITIONS))
    cluster.pass_some()
    assert cluster.counts() == [int(written)] * PARTITIONS
    topic_id = str(cluster[0].broker.catalogue.by_name["t"].topic_id)
    assert {value["topic_id"] for value in cluster.newest().values()} <= {topic_id}


def test_a_topic_that_was_deleted_while_the_leader_was_away_leaves_nothing(cluster: Telling) -> None:
    leader = cluster.leader
    if not leader:
        cluster.delete()  # it is the controller, which deletes topics
    cluster.kill(leader)
    if leader:
        cluster.delete()
    cluster.begin_again(leader)
    cluster.pass_some()
    assert cluster.newest() == {}


def test_many_partitions_come_in_several_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_ledgers, "PARTITIONS_PER_ANSWER", 3)
    monkeypatch.setattr(own_ledgers, "SPANS_PER_ANSWER", 4)
    cluster = Telling()
    cluster.delete()
    cluster.make(40)
    cluster.write(*range(40), *range(40))
    cluster.pass_some()
    assert len(cluster.newest()) == 80


def test_no_client_writes_it(cluster: Telling) -> None:
    for node in cluster:
        answer = send(node.client(), LEDGERS_TOPIC, batch(b"forged"))
        assert answer.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
