"""What is served over HTTP: /metrics for Prometheus, /healthz and /readyz for whoever runs the server.

Everything here is imported at the first request, so that a start does not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from broker.coordinators.group_snapshot import GroupSnapshot
from broker.core import Broker
from broker.server.exposition import render
from broker.server.http import Headers, Page, PageMaker
from broker.snapshot import Snapshot, not_ready

UNAVAILABLE = 503


def pages_of(broker: Broker, now_ms: Callable[[], int]) -> dict[str, PageMaker]:
    """The pages by path; `now_ms` is the clock that the broker is driven by."""
    # Scrapes one after the other: a storm of them should cost one thread.
    one_at_a_time = trio.CapacityLimiter(1)

    async def metrics(headers: Headers) -> Page:
        snapshot, groups = Snapshot.take(broker), GroupSnapshot()
        for _ in groups.steps(broker, now_ms()):
            await trio.lowlevel.checkpoint()
        body, content_type = await trio.to_thread.run_sync(
            render, snapshot, groups, headers.get("accept", ""), limiter=one_at_a_time
        )
        return Page(body, content_type=content_type)

    async def healthz(_: Headers) -> Page:
        await trio.lowlevel.checkpoint()
        return Page(b"ok\n")

    async def readyz(_: Headers) -> Page:
        await trio.lowlevel.checkpoint()
        reasons = not_ready(broker)
        if reasons:
            return Page("".join(f"{reason}\n" for reason in reasons).encode(), UNAVAILABLE)
        return Page(b"ready\n")

    return {"/metrics": metrics, "/healthz": healthz, "/readyz": readyz}
