"""Queues of a group whose partitions several nodes lead: its coordinator has all of them changed."""

from __future__ import annotations

from typing import Any

from broker.fetching.queue_changes_elsewhere import WAIT_MS
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_queue_changes import (
    KawalQueueChangesRequest,
    KawalQueueChangesResponse,
    QueueAction,
    QueueTopicItem,
)
from tests.broker.cluster import Cluster
from tests.broker.cluster_shares import places_apart
from tests.broker.cluster_txn import OFFSETS, coordinator, index_on, leader
from tests.broker.fetching.test_queues_elsewhere import PARTITIONS, shown, working

EVERYWHERE = list(range(PARTITIONS))


def change(
    cluster: Cluster, action: QueueAction, *, number: int | None = None, within_ms: int = 0, **fields: Any
) -> KawalQueueChangesResponse:
    """Ask a node, by default the group's coordinator, for a change."""
    number = coordinator(cluster, OFFSETS, "g") if number is None else number
    request = KawalQueueChangesRequest(group_id="g", action=action, **fields)
    answer: KawalQueueChangesResponse = cluster.call(
        cluster[number].client(), request, 0, within_ms=within_ms
    )
    return answer


def outcomes(answer: KawalQueueChangesResponse) -> dict[int, tuple[int, int]]:
    """Return the code and the number of records by partition."""
    return {
        row.partition_index: (row.error_code, row.records)
        for topic in answer.topics
        for row in topic.partitions
    }


def test_records_in_partitions_of_all_nodes_are_given_back() -> None:
    cluster, (member, other) = working("m", "n")
    for index in EVERYWHERE:
        member.take(index)
    assert outcomes(change(cluster, QueueAction.RELEASE)) == dict.fromkeys(EVERYWHERE, (0, 3))
    assert [other.take(index) for index in EVERYWHERE] == [[(0, 2, 2)]] * PARTITIONS


def test_the_records_of_one_member_and_one_record_are_given_back_at_their_leaders() -> None:
    cluster, (member, other) = working("m", "n")
    for index in EVERYWHERE:
        (member if index else other).take(index)
    found = outcomes(change(cluster, QueueAction.RELEASE, member_id="n"))
    assert found == {0: (0, 3)} | dict.fromkeys(EVERYWHERE[1:], (0, 0))
    away = next(
        index for index in EVERYWHERE[1:] if leader(cluster, "t", index) != coordinator(cluster, OFFSETS, "g")
    )
    one = [QueueTopicItem(topic_name="t", partitions=[away])]
    assert outcomes(change(cluster, QueueAction.RELEASE, offset=1, topics=one)) == {away: (0, 1)}


def test_a_purge_finishes_the_records_of_all_nodes() -> None:
    cluster, _ = working("m")
    assert outcomes(change(cluster, QueueAction.PURGE)) == dict.fromkeys(EVERYWHERE, (0, 3))
    for row in shown(cluster).topics[0].partitions:
        assert (row.start_offset, row.acquired, row.available) == (3, 0, 0)


def test_partitions_that_the_group_does_not_have_are_refused_wherever_they_are() -> None:
    cluster, _ = working("m")
    wrong = [QueueTopicItem(topic_name="t", partitions=[9]), QueueTopicItem(topic_name="u", partitions=[0])]
    codes = {code for code, _ in outcomes(change(cluster, QueueAction.PURGE, topics=wrong)).values()}
    assert codes == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_node_that_does_not_coordinate_the_group_changes_nothing() -> None:
    cluster, _ = working("m")
    answer = change(cluster, QueueAction.PURGE, number=1 - coordinator(cluster, OFFSETS, "g"))
    assert (answer.error_code, answer.topics) == (ErrorCode.NOT_COORDINATOR, [])
    assert {row.available for row in shown(cluster).topics[0].partitions} == {3}


def test_a_leader_that_hangs_may_have_made_the_change() -> None:
    cluster, (member,) = working("m", partitions=3 * PARTITIONS)
    for index in range(3 * PARTITIONS):
        member.take(index)
    number = coordinator(cluster, OFFSETS, "g")
    cluster.hung.add(1 - number)
    found = outcomes(change(cluster, QueueAction.RELEASE, within_ms=WAIT_MS + 1_000))
    # What this node leads, the other one may have to store.
    here, *_ = places_apart(cluster, number, number)
    assert (found[here], found[index_on(cluster, 1 - number)]) == ((0, 3), (ErrorCode.REQUEST_TIMED_OUT, 0))
