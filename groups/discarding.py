"""A coordinator's state that is of no use any more, as the topic that kept it was deleted: freed in steps.

There may be 100,000 groups and half a million offsets, and thousands of requests that wait.  All of them are
answered, and what refers to each other is taken apart, so that no turn has to free it in one go.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final

from groups.classic_group import ClassicGroup
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from groups.context import Context
    from groups.effects import Journal
    from groups.share.membership import ShareMembership
    from groups.share.table import ShareTable
    from groups.transactions.table import Table

Steps = Generator[None, None, None]

ANSWERED_PER_STEP: Final = 20
"""The batches, or groups, whose requests are answered between two looks at the time."""

FREED_PER_STEP: Final = 500
"""The items of a table that are freed between two looks at the time."""


def discard_groups(context: Context) -> Steps:
    """Forget all groups and offsets; requests that wait are told to look for the coordinator."""
    context.loaded.clear()
    yield from abandoned(context.journal, ErrorCode.NOT_LEADER_OR_FOLLOWER, context.now_ms)
    answered = 0
    while context.groups:
        group_id, group = context.groups.popitem()
        context.memory.forget(group_id)
        if isinstance(group, ClassicGroup):
            group.dissolve(ErrorCode.NOT_COORDINATOR, context.wall_ms)
        else:
            waiting, group.assigning = group.assigning or [], None
            for go_on in waiting:
                go_on()
        answered += 1
        if answered >= ANSWERED_PER_STEP:
            answered = 0
            yield
    for deletion in tuple(context.wide_deletions):
        deletion.end(ErrorCode.NOT_COORDINATOR)
    yield from emptied(*context.timers.tables(), *context.offsets.tables(), *context.staged.tables())


def discard_share_groups(membership: ShareMembership) -> Steps:
    """Forget all share groups, and refuse the heartbeats that wait."""
    groups = membership.table.groups
    while groups:
        membership.go_on(groups.popitem()[1])
        yield


def discard_transactions(table: Table) -> Steps:
    """Forget all transactional ids; requests that wait are told to look for the coordinator."""
    table.loaded.clear()
    yield from abandoned(table.journal, ErrorCode.NOT_COORDINATOR, table.now_ms)
    for number, transactional_id in enumerate(table.waiting_ids()):
        table.refuse_waiting(transactional_id, ErrorCode.NOT_COORDINATOR)
        if not number % ANSWERED_PER_STEP:
            yield
    yield from emptied(*table.timers.tables(), table.ids, table.orders)


def discard_shares(table: ShareTable) -> Steps:
    """Forget all share-partitions; acknowledgements on their way are refused."""
    table.loaded.clear()
    yield from abandoned(table.journal, ErrorCode.NOT_COORDINATOR, table.now_ms)
    for number, key in enumerate(list(table.shares)):
        table.note_freed(key)
        if not number % FREED_PER_STEP:
            yield
    yield from emptied(*table.timers.tables(), table.shares, *table.index.tables())


def abandoned(journal: Journal, error: ErrorCode, now_ms: int) -> Steps:
    """Answer all that waits for records of any partition."""
    for number, effects in enumerate(journal.take_all()):
        effects.settle(error, now_ms)
        if not number % ANSWERED_PER_STEP:
            yield


def emptied(*tables: dict[Any, Any] | list[Any]) -> Steps:
    """Empty tables that are not used any more, and those within them."""
    for table in tables:
        freed = 0
        while table:
            item = table.popitem()[1] if isinstance(table, dict) else table.pop()
            if isinstance(item, dict) and item:
                yield from emptied(item)
            freed += 1
            if not freed % FREED_PER_STEP:
                yield
