"""The stored state of groups is replayed at the start, in slices; until then groups are refused."""

from __future__ import annotations

import errno
import logging
from itertools import count
from typing import Any

import pytest

from broker.coordinators import loader
from broker.coordinators.records import append_records
from groups.record_keys import ClassicGroupKey
from groups.records import encode_record
from groups.transactions.records import encode_transaction
from groups.transactions.states import TransactionState
from groups.transactions.transaction import Transaction
from groups.transactions.wide_records import PARTITIONS_PER_STEP
from protocol.error_codes import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_groups import ListGroupsRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import codes, commit, committed, committing, fetching_offsets, join
from tests.broker.kit import batch, create, fetched, fetching, send, values
from tests.sim.damage import changed
from wal.memory_faults import failing
from wal.memory_image import KEEP_ALL

GROUPS = [f"group-{number}" for number in range(12)]


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    """Return a broker that has a dozen groups and replays a few records at a time."""
    monkeypatch.setattr(loader, "LOAD_BYTES_PER_READ", 400)
    monkeypatch.setattr(loader, "LOAD_BYTES_PER_SLICE", 200)
    gateway = Gateway(kawal_vnodes=2, group_initial_rebalance_delay_ms=0, kawal_tail_cache_bytes=0)
    client = gateway.client()
    create(client, "t", partitions=2)
    send(client, "t", batch(b"a"))
    for group_id in GROUPS:
        for offset in range(5):
            commit(client, group_id, ("t", 0, offset), ("t", 1, offset))
    join(client, "with a member")
    return gateway


def partition_of(gateway: Gateway, group_id: str) -> int:
    with gateway.broker.groups.step(gateway.now_ms) as coordinator:
        return coordinator.partition_of(group_id)


def load_code(client: Client, group_id: str) -> int:
    code: int = asked(client, fetching_offsets(group_id), 9).groups[0].error_code
    return code


def asked(client: Client, request: Any, version: int) -> Any:
    """Return the answer to a request that needs no disk, while the replay makes no progress."""
    client.send(request, version)
    (answer,) = client.answers()
    return answer


def test_groups_are_refused_until_their_partition_is_replayed(gateway: Gateway) -> None:
    gateway.restart()
    client = gateway.client()
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert {load_code(client, group_id) for group_id in GROUPS} >= {loading}
    assert asked(client, ListGroupsRequest(), 5).error_code == loading
    late = next(group_id for group_id in GROUPS if load_code(client, group_id))
    assert codes(asked(client, committing(late, ("t", 0, 9)), 9)) == [loading]
    data = fetched(asked(client, fetching({("t", 0): 0}), 12))["t", 0]
    assert values(data.records) == [b"a"]
    slices = 0
    while gateway.broker.scheduler.pending:
        gateway.broker.scheduler.run()
        slices += 1
    assert slices > len(GROUPS)
    assert all(committed(client, group_id) == {("t", 0): 4, ("t", 1): 4} for group_id in GROUPS)
    listed = client.call(ListGroupsRequest(), 5)
    assert (listed.error_code, {group.group_id for group in listed.groups}) == (
        0,
        {*GROUPS, "with a member"},
    )


