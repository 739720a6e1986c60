"""The other nodes, asked again and again for their part of what one node tells of all.

    ask --> request --> answer --> wait until this node knows the catalogue as that one did --> take
                ^                                                                                 |
                `---------------------------- there is more --------------------------------------'

Each is asked one thing at a time, so an answer is never older than what was taken before.  One that does not
answer keeps no other waiting, and is asked again when it is its turn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from broker.catalogue.followed_log import FollowedLog

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.loop.loop import Loop

VERSION: Final = 0


class AskedNodes:
    """The other nodes of a cluster; none for a node that is alone."""

    def __init__(
        self,
        metadata: Metadata,
        loop: Loop,
        request_for: Callable[[int], Any],
        take: Callable[[int, Any], None],
    ) -> None:
        """`request_for(node_id)` makes the next request, and `take(node_id, answer)` takes the answer."""
        self._nodes, self._log, self._loop = metadata.nodes, metadata.metadata_log, loop
        self._request_for = request_for
        self._take = take
        self._asked: set[int] = set()

    def ask(self) -> None:
        """Ask all that are there, and that have answered the last time or will not."""
        for node_id in self._nodes.ids:
            if node_id != self._nodes.own_id and node_id not in self._asked and self._nodes.is_there(node_id):
                self._ask(node_id)

    def _ask(self, node_id: int) -> None:
        self._asked.add(node_id)
        request = self._request_for(node_id)
        self._nodes.peers.call(node_id, request, VERSION, partial(self._answered, node_id))

    def _answered(self, node_id: int, answer: Any | None) -> None:
        if answer is None or answer.error_code or self._loop.stopping:
            self._asked.discard(node_id)
        elif isinstance(self._log, FollowedLog):
            # What the answer names and the catalogue does not is gone then, and not yet to come.
            self._log.when_reached(answer.catalogue_version, partial(self._known, node_id, answer))
        else:
            self._known(node_id, answer)

    def _known(self, node_id: int, answer: Any) -> None:
        self._asked.discard(node_id)
        self._take(node_id, answer)
        if answer.has_more:
            self._ask(node_id)


def catalogue_version(metadata: Metadata, next_version: int) -> int:
    """Return the version up to which this node knows the catalogue; `next_version` is that of its own log."""
    log = metadata.metadata_log
    return log.version if isinstance(log, FollowedLog) else next_version
