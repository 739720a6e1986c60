"""Share groups on several nodes: members, leaders of partitions, and the nodes that store their states."""

from __future__ import annotations

from typing import Any

import pytest

from broker.coordinators import copier
from groups.share.state_records import ShareKey, state_partition
from protocol.error_codes import ErrorCode
from protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.cluster import Cluster
from tests.broker.cluster_shares import (
    STATE_PARTITIONS,
    STATES,
    ClusterMember,
    home_of,
    places_apart,
    share_cluster,
    topic_id,
    write,
)
from tests.broker.cluster_txn import OFFSETS, coordinator, leader, revive
from tests.broker.share_requests import deleting, describing_all
from tests.broker.shares import outcome, values

COUNTS = [2, 3]
LOCK_MS = 30_000


def fill(cluster: Cluster, partitions: int = 4) -> None:
    for index in range(partitions):
        write(cluster, index, b"%d:0" % index, b"%d:1" % index)


@pytest.mark.parametrize("count", COUNTS)
def test_a_member_is_given_the_partitions_of_all_nodes_and_reads_from_each_leader(count: int) -> None:
    cluster = share_cluster(count)
    member = ClusterMember(cluster, "m", "t")
    assert member.assigned == {topic_id(cluster): [0, 1, 2, 3]}
    fill(cluster)
    for index in range(4):
        answer = member.fetch(index)
        assert values(answer) == [b"%d:0" % index, b"%d:1" % index]
        assert outcome(member.accept(index, 0, 1)) == [ErrorCode.NONE]
        assert member.take(index) == []


@pytest.mark.parametrize("number", [1, 2])
def test_what_was_accepted_is_not_delivered_again_after_the_death_of_any_node(number: int) -> None:
    cluster = share_cluster(3)
    member = ClusterMember(cluster, "m", "t")
    fill(cluster)
    for index in range(4):
        member.fetch(index)
        assert outcome(member.accept(index, 0, 0)) == [ErrorCode.NONE]
    cluster.kill(number)
    revive(cluster, number)
    cluster.advance(LOCK_MS)
    for index in range(4):
        taker = ClusterMember(cluster, f"n{index}")
        assert taker.take(index) == [(1, 1, 2 if leader(cluster, "t", index) != number else 1)], index


def test_a_group_goes_on_with_more_and_with_fewer_nodes() -> None:
    cluster = share_cluster(2)
    member = ClusterMember(cluster, "m", "t")
    fill(cluster)
    for index in range(4):
        member.fetch(index)
        assert outcome(member.accept(index, 0, 0)) == [ErrorCode.NONE]
    for count in (3, 1, 2):
        for node in cluster:
            node.broker.begin_stop(node.now_ms)
        cluster.settle()
        cluster.disk.locks.clear()
        cluster = Cluster(count, disk=cluster.disk, offsets_topic_num_partitions=6)
        cluster.advance(200)
        member = ClusterMember(cluster, "m", "t")
        for index in range(4):
            assert member.take(index) == [(1, 1, 1)], (count, index)


def apart() -> tuple[Cluster, ClusterMember, int]:
    """Return a cluster and a member that has two records of a partition whose state another node stores."""
    cluster = share_cluster(2, 16)
    member = ClusterMember(cluster, "m", "t")
    index = places_apart(cluster, leads=0, stores=1)[0]
    write(cluster, index, b"a", b"b")
    assert member.take(index) == [(0, 1, 1)]
    return cluster, member, index


# --- administration -----------------------------------------------------------------------------------------


def ask(cluster: Cluster, request: Any, version: int, group: str = "g") -> Any:
    """Return the coordinator's answer to a request."""
    client = cluster[coordinator(cluster, OFFSETS, group)].client()
    return cluster.call(client, request, version, within_ms=5_000)


def progress(cluster: Cluster) -> dict[int, tuple[int, int]]:
    """Return start and lag of all partitions of `t`, as the coordinator tells."""
    answer = ask(cluster, describing_all("g"), 1)
    assert not answer.groups[0].error_code
    rows = [row for topic in answer.groups[0].topics for row in topic.partitions]
    assert not [row.error_code for row in rows if row.error_code]
    return {row.partition_index: (row.start_offset, row.lag) for row in rows}


def test_the_progress_in_partitions_of_all_nodes_is_described() -> None:
    cluster = share_cluster(3)
    member = ClusterMember(cluster, "m", "t")
    fill(cluster)
    for index in range(3):
        member.fetch(index)
        member.accept(index, 0, 0)
    assert progress(cluster) == {0: (1, 1), 1: (1, 1), 2: (1, 1), 3: (0, 2)}


def test_the_partitions_of_a_node_that_hangs_are_described_with_an_error() -> None:
    cluster = share_cluster(2)
    ClusterMember(cluster, "m", "t")
    hung = 1 - coordinator(cluster, OFFSETS, "g")
    cluster.hung.add(hung)
    answer = ask(cluster, describing_all("g"), 1)
    for row in answer.groups[0].topics[0].partitions:
        is_away = leader(cluster, "t", row.partition_index) == hung
        assert row.error_code == (ErrorCode.COORDINATOR_NOT_AVAILABLE if is_away else ErrorCode.NONE)


