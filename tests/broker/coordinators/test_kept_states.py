"""States that a node stores for others: sessions, and what is refused in them."""

from __future__ import annotations

import errno
from typing import Any
from uuid import UUID

from groups.share.record_range import StoredRange
from groups.share.state_records import (
    ShareKey,
    Snapshot,
    Update,
    encode_deletion,
    encode_snapshot,
    encode_update,
    state_partition,
)
from groups.share.states import RecordState
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_share_records import KawalShareRecordsRequest, StateRecord
from tests.broker.cluster import Cluster
from tests.broker.cluster_shares import STATE_PARTITIONS, STATES, home_of, share_cluster, topic_id
from tests.broker.cluster_txn import leader, make, revive
from wal.memory_faults import failing

ACCEPTED = StoredRange(1, 1, RecordState.ACKNOWLEDGED, 1, "")


class Store:
    """A node that stores a state of another, which a test plays."""

    def __init__(self) -> None:
        self.cluster: Cluster = share_cluster(2, 16)
        make(self.cluster, STATES, STATE_PARTITIONS)
        self.cluster.advance(1_000)
        self.index = next(
            index
            for index in range(16)
            if leader(self.cluster, "t", index) == 0 and home_of(self.cluster, index) == 1
        )
        self.key = ShareKey("g", topic_id(self.cluster), self.index)
        self.home = state_partition(self.key, STATE_PARTITIONS)

    def ask(self, *records: tuple[bytes, bytes | None], session: int = -1, number: int = 0) -> Any:
        """Send a request of node 0 to node 1."""
        request = KawalShareRecordsRequest(
            node_id=0,
            partition=self.home,
            session=session,
            number=number,
            records=[StateRecord(key=key, value=value) for key, value in records],
        )
        return self.cluster.ask(1, request, 0)

    def open(self) -> int:
        """Open a session."""
        answer = self.ask()
        assert answer.error_code == ErrorCode.NONE
        return int(answer.session)

    def snapshot(self, start: int, key: ShareKey | None = None) -> tuple[bytes, bytes | None]:
        return encode_snapshot(key or self.key, Snapshot(0, 0, 0, start, 0, 1, 1, []))

    def update(self, epoch: int = 0) -> tuple[bytes, bytes | None]:
        return encode_update(self.key, Update(epoch, 0, 0, 1, [ACCEPTED]))

    def known(self) -> list[tuple[bytes, bytes | None]]:
        """Return the states that a new session begins with."""
        return [(bytes(record.key), record.value) for record in self.ask().records]


def test_what_was_stored_is_given_out_after_the_death_of_the_store() -> None:
    store = Store()
    session = store.open()
    assert store.ask(store.snapshot(7), session=session).error_code == ErrorCode.NONE
    (state,) = store.known()
    store.cluster.kill(1)
    revive(store.cluster, 1)
    store.cluster.advance(1_000)
    (again,) = store.known()
    assert again[0] == state[0] == store.snapshot(7)[0]
    assert store.cluster[1].broker.coordinators.shares.machine.table.shares[store.key].partition.start == 7


def test_a_request_of_an_earlier_session_is_refused_and_changes_nothing() -> None:
    store = Store()
    earlier = store.open()
    later = store.open()
    assert store.ask(store.snapshot(7), session=earlier).error_code == ErrorCode.FENCED_STATE_EPOCH
    assert store.ask(store.snapshot(5), session=later).error_code == ErrorCode.NONE
    assert store.cluster[1].broker.coordinators.shares.machine.table.shares[store.key].partition.start == 5


def test_a_request_is_carried_out_once_and_none_is_left_out() -> None:
    store = Store()
    session = store.open()
    assert store.ask(store.snapshot(5), session=session).error_code == ErrorCode.NONE
    assert store.ask(store.snapshot(5), session=session).error_code == ErrorCode.FENCED_STATE_EPOCH
    answer = store.ask(store.update(), session=session, number=2)
    assert answer.error_code == ErrorCode.FENCED_STATE_EPOCH
    assert store.ask(store.update(), session=session, number=1).error_code == ErrorCode.NONE


def test_a_session_does_not_outlive_the_process_of_the_store() -> None:
    store = Store()
    session = store.open()
    store.cluster.kill(1)
    revive(store.cluster, 1)
    store.cluster.advance(1_000)
    assert store.ask(store.snapshot(5), session=session).error_code == ErrorCode.FENCED_STATE_EPOCH
    assert store.known() == []


def test_a_change_without_its_snapshot_is_refused() -> None:
    store = Store()
    session = store.open()
    assert store.ask(store.update(), session=session).error_code == ErrorCode.INVALID_RECORD
    both = (store.snapshot(0), store.update())
    assert store.ask(*both, session=session).error_code == ErrorCode.NONE
    assert store.ask(store.update(1), session=session, number=1).error_code == ErrorCode.INVALID_RECORD
    assert store.ask(encode_deletion(store.key), session=session, number=1).error_code == ErrorCode.NONE
    assert store.ask(store.update(), session=session, number=2).error_code == ErrorCode.INVALID_RECORD


def test_states_of_unknown_topics_and_of_other_leaders_are_refused_and_their_changes_left_out() -> None:
    store = Store()
    session = store.open()
    unknown = ShareKey("g", UUID(int=1), 0)
    refused = store.ask(store.snapshot(5, unknown), session=session)
    assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert store.ask(encode_deletion(unknown), session=session).error_code == ErrorCode.NONE
    own = ShareKey("g", topic_id(store.cluster), leader_of(store.cluster, 1))
    refused = store.ask(store.snapshot(5, own), session=session, number=1)
    assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert store.known() == []


def leader_of(cluster: Cluster, number: int) -> int:
    """Return a partition that a node leads."""
    return next(index for index in range(16) if leader(cluster, "t", index) == number)


def test_bytes_that_are_no_state_are_refused() -> None:
    store = Store()
    session = store.open()
    assert store.ask((b"x", b"y"), session=session).error_code == ErrorCode.INVALID_RECORD


def test_a_partition_of_another_store_is_refused() -> None:
    store = Store()
    store.home = next(home for home in range(50) if leader(store.cluster, STATES, home) == 0)
    assert store.ask().error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    store.home = STATE_PARTITIONS
    assert store.ask().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_what_could_not_be_synced_is_not_known_either() -> None:
    store = Store()
    session = store.open()
    assert store.ask(store.snapshot(3), session=session).error_code == ErrorCode.NONE
    store.cluster.disk.faults.append(failing("sync", errno.EIO, times=1))
    answer = store.ask(store.update(), session=session, number=1)
    store.cluster.disk.faults.clear()
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    store.cluster.advance(10_000)
    found = store.cluster[1].broker.coordinators.shares.machine.table.shares[store.key].partition
    assert found.stored_ranges() in ([], [ACCEPTED])
    stored = store.cluster[1].partition(STATES, store.home)
    assert (stored.high_watermark == stored.log_start + 2) == (found.stored_ranges() == [ACCEPTED])
