"""Waiters learn what became of a log, and a log with a fault stops alone."""

from __future__ import annotations

from broker.loop.internal_errors import ErrorPlace
from broker.storage.log_outcomes import LogOutcomes
from broker.storage.vnode import Vnode
from protocol.error_codes import ErrorCode
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send
from wal.commit import Advanced


class Told:
    """A list of all that was told, in order."""

    def __init__(self) -> None:
        self.gateway = Gateway(kawal_vnodes=2)
        self.lines: list[object] = []
        self.outcomes = LogOutcomes(self.gateway.broker, self._advanced)
        self.vnode, self.other = self.gateway.broker.vnodes["default"]

    def _advanced(self, vnode: Vnode, streams: list[Advanced], now_ms: int) -> None:
        del now_ms
        self.lines.append((vnode.index, streams))

    def appended(self, vnode: Vnode, error: ErrorCode | None, now_ms: int) -> None:
        """Learn as a waiter does."""
        del now_ms
        self.lines.append((vnode.index, error))

    def wait(self) -> None:
        """Wait for a version that does not come."""
        self.vnode.wait_durable(10**6, self, 0)


def test_streams_that_advanced_are_told_after_what_was_settled() -> None:
    told = Told()
    told.vnode.is_confirmed = False
    told.vnode.wait_durable(-1, told, 0)
    assert told.lines == []
    told.outcomes.confirmed(told.vnode, 0)
    assert told.lines == [(0, None), (0, [])]
    assert told.vnode.is_confirmed


def test_a_log_that_is_stopped_refuses_what_waits_and_takes_nothing_until_the_next_start() -> None:
    told = Told()
    told.wait()
    told.outcomes.stop(told.vnode, OSError("fenced"), 0)
    assert told.lines == [(0, ErrorCode.KAFKA_STORAGE_ERROR)]
    told.gateway.advance(10**9)
    assert told.vnode.log.state == "FAILED"
    assert told.other.log.state == "OPEN"


def test_an_error_of_our_own_stops_the_log_in_which_it_came_up() -> None:
    told = Told()
    told.gateway.break_things()
    told.wait()

    def fail() -> list[Advanced]:
        raise KeyError("ours")

    told.outcomes.apply(told.vnode, fail, 0)
    assert told.lines == [(0, ErrorCode.KAFKA_STORAGE_ERROR)]
    assert told.vnode.log.state == "FAILED"
    assert told.gateway.broker.internal_errors.counts[ErrorPlace.LOG] == 1


def test_a_log_that_crashed_is_verified_and_goes_on() -> None:
    told = Told()
    told.gateway.break_things()
    client = told.gateway.client()
    create(client, "t", 2)
    told.wait()
    told.outcomes.crashed(told.vnode, KeyError("ours"), told.gateway.now_ms)
    assert told.lines == [(0, ErrorCode.KAFKA_STORAGE_ERROR)]
    told.gateway.advance(10_000)
    assert told.vnode.log.state == "OPEN"
    assert [send(client, "t", batch(b"x"), index).error_code for index in range(2)] == [0, 0]
