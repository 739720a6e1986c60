"""The coordinators of a node, each made at its first use, so that a node without groups starts sooner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from broker.catalogue.metadata import Metadata
from broker.catalogue.topics import OFFSETS_TOPIC
from broker.loop.loop import Loop

if TYPE_CHECKING:
    from random import Random

    from broker.coordinators.groups import Groups
    from broker.coordinators.runtime import CoordinatorRuntime


class Coordinators(Protocol):
    """Access to the coordinators, for code that needs nothing else of the broker."""

    @property
    def groups(self) -> Groups:
        """The group coordinator, loading if this is its first use."""


class NodeCoordinators:
    """Makes the coordinators, and passes on events that concern all of them."""

    def __init__(self, metadata: Metadata, loop: Loop, random: Random) -> None:
        self._metadata = metadata
        self._loop = loop
        self._random = random
        self._groups: Groups | None = None
        self._runtimes: list[CoordinatorRuntime[Any]] = []
        if OFFSETS_TOPIC in metadata.catalogue.by_name:
            # There are groups: replay them as soon as clients are answered.
            loop.timers.add(loop.clock.turn_ms, lambda _now_ms: self._load())

    def _load(self) -> None:
        """Begin to load the coordinators that have state."""
        assert self.groups is not None

    @property
    def groups(self) -> Groups:
        """The group coordinator."""
        if self._groups is None:
            from broker.coordinators.groups import Groups

            self._groups = Groups(self._metadata, self._loop, self._random, self._loop.clock.turn_ms)
            self._runtimes.append(self._groups)
        return self._groups

    def reconfigure(self) -> None:
        """Apply settings of the server that have changed."""
        for runtime in self._runtimes:
            runtime.reconfigure()

    def tick(self, now_ms: int) -> None:
        """Let every coordinator do the work that is due."""
        for runtime in self._runtimes:
            runtime.tick(now_ms)

    def next_deadline(self) -> int | None:
        """Return the moment at which `tick` should be called."""
        moments = (runtime.next_deadline() for runtime in self._runtimes)
        return min((moment for moment in moments if moment is not None), default=None)

    def begin_stop(self, now_ms: int) -> None:
        """Refuse the requests that wait in a coordinator, once its records are on the disk."""
        for runtime in self._runtimes:
            runtime.begin_stop(now_ms)
