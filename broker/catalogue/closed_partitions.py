"""The partitions of a topic that was deleted, or of a view with another definition: closed some at a time."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from broker.loop.slices import Steps, at_once

if TYPE_CHECKING:
    from broker.catalogue.topic import Topic
    from broker.loop.clock import Clock
    from broker.loop.scheduler import Scheduler
    from broker.loop.waiters import Waiters
    from broker.storage.partition import Partition

CLOSED_AT_ONCE: Final = 200
"""The partitions that are closed without a pause, 1 to 2 µs each; a topic may have 200,000."""


def close_partitions(topic: Topic, waiters: Waiters, scheduler: Scheduler, clock: Clock) -> None:
    """Close the partitions that a topic has so far, and resume what waits for their records.

    What uses the topic from now on, as its deletion may be lost, opens them anew.
    """
    partitions, topic.partitions = topic.partitions, {}
    steps = _close(partitions, waiters, clock)
    if len(partitions) <= CLOSED_AT_ONCE:
        at_once(steps)
    else:
        scheduler.add_work(steps)


def _close(partitions: dict[int, Partition], waiters: Waiters, clock: Clock) -> Steps:
    while partitions:
        some = [partitions.pop(index) for index in tuple(islice(partitions, CLOSED_AT_ONCE))]
        waiters.wake([partition.wait_key for partition in some], clock.turn_ms)
        for partition in some:
            partition.close()
        yield
