"""Timeouts: open transactions that take too long are aborted, unused ids are forgotten."""

from __future__ import annotations

from itertools import islice
from typing import Final

from groups.timers import TimerKey
from groups.transactions.ending import abort_overdue
from groups.transactions.states import UNDECIDED, TransactionState
from groups.transactions.table import Table
from groups.transactions.transaction import Transaction

EXPIRED_PER_STEP: Final = 200
"""The ids looked at in one step, some 2 ms when all of them are forgotten."""

PAUSE_MS: Final = 10
"""The pause between two steps."""

_CLEANUP: Final = TimerKey("cleanup", "")


def arm(table: Table, transaction: Transaction, not_before_ms: int) -> None:
    """Set the timer of an open transaction; one still set for an earlier transaction sets it again itself.

    The wall clock tells how old a transaction is that was begun before a restart; it may have been set back,
    so a transaction for which the timer was set has run out of time when the timer is due, whatever it says.
    """
    transactional_id = transaction.transactional_id
    age_ms = min(max(table.wall_ms - transaction.start_ms, 0), transaction.timeout_ms)
    due_ms = max(table.now_ms + transaction.timeout_ms - age_ms, not_before_ms)

    def due(now_ms: int) -> None:
        table.now_ms = now_ms
        known = table.ids.get(transactional_id)
        if known is None or known.state != TransactionState.ONGOING or not table.is_loaded(transactional_id):
            return
        is_same = (known.start_ms, known.epoch) == (transaction.start_ms, transaction.epoch)
        if is_same or table.wall_ms - known.start_ms >= known.timeout_ms:
            abort_overdue(table, known)
        else:
            arm(table, known, now_ms)

    key = TimerKey("timeout", transactional_id)
    set_for_ms = table.timers.deadline(key)
    if set_for_ms is None or set_for_ms > due_ms:
        table.timers.set(key, due_ms, due)


def schedule_cleanup(table: Table) -> None:
    """Schedule the next search for unused ids, one interval from now."""
    interval_ms = table.config.transaction_remove_expired_transaction_cleanup_interval_ms
    _clean_at(table, table.now_ms + interval_ms, 0)


def _clean_at(table: Table, due_ms: int, passed: int) -> None:
    table.timers.set(_CLEANUP, due_ms, lambda now_ms: _clean(table, now_ms, passed))


def _clean(table: Table, now_ms: int, passed: int) -> None:
    """Forget expired ids from the front, where those unused for longest are.

    `passed`: the ids at the front that were seen before and are in use.
    """
    table.now_ms = now_ms
    since_ms = table.wall_ms - table.config.transactional_id_expiration_ms
    looked_at = list(islice(table.ids.values(), passed, passed + EXPIRED_PER_STEP))
    old = [known for known in looked_at if known.update_ms <= since_ms]
    expired = [known for known in old if _is_forgettable(table, known)]
    for known in expired:
        table.forget(known.transactional_id)
    if len(old) == EXPIRED_PER_STEP:
        _clean_at(table, now_ms + PAUSE_MS, passed + len(old) - len(expired))
    else:
        schedule_cleanup(table)


def _is_forgettable(table: Table, known: Transaction) -> bool:
    return known.state not in UNDECIDED and table.is_loaded(known.transactional_id)
