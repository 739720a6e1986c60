"""Calls to an object store in a thread."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.upkeep.remote_call import submit_call
from wal.disk import DiskError
from wal.errors import StoreError
from wal.objects import StoreAway

Done = Callable[[Exception | None], None]


def here(work: Callable[[], object], done: Done) -> None:
    """Do the work as a thread would, whose errors are faults of ours."""
    try:
        work()
    except Exception as error:  # noqa: BLE001
        done(error)
    else:
        done(None)


def test_a_call_that_ends_well_has_no_error() -> None:
    outcomes: list[Exception | None] = []
    submit_call(here, lambda: None, outcomes.append)
    assert outcomes == [None]


@pytest.mark.parametrize("error", [StoreAway("away"), DiskError("read", "p", 5), StoreError("lost")])
def test_errors_of_store_and_disk_are_an_outcome_and_no_fault(error: Exception) -> None:
    faults: list[Exception | None] = []
    outcomes: list[Exception | None] = []

    def fails() -> None:
        raise error

    def submit(work: Callable[[], object], done: Done) -> None:
        here(work, faults.append)
        done(faults[-1])

    submit_call(submit, fails, outcomes.append)
    assert (faults, outcomes) == ([None], [error])


def test_a_fault_of_ours_stays_one() -> None:
    outcomes: list[Exception | None] = []

    def fails() -> None:
        raise KeyError("ours")

    submit_call(here, fails, outcomes.append)
    assert isinstance(outcomes[0], KeyError)
