"""The steps of one transactional id."""

from __future__ import annotations

import pytest

from groups.transactions.states import TransactionState
from groups.transactions.transaction import (
    EPOCH_MAX,
    NO_ID,
    TV1,
    TV2,
    Transaction,
    completed,
    ended,
    enlisted,
    initialized,
    rotated,
)

NEW = Transaction("t", 7, 60_000, 0)


def test_an_end_of_the_second_protocol_raises_the_epoch_and_one_of_the_first_does_not() -> None:
    open_ = enlisted(NEW._replace(epoch=3), frozenset({("a", 0)}), client_version=TV1, now_ms=5)
    assert (open_.state, open_.start_ms) == (TransactionState.ONGOING, 5)
    for version, epoch in ((TV1, 3), (TV2, 4)):
        decided = ended(open_, commit=True, client_version=version, next_producer_id=NO_ID, now_ms=9)
        assert (decided.epoch, decided.start_ms, decided.partitions) == (epoch, 5, open_.partitions)
        done = completed(decided, now_ms=10)
        assert (done.state, done.epoch, done.partitions) == (
            TransactionState.COMPLETE_COMMIT, epoch, frozenset(),
        )  # fmt: skip


def test_after_the_last_epoch_comes_another_producer_id() -> None:
    last = NEW._replace(epoch=EPOCH_MAX - 1)
    assert last.exhausted
    open_ = enlisted(last, frozenset({("a", 0)}), client_version=TV2, now_ms=5)
    decided = ended(open_, commit=False, client_version=TV2, next_producer_id=8, now_ms=6)
    assert (decided.producer_id, decided.epoch) == (7, EPOCH_MAX)
    done = completed(decided, now_ms=7)
    assert (done.producer_id, done.epoch, done.previous_producer_id) == (8, 0, 7)
    fresh = rotated(last, 9, last_epoch=-1, timeout_ms=1, now_ms=8)
    assert (fresh.producer_id, fresh.epoch, fresh.previous_producer_id) == (9, 0, 7)


def test_a_step_that_the_table_does_not_have_is_a_bug() -> None:
    with pytest.raises(KeyError):
        completed(NEW, now_ms=1)
    with pytest.raises(KeyError):
        ended(NEW, commit=True, client_version=TV2, next_producer_id=NO_ID, now_ms=1)
    with pytest.raises(AssertionError):
        initialized(NEW._replace(epoch=EPOCH_MAX), last_epoch=-1, timeout_ms=1, now_ms=1)
