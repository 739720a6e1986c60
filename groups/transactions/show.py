"""Transactions as administrators see them: ListTransactions, DescribeTransactions, and the metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import filterfalse
from typing import Final, NamedTuple

from groups.transactions.states import BY_NAME, TransactionState
from groups.transactions.table import Table
from groups.transactions.transaction import Transaction
from protocol.error_codes import ErrorCode

LISTED_PER_STEP: Final = 500
"""The ids looked at between two yields: about 0.3 ms."""


class Filter(NamedTuple):
    """The transactions that a client asks for; an empty set, or None, asks for all."""

    states: frozenset[TransactionState] | None
    producer_ids: frozenset[int]
    longer_than_ms: int
    """Only transactions that began longer ago than this; negative: all."""

    matches: Callable[[str], bool] | None
    """Chooses by name."""


def states_of(names: list[str]) -> tuple[frozenset[TransactionState] | None, list[str]]:
    """Return the states that a filter names, None for all of them, and the names that are none."""
    if not names:
        return None, []
    # Without a line of Python for each: 20,000 may be named.
    once = dict.fromkeys(names)
    states = frozenset(state for name, state in BY_NAME.items() if name in once)
    return states, list(filterfalse(BY_NAME.__contains__, once))


def is_loading(table: Table) -> bool:
    """Whether some ids are not known yet."""
    return len(table.loaded) < table.config.transaction_state_log_num_partitions


def listed(table: Table, wanted: Filter) -> Iterator[Transaction | None]:
    """Yield the transactions that a filter lets through, and None now and then, for others' turns."""
    # The names only: while others have their turn, transactions end.
    for number, transactional_id in enumerate(list(table.ids)):
        known = table.ids.get(transactional_id)
        if known is not None and _passes(known, wanted, table.wall_ms):
            yield known
        if number % LISTED_PER_STEP == LISTED_PER_STEP - 1:
            yield None


def _passes(known: Transaction, wanted: Filter, wall_ms: int) -> bool:
    return (
        (wanted.states is None or known.state in wanted.states)
        and (not wanted.producer_ids or known.producer_id in wanted.producer_ids)
        and (wanted.longer_than_ms < 0 or wall_ms - known.start_ms > wanted.longer_than_ms)
        and (wanted.matches is None or wanted.matches(known.transactional_id))
    )


def described(table: Table, transactional_id: str) -> Transaction | ErrorCode:
    """Return one transaction, or the reason why it is not shown."""
    if not transactional_id:
        return ErrorCode.INVALID_REQUEST
    if (unserved := table.unserved(transactional_id)) is not None:
        return unserved
    return table.ids.get(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)


def counts(table: Table) -> Counter[str]:
    """Return the metrics: what has happened since the start, and what there is; ids by `state:` and name."""
    return Counter(
        begun=table.begun,
        committed=table.committed,
        aborted=table.aborted,
        timed_out=table.timed_out,
        fenced=table.fenced,
        ended_ms=table.ended_ms,
        ids=len(table.ids),
        memory_bytes=table.size_bytes,
        undecided=len(table.orders),
    ) + Counter({f"state:{state.shown}": count for state, count in table.states.items()})
