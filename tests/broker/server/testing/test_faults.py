"""The faults that requests and commits meet."""

from __future__ import annotations

from broker.server.testing.faults import Fault, Faults
from protocol.api_keys import ApiKey


def test_a_fault_of_one_api_meets_no_other() -> None:
    faults = Faults()
    faults.add(Fault(kind="slow", api_key=ApiKey.FETCH))
    assert faults.of_request(ApiKey.PRODUCE) == []
    assert [fault.kind for fault in faults.of_request(ApiKey.FETCH)] == ["slow"]


def test_a_fault_of_no_api_meets_all_requests_and_no_commit() -> None:
    faults = Faults()
    faults.add(Fault(kind="slow"))
    assert len(faults.of_request(ApiKey.METADATA)) == 1
    assert faults.of_commit() == []


def test_commits_use_a_fault_up() -> None:
    faults = Faults()
    number = faults.add(Fault(kind="fail_sync", times=2))
    assert [len(faults.of_commit()) for _ in range(3)] == [1, 1, 0]
    assert faults.hits(number) == 2


def test_healing_ends_one_or_all_and_keeps_the_count() -> None:
    faults = Faults()
    first, second = faults.add(Fault(kind="slow_disk")), faults.add(Fault(kind="fail_sync"))
    faults.of_commit()
    faults.heal(first)
    assert [fault.number for fault in faults.of_commit()] == [second]
    faults.heal()
    assert faults.of_commit() == []
    assert (faults.hits(first), faults.hits(second)) == (1, 2)