def test_a_partition_that_cannot_be_read_is_not_served_until_it_can(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    gateway.restart()
    # A sector is read several times before it is given up until the next start.
    gateway.disk.faults.append(failing("read", errno.EIO, path="vnode-", times=6))
    gateway.advance(200)
    assert "cannot be read, retry in" in caplog.text
    gateway.advance(3_000)
    client = gateway.client()
    assert {load_code(client, group_id) for group_id in GROUPS} == {
        ErrorCode.NONE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    }
    gateway.restart()
    gateway.advance(3_000)
    client = gateway.client()
    assert all(committed(client, group_id) == {("t", 0): 4, ("t", 1): 4} for group_id in GROUPS)


def test_a_group_with_something_unknown_is_refused_and_the_others_are_served(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    group_id = GROUPS[0]
    partition = gateway.partition("__consumer_offsets", partition_of(gateway, group_id))
    key, _ = encode_record(ClassicGroupKey(group_id), None)
    append_records(partition, [(b"\x00", b"one byte"), (key, b"\x00\x03junk")], gateway.now_ms)
    gateway.restart()
    with caplog.at_level(logging.ERROR):
        gateway.advance(1_000)
    assert f"group {group_id!r} is quarantined" in caplog.text
    client = gateway.client()
    for name in GROUPS:
        assert load_code(client, name) == (ErrorCode.COORDINATOR_NOT_AVAILABLE if name == group_id else 0)


def test_sessions_begin_when_the_group_is_loaded(gateway: Gateway) -> None:
    gateway.restart()
    gateway.advance(9_000)
    client = gateway.client()
    listed = client.call(ListGroupsRequest(states_filter=["Stable"]), 5)
    assert [group.group_id for group in listed.groups] == ["with a member"]
    gateway.advance(2_000)
    assert client.call(ListGroupsRequest(states_filter=["Stable"]), 5).groups == []


def test_other_requests_have_their_turn_between_the_steps_of_a_wide_transaction(gateway: Gateway) -> None:
    wide = frozenset((f"topic-{number}", 0) for number in range(5_000))
    client = gateway.client()
    client.call(InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=60_000), 4)
    with gateway.broker.transactions.step(gateway.now_ms) as machine:
        index = machine.partition_of("tx")
        known = machine.described("tx")
    assert isinstance(known, Transaction)
    record = encode_transaction(
        known._replace(state=TransactionState.ONGOING, partitions=wide, start_ms=gateway.now_ms)
    )
    append_records(gateway.partition("__transaction_state", index), [record] * 4, gateway.now_ms)
    gateway.settle()
    gateway.restart()
    transactions = gateway.broker.transactions
    slices = 0
    while gateway.broker.scheduler.pending:
        gateway.broker.scheduler.run()
        slices += 1
    assert slices > 4 * len(wide) // PARTITIONS_PER_STEP
    with transactions.step(gateway.now_ms) as machine:
        found = machine.described("tx")
    assert isinstance(found, Transaction)
    assert found.partitions == wide


def test_records_that_take_long_are_replayed_one_in_a_slice(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "LOAD_BYTES_PER_SLICE", 1 << 30)
    gateway.restart()
    quick = slices_until_loaded(gateway)
    gateway.restart()
    ticks = count(step=loader.LOAD_SLICE_NS)
    gateway.broker.stats.clock_ns = lambda: next(ticks)
    assert slices_until_loaded(gateway) > quick + 5 * len(GROUPS)


def slices_until_loaded(gateway: Gateway) -> int:
    """Load the groups, a slice of the scheduler's work at a time; return how many it took."""
    client, slices = gateway.client(), 0
    client.send(ListGroupsRequest(), 5)
    client.answers()
    while gateway.broker.scheduler.pending:
        gateway.broker.scheduler.run()
        slices += 1
    return slices


def test_progress_is_not_told_from_a_log_whose_last_records_are_unknown(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    """Bug: OffsetFetch told what had been committed before the damage, without an error."""
    gateway.crash()
    vnode = gateway.partition("__consumer_offsets", partition_of(gateway, GROUPS[0])).vnode
    damaged = {
        name for name in GROUPS
        if gateway.partition("__consumer_offsets", partition_of(gateway, name)).vnode is vnode
    }  # fmt: skip
    path = next(
        path
        for path in sorted(gateway.disk.files())
        if f"vnode-{vnode.index}/" in path and path.endswith(".wal")
    )
    gateway.disk = changed(gateway.disk.crash(KEEP_ALL), path, half_of_it_flipped)

    gateway.open_again()
    with caplog.at_level(logging.ERROR):
        gateway.advance(10_000)

    assert (
        gateway.partition("__consumer_offsets", partition_of(gateway, GROUPS[0])).vnode.log.damage is not None
    )
    assert caplog.text.count("is not served, as its last records are unknown") >= 1
    client = gateway.client()
    for name in GROUPS:
        expected = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if name in damaged else ErrorCode.NONE
        assert load_code(client, name) == expected
    assert 0 < len(damaged) < len(GROUPS)


def half_of_it_flipped(data: bytearray) -> bytes:
    """Change a byte in the middle of what was written."""
    data[len(data.rstrip(b"\0")) // 2] ^= 1
    return bytes(data)
