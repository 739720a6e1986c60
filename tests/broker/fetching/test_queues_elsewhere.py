"""Queues of a group whose partitions several nodes lead: its coordinator shows all of them."""

from __future__ import annotations

from broker.fetching.queues_elsewhere import WAIT_MS, added_up, put_together
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_queues import (
    CounterInfo,
    KawalQueuesRequest,
    KawalQueuesResponse,
    MemberInfo,
    QueueGroup,
    QueuePlaces,
)
from tests.broker.cluster import Cluster
from tests.broker.cluster_shares import ClusterMember, share_cluster, topic_id, write
from tests.broker.cluster_txn import OFFSETS, coordinator, leader

PARTITIONS = 4


def shown(cluster: Cluster, *, within_ms: int = 0, ranges_max: int = 0) -> QueueGroup:
    """Return the group as its coordinator shows it."""
    client = cluster[coordinator(cluster, OFFSETS, "g")].client()
    request = KawalQueuesRequest(group_ids=["g"], ranges_max=ranges_max)
    answer: KawalQueuesResponse = cluster.call(client, request, 0, within_ms=within_ms)
    (group,) = answer.groups
    return group


def working(*names: str, partitions: int = PARTITIONS) -> tuple[Cluster, list[ClusterMember]]:
    """Return a cluster with three records in each partition, and members of the group."""
    cluster = share_cluster(2, partitions)
    for index in range(partitions):
        write(cluster, index, b"a", b"b", b"c")
    members = [ClusterMember(cluster, name, "t") for name in names]
    for member in members:
        member.beat()
    return cluster, members


def test_the_records_in_partitions_of_all_nodes_are_shown_by_the_coordinator() -> None:
    cluster, (member,) = working("m")
    for index in range(PARTITIONS):
        assert member.take(index) == [(0, 2, 1)]
        member.accept(index, 0, 0)
    group = shown(cluster, ranges_max=5)
    assert group.error_code == ErrorCode.NONE, group
    (topic,) = group.topics
    assert (topic.topic_name, topic.topic_id) == ("t", topic_id(cluster))
    assert [row.partition_index for row in topic.partitions] == list(range(PARTITIONS))
    for row in topic.partitions:
        assert (row.error_code, row.start_offset, row.end_offset) == (ErrorCode.NONE, 1, 3)
        assert (row.acquired, row.available) == (2, 0)
        assert [(found.first_offset, found.last_offset, found.member_id) for found in row.ranges] == [
            (1, 2, "m")
        ]


def test_what_a_member_has_at_several_leaders_is_added_up() -> None:
    cluster, (member,) = working("m")
    for index in range(PARTITIONS):
        member.take(index)
    (row,) = shown(cluster).members
    assert (row.member_id, row.status, row.pending) == ("m", "Running", 3 * PARTITIONS)
    counters = {counter.name: counter.value for counter in shown(cluster).counters}
    assert 3 * PARTITIONS in counters.values()


def test_a_node_that_does_not_coordinate_a_group_says_so_and_shows_none() -> None:
    cluster, _ = working("m")
    client = cluster[1 - coordinator(cluster, OFFSETS, "g")].client()
    (named,) = cluster.call(client, KawalQueuesRequest(group_ids=["g"]), 0).groups
    assert named.error_code == ErrorCode.NOT_COORDINATOR
    assert cluster.call(client, KawalQueuesRequest(group_ids=None), 0).groups == []


def test_partitions_of_a_leader_that_hangs_have_an_error_and_the_others_are_shown() -> None:
    cluster, (member,) = working("m")
    for index in range(PARTITIONS):
        member.take(index)
    number = coordinator(cluster, OFFSETS, "g")
    cluster.hung.add(1 - number)
    (topic,) = shown(cluster, within_ms=WAIT_MS + 1_000).topics
    for row in topic.partitions:
        is_here = leader(cluster, "t", row.partition_index) == number
        assert row.error_code == (ErrorCode.NONE if is_here else ErrorCode.COORDINATOR_NOT_AVAILABLE)
        assert row.acquired == (3 if is_here else 0)


def test_a_client_cannot_ask_as_the_nodes_do() -> None:
    cluster, _ = working("m")
    places = [QueuePlaces(group_id="g", topic_id=topic_id(cluster), partitions=[0])]
    for node in cluster:
        answer = cluster.call(node.client(), KawalQueuesRequest(group_ids=[], places=places), 0)
        assert answer.groups == []


def test_a_member_runs_if_any_node_sees_it_run() -> None:
    rows = [
        MemberInfo(member_id="m", status="Leaving", window=0, pending=1, slots=0, idle_ms=-1),
        MemberInfo(member_id="n", status="Exit", window=0, pending=0, slots=0, idle_ms=7),
        MemberInfo(member_id="m", status="Running", window=5, pending=2, slots=3, idle_ms=9),
        MemberInfo(member_id="n", status="Complete", window=0, pending=0, slots=0, idle_ms=4),
    ]
    assert put_together(rows) == [
        MemberInfo(member_id="m", status="Running", window=5, pending=3, slots=3, idle_ms=9),
        MemberInfo(member_id="n", status="Exit", window=0, pending=0, slots=0, idle_ms=4),
    ]


def test_counters_of_nodes_are_added_by_name() -> None:
    counters = [
        CounterInfo(name="a", value=1),
        CounterInfo(name="b", value=2),
        CounterInfo(name="a", value=3),
    ]
    assert added_up(counters) == [CounterInfo(name="a", value=4), CounterInfo(name="b", value=2)]
