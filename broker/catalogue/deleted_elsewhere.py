"""Deletions that other nodes have to carry out: known until each of them has done so.

A node that was away finds in the controller's catalogue which of its streams belong to deleted topics, and
which of its directories to dropped databases.  Without that it would keep them, as it drops nothing of which
no record says that it was deleted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

from broker.catalogue.nodes import Nodes


class DeletedElsewhere:
    """Streams and directories, by the version of the catalogue's log at which they were gone here."""

    def __init__(self, nodes: Nodes, known: set[int]) -> None:
        """`known` are all streams of deleted topics that may still be in some log; it shrinks here."""
        self._nodes = nodes
        self._known = known
        self._waiting: deque[tuple[int, Callable[[], object]]] = deque()
        # The version up to which each node has dropped everything.
        self._done: dict[int, int] = {}

    def add(self, version: int, streams: Iterable[int]) -> None:
        """Take streams that this node does not have, whose deletion is before `version`.

        The controller remembers them for the others, if there are any.
        """
        found = list(streams)
        if self._nodes.count == 1 or not self._nodes.is_controller:
            self._known.difference_update(found)
        elif found:
            self._waiting.append((version, partial(self._known.difference_update, found)))

    def when_directories_are_gone(self, version: int, call: Callable[[], object]) -> None:
        """Call when each node has removed the directories of all databases dropped before a version: now, if
        no other one has a directory.

        It is called at the controller.
        """
        if self._nodes.count == 1 or not self._nodes.has_own_directory:
            call()
        else:
            self._waiting.append((version, call))

    def done(self, node_id: int, version: int) -> None:
        """Learn that a node has nothing left of what was deleted before a version; forget what none has."""
        self._done[node_id] = version
        if len(self._done) < self._nodes.count - 1:
            return
        least = min(self._done.values())
        while self._waiting and self._waiting[0][0] <= least:
            self._waiting.popleft()[1]()