def test_offsets_of_partitions_of_all_nodes_are_altered_and_deleted() -> None:
    cluster = share_cluster(3)
    member = ClusterMember(cluster, "m", "t")
    fill(cluster)
    for index in range(4):
        member.fetch(index)
        member.accept(index, 0, 1)
    member.leave()
    items = [AlterShareGroupOffsetsRequestPartition(partition_index=i, start_offset=1) for i in range(5)]
    topics = [AlterShareGroupOffsetsRequestTopic(topic_name="t", partitions=items)]
    answer = ask(cluster, AlterShareGroupOffsetsRequest(group_id="g", topics=topics), 0)
    found = [row.error_code for row in answer.responses[0].partitions]
    assert found == [0, 0, 0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert progress(cluster) == dict.fromkeys(range(4), (1, 1))
    assert [row.error_code for row in ask(cluster, deleting("t"), 0).responses] == [ErrorCode.NONE]
    assert progress(cluster) == {}
    member = ClusterMember(cluster, "m", "t")
    assert [member.take(index) for index in range(4)] == [[(0, 1, 1)]] * 4


def test_a_deleted_group_that_comes_back_begins_anew_in_the_partitions_of_all_nodes() -> None:
    cluster = share_cluster(3)
    member = ClusterMember(cluster, "m", "t")
    fill(cluster)
    for index in range(4):
        member.fetch(index)
        member.accept(index, 0, 1)
    member.leave()
    (result,) = ask(cluster, DeleteGroupsRequest(groups_names=["g"]), 2).results
    assert result.error_code == ErrorCode.NONE
    for node in cluster:
        assert states(node) == []
    member = ClusterMember(cluster, "m", "t")
    assert progress(cluster) == dict.fromkeys(range(4), (0, 2))


def states(node: Any) -> list[ShareKey]:
    """Return all states that a node serves or stores."""
    return list(node.broker.coordinators.shares.machine.table.shares)


def test_a_group_is_not_deleted_while_a_node_hangs_that_may_have_states_of_it() -> None:
    cluster = share_cluster(2)
    member = ClusterMember(cluster, "m", "t")
    member.leave()
    hung = 1 - coordinator(cluster, OFFSETS, "g")
    cluster.hung.add(hung)
    (result,) = ask(cluster, DeleteGroupsRequest(groups_names=["g"]), 2).results
    assert result.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    member = ClusterMember(cluster, "m")
    member.topics = ("t",)
    member.beat(10_000)
    cluster.wake(hung)
    cluster.advance(1_000)
    # The deletion came too late there; the member that has come meanwhile goes on.
    member.beat(10_000)
    assert member.assigned == {topic_id(cluster): [0, 1, 2, 3]}
    fill(cluster)
    assert [member.take(index) for index in range(4)] == [[(0, 1, 1)]] * 4


def test_the_states_of_a_deleted_topic_are_forgotten_by_all_nodes_for_good() -> None:
    cluster = share_cluster(3)
    ClusterMember(cluster, "m", "t")
    assert all(states(node) for node in cluster)
    request = DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000)
    cluster.call(cluster[0].client(), request, 5)
    cluster.advance(1_000)
    assert not any(states(node) for node in cluster)
    for number in (1, 2):
        cluster.kill(number)
        revive(cluster, number)
        cluster.advance(1_000)
    assert not any(states(node) for node in cluster)


def test_a_member_that_joins_while_a_leader_hangs_gets_the_partitions_of_the_others() -> None:
    cluster = share_cluster(2)
    ClusterMember(cluster, "x", "t", group="h")  # so the topic of states is there
    hung = 1 - coordinator(cluster, OFFSETS, "g")
    cluster.hung.add(hung)
    member = ClusterMember(cluster, "m")
    member.topics = ("t",)
    member.beat(10_000)
    own = [index for index in range(4) if leader(cluster, "t", index) != hung]
    stored_there = [index for index in own if home_of(cluster, index) != hung]
    assert member.assigned.get(topic_id(cluster), []) == stored_there
    cluster.wake(hung)
    cluster.advance(1_000)
    member.beat(10_000)
    assert member.assigned == {topic_id(cluster): [0, 1, 2, 3]}


def test_a_store_keeps_the_states_of_other_nodes_when_it_copies_its_partitions_forward(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, member, index = apart()
    member.accept(index, 0, 0)
    monkeypatch.setattr(copier, "COPY_FORWARD_BYTES_MIN", 100)
    cluster.advance(2 * copier.COPY_FORWARD_CHECK_MS)
    home = state_partition(ShareKey("g", topic_id(cluster), index), STATE_PARTITIONS)
    assert cluster[1].partition(STATES, home).log_start > 0
    cluster.kill(1)
    revive(cluster, 1)
    cluster.advance(LOCK_MS)
    assert progress(cluster)[index] == (1, 1)
    assert [key.partition for key in states(cluster[1])].count(index) == 1
