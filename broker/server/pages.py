"""The pages of every server: /metrics for Prometheus, /healthz and /readyz for operators.

This module is imported at the first request, so that it does not slow the start.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, TypeVar

import trio

from broker.coordinators import coordinators
from broker.coordinators.group_snapshot import GroupSnapshot
from broker.coordinators.transaction_snapshot import TransactionSnapshot
from broker.core import Broker
from broker.server.exposition import render
from broker.server.http import Route
from broker.server.http_conversation import HttpRequest, Page
from broker.snapshot import Snapshot, not_ready, partition_steps
from broker.view_topics import view_loading

if TYPE_CHECKING:
    from broker.fetching.share_snapshot import ShareSnapshot

UNAVAILABLE = 503

Made = TypeVar("Made")


def pages_of(broker: Broker, now_ms: Callable[[], int]) -> dict[str, Route]:
    """Return the pages by path; `now_ms` is the broker's clock."""
    # Scrapes run one after the other: a storm of them should cost only one thread.
    one_at_a_time = trio.CapacityLimiter(1)

    async def metrics(request: HttpRequest) -> Page:
        turns = broker.stats.turns
        if broker.catalogue.has_views and not view_loading.is_loaded():
            # What opens the partitions of views takes up to 0.1 s to import.
            await trio.to_thread.run_sync(view_loading.load)
        if not coordinators.is_imported():
            # The metrics of groups are those of their coordinator: 30 ms and more to import.
            await trio.to_thread.run_sync(coordinators.import_groups)
        partitions = await _run(broker, partition_steps(broker))
        with turns.aside(turns.http):
            snapshot = Snapshot.take(broker, partitions)
        transactions = await _run(broker, _transactions(broker, now_ms()))
        groups = GroupSnapshot(held_partitions=broker.retention.held_partitions)
        await _run(broker, groups.steps(broker.groups, broker, broker.clock, now_ms()))
        shares = await _share_groups(broker, now_ms)
        body, content_type = await trio.to_thread.run_sync(
            render,
            snapshot,
            groups,
            transactions,
            request.headers.get("accept", ""),
            shares,
            limiter=one_at_a_time,
        )
        return Page(body, content_type=content_type)

    async def healthz(_: HttpRequest) -> Page:
        await trio.lowlevel.checkpoint()
        return Page(b"ok\n")

    async def readyz(_: HttpRequest) -> Page:
        await trio.lowlevel.checkpoint()
        reasons = not_ready(broker)
        if reasons:
            return Page("".join(f"{reason}\n" for reason in reasons).encode(), UNAVAILABLE)
        return Page(b"ready\n")

    return {"/metrics": Route(metrics), "/healthz": Route(healthz), "/readyz": Route(readyz)}


async def _run(broker: Broker, steps: Generator[None, None, Made]) -> Made:
    """Run the steps on the event loop, with other work in between; return what they make."""
    turns = broker.stats.turns
    while True:
        with turns.aside(turns.http):
            try:
                next(steps)
            except StopIteration as end:
                made: Made = end.value
                return made
        await trio.lowlevel.checkpoint()


def _transactions(broker: Broker, now_ms: int) -> Generator[None, None, TransactionSnapshot]:
    longest_ms = broker.config.transaction_max_timeout_ms
    return TransactionSnapshot.steps(
        broker.coordinators, broker.vnodes.every, timeout_max_ms=longest_ms, now_ms=now_ms
    )


async def _share_groups(broker: Broker, now_ms: Callable[[], int]) -> ShareSnapshot | None:
    """Return the state of share groups; None, and nothing is imported, if there are none."""
    shares = broker.coordinators.maybe_shares
    if shares is None:
        return None
    from broker.fetching.share_snapshot import ShareSnapshot

    snapshot = ShareSnapshot()
    await _run(broker, snapshot.steps(broker, broker.groups, shares, broker.clock, now_ms()))
    return snapshot
