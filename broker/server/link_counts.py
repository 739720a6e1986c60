"""The counts of links to other nodes, for the metrics."""

from __future__ import annotations

from collections import Counter
from threading import Lock


class LinkCounts:
    """The connections made to each other node, and the requests that got no answer; any thread may call."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._made: Counter[int] = Counter()
        self._failed: Counter[int] = Counter()

    def connected(self, node_id: int) -> None:
        """Count a connection, with its greeting if there is one."""
        with self._lock:
            self._made[node_id] += 1

    def failed(self, node_id: int) -> None:
        """Count a request that got no answer."""
        with self._lock:
            self._failed[node_id] += 1

    def of(self, node_id: int) -> tuple[int, int]:
        """Return the connections to a node, and the requests to it that got no answer."""
        with self._lock:
            return self._made[node_id], self._failed[node_id]
