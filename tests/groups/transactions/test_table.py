"""The table of ids: what a lost change leaves behind, and the order in which ids were used."""

from __future__ import annotations

from groups.transactions.states import TransactionState
from groups.transactions.table import lost
from groups.transactions.transaction import TV2
from protocol.error_codes import ErrorCode
from tests.groups.transactions.driver import NONE, Driver, in_state


def test_lost_changes_are_undone_to_the_last_durable_one() -> None:
    driver = Driver()
    identity = driver.init()
    before = driver.known()
    driver.hold = driver.hold_markers = True
    driver.add(identity, version=TV2)
    driver.end(identity, version=TV2)
    assert driver.state() == TransactionState.PREPARE_COMMIT
    driver.lose()
    assert driver.known() == before


def test_memory_is_counted_to_the_byte_over_changes_and_losses() -> None:
    driver = Driver()
    in_state(driver, TransactionState.COMPLETE_ABORT)
    used = driver.machine.counts()["memory_bytes"]
    driver.hold = True
    driver.init("another")
    driver.lose()
    assert driver.machine.counts()["memory_bytes"] == used
    driver.hold = False
    driver.machine._table.forget("t")
    driver.pump()
    assert driver.machine.counts()["memory_bytes"] == 0


def test_ids_are_in_the_order_of_their_last_use_over_a_restart() -> None:
    driver = Driver(partitions=1)
    for name in ("a", "b", "c", "a"):
        assert driver.init(name).code == NONE
    assert list(driver.machine._table.ids) == ["b", "c", "a"]
    driver.restart()
    assert list(driver.machine._table.ids) == ["b", "c", "a"]


def test_a_lost_partition_sends_clients_to_look_for_the_coordinator() -> None:
    assert lost(ErrorCode.NOT_COORDINATOR) == ErrorCode.NOT_COORDINATOR
    assert lost(ErrorCode.KAFKA_STORAGE_ERROR) == ErrorCode.COORDINATOR_NOT_AVAILABLE
