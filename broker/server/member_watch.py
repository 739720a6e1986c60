"""The thread that reads the signs of life of the other nodes, from before the start to the end.

A node asks the controller for the catalogue before its event loop runs, and the controller may have moved.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Final

from wal.objects import ObjectReads
from wal.remote.members import Members, look

logger = logging.getLogger("kawal.remote")

LOG_EVERY_SECONDS: Final = 60.0
"""A store that is away is told of once in this time."""


class MemberWatch:
    """Looks at an interval; a look reads the nodes that are due, one after the other."""

    def __init__(
        self, members: Members, stores: Mapping[int, ObjectReads], prefix: str, *, interval_ms: int
    ) -> None:
        """Prepare; `stores` are the places of the other nodes, by number; `prefix` is the cluster id."""
        self._members = members
        self._stores = stores
        self._prefix = prefix
        self._interval_seconds = interval_ms / 1_000
        self._told: float | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kawal-members", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; a request that waits for the store is left to itself."""
        self._stopped.set()

    def _run(self) -> None:
        while True:
            self.look()
            if self._stopped.wait(self._interval_seconds):
                return

    def look(self) -> None:
        """Read the signs that are due."""
        due = self._members.due()
        if not due:
            return
        found = look(self._stores, self._prefix, due)
        self._members.saw(found.signs)
        now = time.monotonic()
        if found.problems and (self._told is None or now >= self._told + LOG_EVERY_SECONDS):
            self._told = now
            logger.warning("where other nodes are cannot be looked up now: %s", found.problems[0])
