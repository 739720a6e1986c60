"""Errors of our own are logged with their cause and counted by place; the work beside goes on."""

from __future__ import annotations

import logging

import pytest

from broker.loop.internal_errors import ErrorPlace, InternalErrors
from broker.loop.timers import Timers
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, producing, send


def test_an_error_is_counted_and_logged_with_its_cause(caplog: pytest.LogCaptureFixture) -> None:
    errors = InternalErrors()

    def broken() -> None:
        raise ZeroDivisionError("the cause")

    with caplog.at_level(logging.ERROR), errors.net(ErrorPlace.HTTP, "a page is missing"):
        broken()
    assert errors.counts[ErrorPlace.HTTP] == 1
    assert sum(errors.counts.values()) == 1
    assert "a page is missing" in caplog.text
    assert "ZeroDivisionError: the cause" in caplog.text


def test_without_an_error_nothing_is_counted() -> None:
    errors = InternalErrors()
    with errors.net(ErrorPlace.HTTP, "a page"):
        pass
    assert not any(errors.counts.values())


def test_a_timer_that_raises_is_over_and_the_others_run() -> None:
    errors, ran = InternalErrors(), list[int]()
    timers = Timers(errors)

    def broken(_now_ms: int) -> None:
        raise ZeroDivisionError

    timers.add(1, broken)
    timers.add(1, ran.append)
    timers.run_due(5)
    assert (ran, errors.counts[ErrorPlace.TIMER], timers.next_deadline()) == ([5], 1, None)


def test_a_frame_that_cannot_be_made_refuses_its_records_and_the_log_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An error while a commit is put together is the end of that commit, not of the process."""
    gateway = Gateway(kawal_vnodes=1)
    gateway.break_things()
    client = gateway.client()
    create(client, "t")
    log = gateway.partition("t").vnode.log

    def broken(*_: object) -> None:
        raise OverflowError("too many")

    with monkeypatch.context() as broken_once:
        broken_once.setattr("wal.log.begin_commit", broken)
        client.send(producing(("t", 0, batch(b"lost"))), 9)
        gateway.run_jobs()
    (answer,) = client.answers()
    assert answer.responses[0].partition_responses[0].error_code == 56
    assert gateway.broker.internal_errors.counts[ErrorPlace.LOG] == 1
    gateway.settle()
    assert log.state == "OPEN"
    assert send(client, "t", batch(b"kept")).base_offset == 0


def test_a_job_whose_end_cannot_be_applied_closes_the_log_until_the_next_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway = Gateway(kawal_vnodes=1)
    gateway.break_things()
    client = gateway.client()
    create(client, "t")
    send(client, "t", batch(b"before"))

    def broken(*_: object) -> None:
        raise OverflowError("too many")

    with monkeypatch.context() as broken_once:
        broken_once.setattr("wal.log.commit_done", broken)
        client.send(producing(("t", 0, batch(b"in doubt"))), 9)
        gateway.run_jobs()
    (answer,) = client.answers()
    assert answer.responses[0].partition_responses[0].error_code == 56
    gateway.advance(60_000)
    assert send(client, "t", batch(b"refused")).error_code == 56
    gateway.crash()
    assert send(gateway.client(), "t", batch(b"after")).base_offset >= 1
