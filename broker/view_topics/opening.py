"""Opening the batches that views evaluate: those that may hold much in a thread, and few at a time.

A batch of 16 KB may open to 16 MiB, which stays in memory while its records are looked at, slice by slice:
fetches that meet such batches take turns, however many there are.

    packed, but small when opened    at once
    others                           enter the room ── a thread opens it ── steps ── leave: the next may enter
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from broker.loop.slices import WaitingSteps, in_thread
from broker.view_topics.rooms import OpenedRoom

if TYPE_CHECKING:
    from broker.view_topics.view_host import ViewHost
    from views.opening import Opened


def with_opened(
    host: ViewHost, batch: memoryview, steps_of: Callable[[Opened | None], WaitingSteps]
) -> WaitingSteps:
    """Return what the steps for an opened batch return; they are given None if it is not compressed."""
    from views.opening import is_packed, opened, opened_if_small

    limit = host.limits.decompressed_bytes_max
    content = opened_if_small(batch, limit) if is_packed(batch) else None
    if content is not None or not is_packed(batch):
        return (yield from steps_of(content))
    room = host.shared(OpenedRoom)
    yield from room.enter()
    try:
        content = yield from in_thread(host.loop.scheduler.offload, partial(opened, batch, limit))
        return (yield from steps_of(content))
    finally:
        room.leave()


def with_opened_inside(
    host: ViewHost, batch: memoryview, steps_of: Callable[[Opened | None], WaitingSteps]
) -> WaitingSteps:
    """Return the same inside of what may have a place in the room already: it asks for no second one."""
    from views.opening import is_packed, opened, opened_if_small

    limit = host.limits.decompressed_bytes_max
    content = opened_if_small(batch, limit) if is_packed(batch) else None
    if content is None and is_packed(batch):
        content = yield from in_thread(host.loop.scheduler.offload, partial(opened, batch, limit))
    return (yield from steps_of(content))
