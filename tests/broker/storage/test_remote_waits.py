"""Reads that go on when what they need has come from the object store."""

from __future__ import annotations

import pytest

from broker.loop.slices import all_here, run_here
from broker.storage.remote_waits import WAITS_MAX, when_fetched
from wal.errors import IndexNotLoaded, RemoteReadError, RemoteWaits


def missing(*, comes: bool = True, error: Exception | None = None) -> RemoteWaits:
    """Return what a read raises that has to wait."""

    def adopt() -> bool:
        if error is not None:
            raise error
        return comes

    found = IndexNotLoaded("log/0.wal", lambda: None, adopt)
    found.offload = run_here
    return RemoteWaits(found)


def read_after(*raised: Exception) -> list[str]:
    """Return what a read returns that first raises these."""
    waiting = list(raised)

    def read() -> list[str]:
        if waiting:
            raise waiting.pop(0)
        return ["found"]

    found: list[str] = all_here(when_fetched(read))
    return found


def test_what_is_there_is_returned_at_once() -> None:
    assert read_after() == ["found"]


def test_a_read_waits_for_one_block_after_the_other_and_for_slow_ones() -> None:
    assert read_after(missing(), missing(comes=False), missing()) == ["found"]


def test_an_error_of_the_store_ends_the_read() -> None:
    with pytest.raises(RemoteReadError, match="away"):
        read_after(missing(error=RemoteReadError("away")))


def test_a_read_does_not_wait_for_ever() -> None:
    with pytest.raises(RemoteReadError, match="too slow; ask again"):
        read_after(*[missing(comes=False)] * (WAITS_MAX + 1))


def test_other_errors_are_raised_as_they_are() -> None:
    with pytest.raises(ValueError, match="x"):
        read_after(ValueError("x"))
