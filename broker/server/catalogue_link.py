"""The catalogue of a node that is not the controller: fetched at its start, then followed for good.

The controller is asked however long it takes to start.  A node that cannot follow it any more ends, and is
started again, with the whole catalogue.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from typing import Any, Protocol

from broker.catalogue.nodes import Nodes
from broker.core import Broker
from broker.upkeep.following import Following
from broker.upkeep.member_states import note_states
from protocol.messages.kawal_follow import KawalFollowRequest

logger = logging.getLogger("kawal.server")


def stop_process() -> None:
    """Have this process stop cleanly."""
    signal.raise_signal(signal.SIGTERM)


class Asker(Protocol):
    """The link to the controller, before the loop runs."""

    def ask(self, node_id: int, request: object, version: int) -> Any | None:
        """Send a request and wait for the answer."""


class CatalogueLink:
    """The way by which the controller's catalogue comes here."""

    def __init__(self, nodes: Nodes, asker: Asker, end: Callable[[], None] = stop_process) -> None:
        """Fetch the catalogue, and wait for it."""
        self._nodes = nodes
        self._end = end
        answer = asker.ask(nodes.controller_id, KawalFollowRequest(), 0)
        assert answer is not None, "it is asked for ever"
        assert not answer.error_code, answer
        self.records: list[bytes] = answer.records
        """The records that make up the catalogue of the start."""
        self._version, self._newest = answer.next_version, answer.newest
        note_states(nodes, answer.members)

    def begin(self, broker: Broker) -> Following:
        """Follow from now on."""
        self.records = []
        return Following(broker, broker, self._nodes, self._version, self._lost, self._newest)

    def _lost(self, why: str) -> None:
        logger.error("%s: this node ends, and starts with the whole catalogue", why)
        self._end()
