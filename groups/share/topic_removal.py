"""Share-partitions of deleted topics: found by their topic, and forgotten some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final
from uuid import UUID

from groups.share.table import Share, ShareTable
from groups.timers import TimerKey

TOPICS_AT_ONCE: Final = 1_000
"""The topics with share-partitions that are looked at without a pause, in 0.1 ms; there may be 80,000."""

DROPPED_AT_ONCE: Final = 25
"""The share-partitions that are forgotten without a pause: about 1 ms, as each is a batch of its own."""

GATHER_MS: Final = 100
"""The time to gather deletions, where it takes longer to look."""

_GONE: Final = TimerKey("gone", "")


def topics_deleted(table: ShareTable, exist: Callable[[], Mapping[UUID, object]]) -> None:
    """Forget the share-partitions of topics that do not exist; `exist()` returns those that do, by id."""
    if _GONE in table.timers:
        return
    if table.index.topic_count > TOPICS_AT_ONCE:
        table.timers.set(_GONE, table.now_ms + GATHER_MS, partial(_drop_some, table, exist))
    else:
        _drop_some(table, exist, table.now_ms)


def _drop_some(table: ShareTable, exist: Callable[[], Mapping[UUID, object]], now_ms: int) -> None:
    table.now_ms = now_ms
    left = DROPPED_AT_ONCE
    for share in table.index.of_topics_without(exist()):
        if not left:
            table.timers.set(_GONE, now_ms + 1, partial(_drop_some, table, exist))
            return
        if share.home in table.loaded:
            table.drop(share)
            left -= 1


def forget_missing(table: ShareTable, shares: Iterable[Share], known: Mapping[UUID, object]) -> None:
    """Forget those of some share-partitions whose topics do not exist, as far as they are loaded."""
    for share in shares:
        if share.key.topic_id not in known and share.home in table.loaded:
            table.drop(share)
