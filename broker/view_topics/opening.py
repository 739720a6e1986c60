"""Opening the batches that views evaluate: compressed ones that may hold much, in a thread."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING

from broker.loop.slices import Until, in_thread

if TYPE_CHECKING:
    from broker.view_topics.view_host import ViewHost
    from views.opening import Opened


def opened_batch(host: ViewHost, batch: memoryview) -> Generator[Until, None, Opened | None]:
    """Open a batch; return None if it is not compressed."""
    from views.opening import is_packed, opened, opened_if_small

    if not is_packed(batch):
        return None
    limit = host.limits.decompressed_bytes_max
    found = opened_if_small(batch, limit)
    if found is None:
        found = yield from in_thread(host.loop.scheduler.offload, partial(opened, batch, limit))
    return found
