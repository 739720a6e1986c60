"""States that other nodes store: loading, changes on their way, and what happens when they fail."""

from __future__ import annotations

from collections import deque

import pytest

from broker.coordinators import states_elsewhere
from broker.coordinators.states_elsewhere import AGAIN_MS, STORE_MS, _first
from groups.effects import Effects
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.cluster import LATE, REPEATED, UNANSWERED, UNSENT, Cluster
from tests.broker.cluster_shares import ClusterMember, places_apart, share_cluster, topic_id, write
from tests.broker.cluster_txn import revive
from tests.broker.share_requests import acknowledging_in
from tests.broker.shares import acquired, codes, outcome


def apart() -> tuple[Cluster, ClusterMember, int]:
    """Return a cluster and a member that has two records of a partition whose state another node stores."""
    cluster = share_cluster(2, 16)
    member = ClusterMember(cluster, "m", "t")
    index = places_apart(cluster, leads=0, stores=1)[0]
    write(cluster, index, b"a", b"b")
    assert member.take(index) == [(0, 1, 1)]
    return cluster, member, index


def shown(cluster: Cluster, index: int) -> int | None:
    """Return the first offset that the group has not finished, as the leader knows it."""
    return cluster[0].broker.coordinators.shares.position(ShareKey("g", topic_id(cluster), index))


@pytest.mark.parametrize("mishap", [UNSENT, UNANSWERED, REPEATED, LATE])
def test_a_change_is_stored_by_another_node_although_a_message_is_lost_or_late(mishap: str) -> None:
    cluster, member, index = apart()
    cluster.mishaps.append(mishap)
    assert outcome(member.accept(index, 0, 0)) == [ErrorCode.NONE]
    cluster.deliver_late()
    assert outcome(member.accept(index, 1, 1)) == [ErrorCode.NONE]
    assert shown(cluster, index) == 2


def test_members_notice_nothing_when_the_node_that_stores_their_state_starts_again() -> None:
    cluster, member, index = apart()
    cluster.kill(1)
    said = acknowledging_in("g", "m", member.at(index).session, (topic_id(cluster), index), [(0, 0)])
    client = member.at(index).client
    client.send(said, 2)
    cluster.settle()
    assert client.answers() == []
    cluster.advance(1_000)
    revive(cluster, 1)
    cluster.advance(AGAIN_MS)
    (answer,) = client.answers()
    assert outcome(answer) == [ErrorCode.NONE]


def test_a_node_that_hangs_holds_up_only_what_it_stores() -> None:
    cluster, member, index = apart()
    (other, *_) = places_apart(cluster, leads=0, stores=0)
    write(cluster, other, b"a")
    cluster.hung.add(1)
    said = acknowledging_in("g", "m", member.at(index).session, (topic_id(cluster), index), [(0, 0)])
    client = member.at(index).client
    client.send(said, 2)
    cluster.settle()
    assert client.answers() == []
    cluster.advance(STORE_MS)
    (answer,) = client.answers()
    assert outcome(answer) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    member.at(index).session += 1
    # Until the states are loaded there is nothing, and no error that clients do not know.
    answer = member.fetch(index)
    assert (acquired(answer), codes(answer)) == ([], [])
    assert member.take(other) == [(0, 0, 1)]
    cluster.wake(1)
    cluster.advance(AGAIN_MS)
    # It had been stored by the node when it went on, before the states were loaded again.
    assert member.take(index) == [(1, 1, 1)]


def test_a_fetch_that_waits_is_answered_when_the_states_are_loaded() -> None:
    cluster, member, index = apart()
    cluster.kill(1)
    client = member.at(index).client
    client.send(acknowledging_in("g", "m", 1, (topic_id(cluster), index), [(0, 0)]), 2)
    member.at(index).session += 1
    cluster.advance(STORE_MS)
    assert [outcome(answer) for answer in client.answers()] == [[ErrorCode.COORDINATOR_NOT_AVAILABLE]]
    member.at(index).send_fetch((topic_id(cluster), index), max_wait_ms=60_000)
    cluster.settle()
    assert client.answers() == []
    revive(cluster, 1)
    cluster.advance(10 * AGAIN_MS)
    (answer,) = client.answers()
    assert acquired(answer) == [(0, 1, 1)]


def test_changes_leave_together_up_to_a_number_and_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states_elsewhere, "EFFECTS_MAX", 3)
    monkeypatch.setattr(states_elsewhere, "REQUEST_BYTES", 10)
    sizes = [4, 4, 4, 20, 1, 1, 1, 1]
    waiting = deque(Effects(0, [(b"k" * size, None)], [], lambda _error, _now_ms: None) for size in sizes)
    found = []
    while waiting:
        found.append([len(each.records[0][0]) for each in _first(waiting)])
    assert found == [[4, 4], [4], [20], [1, 1, 1], [1]]


def test_a_topic_deleted_while_its_states_are_on_their_way_leaves_nothing() -> None:
    cluster, member, index = apart()
    cluster.hung.add(1)
    client = member.at(index).client
    client.send(acknowledging_in("g", "m", 1, (topic_id(cluster), index), [(0, 0)]), 2)
    cluster.settle()
    cluster[0].client().send(DeleteTopicsRequest(topic_names=["t"], timeout_ms=0), 5)
    cluster.settle()
    cluster.wake(1)
    cluster.advance(1_000)
    assert len(client.answers()) == 1
    for node in cluster:
        assert not node.broker.coordinators.shares.machine.table.shares
