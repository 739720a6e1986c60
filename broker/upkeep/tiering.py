"""The choice of segments that may leave the disk, by the limits of the topics with records in them.

After a round of copying, if some topic has `remote.storage.enable`, the logs are looked through, a few
indexes at a time. What may go is proved by the next round (`Uploader.proved`) and then handed to the logs. A
segment stays while a live record in it is of a topic without the setting, such as the server's own topics.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from broker.catalogue.tier_rules import local_limit
from broker.loop.slices import Steps, or_again
from wal.disk import DiskError
from wal.errors import WalError
from wal.remote_record import RemoteRecord
from wal.tierable import LocalPolicy

if TYPE_CHECKING:
    from broker.catalogue.topic_directory import TopicDirectory
    from broker.catalogue.topics import Catalogue
    from broker.loop.loop import Loop
    from broker.storage.vnode import Vnode

logger = logging.getLogger("kawal.remote")

PAUSE_MS: Final = 5_000
"""The least time between two looks."""


class Tiering:
    """The segments that may leave the disk, as far as they are known."""

    def __init__(
        self,
        catalogue: Catalogue,
        topics: TopicDirectory,
        loop: Loop,
        logs: Callable[[], Mapping[str, Vnode]],
    ) -> None:
        """Look at nothing yet; `logs()` gives the vnodes by the names that their logs have in the store."""
        self._catalogue = catalogue
        self._topics = topics
        self._loop = loop
        self._logs = logs
        self._wanted: dict[str, list[int]] = {}
        self._due_ms = 0
        self._is_looking = False

    def take(self) -> dict[str, list[int]]:
        """Take the segments to be proved, by log."""
        wanted, self._wanted = self._wanted, {}
        return wanted

    def let_go(self, proofs: Mapping[str, Sequence[RemoteRecord]]) -> None:
        """Hand what a round has proved to the logs, whose maintenance removes the files one by one.

        It takes the place of what an earlier round has proved of the same log. While a backlog is copied,
        rounds follow each other at once: those that have proved nothing leave the logs at work.
        """
        logs = self._logs()
        for name, records in proofs.items():
            if name in logs:
                logs[name].log.tier(records)

    def stop(self) -> None:
        """Let nothing more go: the copy in the store is not this server's any more, or damaged."""
        for vnode in self._logs().values():
            vnode.log.tier(())

    def look(self, now_ms: int) -> None:
        """Begin to look for segments that may go, when that is due."""
        if self._is_looking or now_ms < self._due_ms or not self._is_wanted():
            return
        self._is_looking, self._due_ms = True, now_ms + PAUSE_MS
        self._loop.scheduler.add_work(or_again(self._search(), self._ended))

    def _ended(self) -> None:
        self._is_looking = False

    def _is_wanted(self) -> bool:
        topics = self._catalogue.by_name.values()
        return any(topic.configs.get("remote.storage.enable") == "true" for topic in topics)

    def policy_of(self, stream_id: int) -> LocalPolicy | None:
        """Return what a stream's topic keeps on the disk; None for all of it."""
        found = self._catalogue.streams.find(stream_id)
        if found is None or found[0].view is not None:
            return None
        settings = self._topics.settings(found[0])
        if not settings.remote_storage_enable or settings.remote_log_copy_disable or settings.compacts:
            return None
        return LocalPolicy(
            local_limit(settings.local_retention_ms, settings.retention_ms),
            local_limit(settings.local_retention_bytes, settings.retention_bytes),
        )

    def _search(self) -> Steps:
        for name, vnode in self._logs().items():
            try:
                found = yield from vnode.log.tierable(
                    self.policy_of, wall_ms=self._loop.clock.settled_wall_ms
                )
            except (WalError, DiskError) as error:
                logger.error("vnode %s: nothing leaves the disk: %s", vnode.name, error)
                continue
            if found:
                self._wanted[name] = found
            yield
        self._ended()
