"""The place of a process among others: that of a worker, or that of a node on a machine of its own."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import trio

from broker.catalogue.nodes import Nodes
from broker.config.config import Config
from broker.core import Broker
from broker.server.listeners import Listener
from broker.server.notify import repeat
from broker.server.reload import Reloader

if TYPE_CHECKING:
    from broker.server.catalogue_link import CatalogueLink
    from broker.server.operations import Pages
    from broker.server.peer_door import PeerDoor
    from broker.server.workers import DiskWorkers


class Seat(Protocol):
    """The place of a server, as far as the server needs to know it."""

    @property
    def sockets(self) -> Sequence[socket.socket]:
        """Bound and listening, one for each listener; none: the server binds them."""

    @property
    def pages(self) -> socket.socket | None:
        """The socket of its pages, which another process shows; None: it shows them itself."""

    @property
    def stops_at(self) -> tuple[signal.Signals, ...]:
        """The signals that stop it."""

    @property
    def life_ms(self) -> int | None:
        """The interval of the signs of life that are expected; None: none are."""

    @property
    def alive(self) -> Callable[[], None]:
        """Gives one."""

    @property
    def reads_again(self) -> bool:
        """Whether the configuration file was to be read again since the start of all."""

    def join(
        self, config: Config, threads: DiskWorkers, listeners: list[Listener]
    ) -> tuple[Nodes, CatalogueLink | None]:
        """Return the nodes as this one sees them, and what has the controller's catalogue; None: this is it.

        It waits until the controller has started.  Raises: StartError.
        """

    def own_path(self, path: str) -> str:
        """Return the path of this process's own file, where the settings name one."""

    def warn(self, broker: Broker) -> None:
        """Say so if some nodes have nothing to do."""

    def door(self, listeners: list[Listener]) -> PeerDoor | None:
        """Return the door for other nodes; None: they come to a listener."""

    def joined(self, pages: Pages) -> Pages:
        """Return the pages that it shows."""

    def begin(self, broker: Broker) -> None:
        """Begin what it does beside serving."""


class Among(NamedTuple):
    """A process at its place."""

    place: Seat
    nodes: Nodes
    catalogue: CatalogueLink | None
    """The catalogue that it follows; None: it is the controller."""

    def begin(
        self, broker: Broker, nursery: trio.Nursery, reloader: Reloader, now_ms: Callable[[], int]
    ) -> None:
        """Follow the catalogue, give signs of life, and read the file if it has changed since."""
        if self.place.reads_again:
            nursery.start_soon(reloader.reload)
        if self.catalogue is not None:
            self.catalogue.begin(broker)
        if self.place.life_ms is not None:
            repeat(self.place.alive, broker.timers, now_ms(), self.place.life_ms)
        self.place.begin(broker)
