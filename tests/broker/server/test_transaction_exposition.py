"""The metrics of transactions."""

from __future__ import annotations

from collections import Counter

from broker.coordinators.transaction_snapshot import TransactionSnapshot
from broker.server.transaction_exposition import transaction_families

COUNTS = Counter(
    {
        "state:Ongoing": 2, "state:CompleteCommit": 3, "begun": 9, "committed": 4, "aborted": 3,
        "timed_out": 1, "fenced": 2, "ended_ms": 1_500, "memory_bytes": 900, "undecided": 1,
    }
)  # fmt: skip


def test_every_count_has_its_family() -> None:
    found = {family.name: family for family in transaction_families(TransactionSnapshot(COUNTS, 7))}
    states = {sample.labels["state"]: sample.value for sample in found["kawal_transactional_ids"].samples}
    assert states == {"Ongoing": 2, "CompleteCommit": 3}
    single = {name: metric.samples[0].value for name, metric in found.items() if len(metric.samples) == 1}
    assert single == {
        "kawal_transactions_begun": 9,
        "kawal_transactions_committed": 4,
        "kawal_transactions_aborted": 3,
        "kawal_transactions_timed_out": 1,
        "kawal_transactions_fenced": 2,
        "kawal_transaction_bytes": 900,
        "kawal_transactions_ending": 1,
        "kawal_transactions_hanging_partitions": 7,
    }
    seconds = {sample.name: sample.value for sample in found["kawal_transaction_seconds"].samples}
    assert seconds == {"kawal_transaction_seconds_count": 7, "kawal_transaction_seconds_sum": 1.5}


def test_a_server_without_transactions_has_zeros() -> None:
    found = {family.name: family for family in transaction_families(TransactionSnapshot())}
    assert found["kawal_transactional_ids"].samples == []
    assert found["kawal_transactions_begun"].samples[0].value == 0
