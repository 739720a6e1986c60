"""The watch over the nodes of several machines: of the controller over all, of the others over it.

A node that does not ask any more is away, and so is a controller that does not answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from broker.catalogue.nodes import Nodes
from broker.loop.loop import Loop

logger = logging.getLogger("kawal.broker")

LOOK_MS: Final = 1_000
"""The pause between two looks."""


class Absences:
    """Looks again and again, from its making on."""

    def __init__(self, loop: Loop, nodes: Nodes, changed: Callable[[], None]) -> None:
        """Begin; `changed()` is called when a node turned out to be away: the others are to learn it."""
        self._loop, self._nodes, self._changed = loop, nodes, changed
        self._later()

    def _later(self) -> None:
        self._loop.timers.add(self._loop.clock.turn_ms + LOOK_MS, self._look)

    def _look(self, now_ms: int) -> None:
        members = self._nodes.members
        assert members is not None, "workers are watched by their parent"
        missing = members.missing(now_ms)
        for number in missing:
            what = "does not ask for changes any more" if self._nodes.is_controller else "does not answer"
            logger.warning("node %d is away: it %s", self._nodes.ids[number], what)
        if missing:
            self._changed()
        self._later()
