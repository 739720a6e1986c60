"""Retires segments soon after a deletion, so that disk space is freed within seconds.

Retention retires segments at each of its checks, minutes apart.  After DeleteTopics and DeleteRecords it is
also done here: a second later, and again as long as segments wait for a checkpoint, because recovery may
still begin in them.  However much is deleted, a vnode is checked at most once a second.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from wal.disk import DiskError
from wal.errors import RemoteWaits, WalError

if TYPE_CHECKING:
    from broker.catalogue.topic_directory import TopicDirectory
    from broker.catalogue.topics import Topic
    from broker.loop.timers import Timers
    from broker.storage.vnode import Vnode
    from broker.storage.vnodes import Vnodes

logger = logging.getLogger("kawal.retention")

PAUSE_MS: Final = 1_000

ROUNDS: Final = 6
"""Two checkpoints must pass, each a round; segments left after that wait for the next retention check."""


class Retirement:
    """The vnodes on which something was deleted, each with its remaining rounds."""

    def __init__(self, timers: Timers, topics: TopicDirectory, vnodes: Vnodes) -> None:
        self._timers = timers
        self._topics = topics
        self._vnodes = vnodes
        self._rounds: dict[Vnode, int] = {}

    def topic_deleted(self, topic: Topic, now_ms: int) -> None:
        """Free the disk space of a topic that is about to lose its streams."""
        if topic.view is None:
            self.soon(self._vnodes[topic.database], now_ms)

    def soon(self, vnodes: Iterable[Vnode], now_ms: int) -> None:
        """Retire segments of vnodes on which a deletion is done, or will be once it is durable."""
        if not self._rounds:
            self._timers.add(now_ms + PAUSE_MS, self._run)
        self._rounds.update(dict.fromkeys(vnodes, ROUNDS))

    def _run(self, now_ms: int) -> None:
        # Whatever raises below, the next deletion finds nothing waiting and sets the timer again.
        due, self._rounds = self._rounds, {}
        self._topics.dropped.drop_soon()
        serving = set(self._vnodes.every)
        waiting = {}
        for vnode, rounds in due.items():
            if vnode in serving and _retire(vnode) and rounds > 1:
                waiting[vnode] = rounds - 1
        self._rounds = waiting
        if waiting:
            self._timers.add(now_ms + PAUSE_MS, self._run)


def _retire(vnode: Vnode) -> bool:
    """Retire the segments that can be; return whether to look again."""
    try:
        found = vnode.log.retire_segments() > 0
        return found or vnode.log.retirement_goes_on or vnode.log.retirement_waits
    except RemoteWaits:
        return True  # an index that was lost is on its way from the object store
    except (WalError, DiskError) as error:
        logger.error("vnode %s: segments cannot be retired: %s", vnode.name, error)
        return False
