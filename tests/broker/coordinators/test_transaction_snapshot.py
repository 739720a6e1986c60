"""The snapshot of transactions: what the coordinator counts, and partitions in which one hangs."""

from __future__ import annotations

from broker.coordinators.transaction_snapshot import HANGING_AFTER_MS, TransactionSnapshot
from broker.loop.slices import at_once
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.broker.transactions import end, transactional
from tests.broker.txn import Producer


def taken(gateway: Gateway) -> TransactionSnapshot:
    broker = gateway.broker
    longest_ms = broker.config.transaction_max_timeout_ms
    steps = TransactionSnapshot.steps(
        broker.coordinators, broker.vnodes.every, timeout_max_ms=longest_ms, now_ms=gateway.now_ms
    )
    return at_once(steps)


def test_transactions_are_counted_by_what_became_of_them() -> None:
    gateway = Gateway()
    create(gateway.client(), "t")
    assert taken(gateway) == TransactionSnapshot()
    producer = Producer(gateway)
    producer.write("t", 0, b"a")
    gateway.advance(500)
    producer.commit()
    producer.write("t", 0, b"b")
    Producer(gateway).write("t", 0, b"c")
    gateway.settle()
    counts = taken(gateway).counts
    assert counts["begun"] == 3
    assert (counts["committed"], counts["aborted"], counts["fenced"]) == (1, 1, 1)
    assert counts["ended_ms"] == 500
    assert counts["state:Ongoing"] == 1


def test_a_transaction_hangs_that_is_open_for_longer_than_any_may_be() -> None:
    gateway = Gateway(transaction_max_timeout_ms=60_000)
    create(gateway.client(), "t")
    transactional(gateway, b"a", 7)
    gateway.advance(60_000 + HANGING_AFTER_MS)
    assert taken(gateway).hanging_partitions == 0
    gateway.advance(1)
    assert taken(gateway).hanging_partitions == 1
    end(gateway, 7, commit=False)
    assert taken(gateway).hanging_partitions == 0
