"""States in partitions that a node leads, as another node has them made, set and deleted."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from broker.coordinators.local_states import after_all
from groups.share.state_records import ShareKey
from groups.share.table import ShareTable
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_share_states import (
    KawalShareStatesRequest,
    PlaceItem,
    PlacesOfTopic,
    StatesAction,
)
from tests.broker.cluster import Cluster
from tests.broker.cluster_shares import STATE_PARTITIONS, STATES, share_cluster, topic_id, write
from tests.broker.cluster_txn import index_on, make

LATER_MS = 60_000


def ready() -> Cluster:
    cluster = share_cluster(2)
    make(cluster, STATES, STATE_PARTITIONS)
    cluster.advance(1_000)
    # The coordinators of states begin with the first request.
    change(cluster, StatesAction.DELETE, [])
    cluster.advance(1_000)
    return cluster


def change(cluster: Cluster, action: StatesAction, items: list[PlaceItem] | None, **values: Any) -> Any:
    """Send node 1 a request about partitions of `t`."""
    topics = None
    if items is not None:
        topics = [PlacesOfTopic(topic_id=values.get("of", topic_id(cluster)), partitions=items)]
    until_ms = cluster[1].now_ms + values.get("time_ms", LATER_MS)
    request = KawalShareStatesRequest(group_id="g", action=action, until_ms=until_ms, topics=topics)
    client = cluster._peer_of(1)
    client.send(request, 0)
    cluster.settle()
    (answer,) = client.answers()
    return answer


def codes(answer: Any) -> list[int]:
    return [item.error_code for topic in answer.topics for item in topic.partitions]


def start(cluster: Cluster, index: int) -> int | None:
    """Return where the group begins in a partition; None: it has no state."""
    shares = cluster[1].broker.coordinators.shares
    found: int | None = shares.position(ShareKey("g", topic_id(cluster), index))
    return found


def test_states_are_made_where_the_group_begins_set_and_deleted() -> None:
    cluster = ready()
    index = index_on(cluster, 1)
    write(cluster, index, b"a", b"b")
    item = PlaceItem(partition_index=index, start_offset=1)
    assert codes(change(cluster, StatesAction.MAKE, [item])) == [ErrorCode.NONE]
    assert start(cluster, index) == 0
    assert codes(change(cluster, StatesAction.SET, [item])) == [ErrorCode.NONE]
    assert start(cluster, index) == 1
    assert codes(change(cluster, StatesAction.MAKE, [item])) == [ErrorCode.NONE]
    assert start(cluster, index) == 1
    assert change(cluster, StatesAction.DELETE, [], of=UUID(int=1)).error_code == ErrorCode.NONE
    assert start(cluster, index) == 1
    assert change(cluster, StatesAction.DELETE, None).error_code == ErrorCode.NONE
    assert start(cluster, index) is None


def test_without_memory_no_state_is_made_and_those_that_there_are_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = ready()
    index = index_on(cluster, 1)
    item = PlaceItem(partition_index=index, start_offset=0)
    monkeypatch.setattr(ShareTable, "room", 0)
    assert codes(change(cluster, StatesAction.MAKE, [item])) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert start(cluster, index) is None
    monkeypatch.setattr(ShareTable, "room", 1)
    assert codes(change(cluster, StatesAction.MAKE, [item])) == [ErrorCode.NONE]
    monkeypatch.setattr(ShareTable, "room", 0)
    assert codes(change(cluster, StatesAction.MAKE, [item])) == [ErrorCode.NONE]


@pytest.mark.parametrize("action", [StatesAction.MAKE, StatesAction.SET])
def test_partitions_of_others_and_unknown_ones_are_refused(action: StatesAction) -> None:
    cluster = ready()
    items = [PlaceItem(partition_index=index_on(cluster, 0)), PlaceItem(partition_index=99)]
    refused = codes(change(cluster, action, items))
    assert refused == [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert codes(change(cluster, action, items[:1], of=UUID(int=1))) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_what_comes_too_late_changes_nothing() -> None:
    cluster = ready()
    index = index_on(cluster, 1)
    item = PlaceItem(partition_index=index)
    for action in (StatesAction.MAKE, StatesAction.SET):
        assert codes(change(cluster, action, [item], time_ms=0)) == [ErrorCode.REQUEST_TIMED_OUT]
        assert start(cluster, index) is None
    change(cluster, StatesAction.MAKE, [item])
    late = change(cluster, StatesAction.DELETE, None, time_ms=0)
    assert late.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert start(cluster, index) == 0


def test_the_first_error_is_told_after_the_last_outcome() -> None:
    told: list[ErrorCode] = []
    one = after_all(2, told.append)
    one(ErrorCode.NOT_COORDINATOR)
    assert told == []
    one(ErrorCode.NONE)
    assert told == [ErrorCode.NOT_COORDINATOR]
