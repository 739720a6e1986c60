"""The common part of the actors of the simulation: a client that does one thing after another."""

from __future__ import annotations

from random import Random

from protocol.error_codes import ErrorCode
from tests.sim.clients import Link
from tests.sim.history import History
from tests.sim.world import World

GONE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
"""The answers about a topic that was deleted."""


class Actor:
    """A client with a name and one connection, which it opens again when it has ended."""

    def __init__(self, world: World, history: History, chance: Random, name: str) -> None:
        self.world = world
        self.history = history
        self.chance = chance
        self.name = name
        self.link: Link | None = None

    @property
    def open_link(self) -> Link:
        """An open connection."""
        if self.link is None or not self.link.is_open:
            self.link = Link(self.world)
            self._connected(self.link)
        return self.link

    def _connected(self, link: Link) -> None:
        """Do what is to be done first on a new connection."""
