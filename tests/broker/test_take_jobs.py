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
        if failures and log.has_appends is False and log is not gateway.broker.meta.log:
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
