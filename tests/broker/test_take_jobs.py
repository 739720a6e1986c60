"""The broker hands out disk work one by one: what has begun is done, whatever comes after it."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, outcomes, producing, send
from wal.log import VnodeLog
from wal.maintenance import Job


def test_an_error_of_upkeep_does_not_lose_the_commit_that_began_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway = Gateway(kawal_vnodes=1)
    gateway.broker.internal_errors.listener = None
    client = gateway.client()
    create(client, "t")
    gateway.settle()
    healthy, failures = VnodeLog.begin_maintenance, [True]

    def begin(log: VnodeLog, now_ms: int) -> Job | None:
        if failures and not log.pending and log is not gateway.broker.meta.log:
            failures.pop()
            raise ValueError("an error of our own")
        return healthy(log, now_ms)

    monkeypatch.setattr(VnodeLog, "begin_maintenance", begin)
    client.send(producing(("t", 0, batch(b"one"))), 9)
    gateway.settle()
    assert not failures
    vnode = gateway.broker.vnodes["default"][0]
    assert not vnode.busy, "the commit was handed out and came back"
    (answer,) = outcomes(client.answers()[-1])
    assert answer.error_code in (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR)
    gateway.advance(5_000)
    assert send(client, "t", batch(b"two")).error_code == ErrorCode.NONE


def test_between_two_looks_at_all_logs_commits_alone_are_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    create(client, "t")
    gateway.settle()
    asked: list[str] = []

    def take_jobs(_now_ms: int) -> list[Job]:
        asked.append("databases")
        return []

    monkeypatch.setattr(gateway.broker.databases, "take_jobs", take_jobs)
    client.send(producing(("t", 0, batch(b"one"))), 9)
    jobs = list(gateway.broker.take_jobs(gateway.now_ms, gateway.broker.vnodes.with_appends()))
    assert ([vnode.database for vnode, _ in jobs], asked) == (["default"], [])
    list(gateway.broker.take_jobs(gateway.now_ms))
    assert asked == ["databases"]
