"""The place of a worker among the processes of its data directory: what it has from the supervisor.

<data>/worker-<i>.sock          requests of the other workers, in Kafka's protocol
<data>/worker-<i>.http.sock     its metrics and health, which worker 0 shows with its own
"""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from broker.catalogue.nodes import Nodes
from broker.config.config import Config
from broker.server.audit_file import path_of_worker
from broker.server.catalogue_link import CatalogueLink
from broker.server.listeners import Listener, advertised_by
from broker.server.peer_door import PeerDoor
from broker.server.peer_links import PeerLinks, UnixWire
from wal.store import SOCKET

if TYPE_CHECKING:
    from broker.core import Broker
    from broker.server.http import Route
    from broker.server.operations import Pages
    from broker.server.workers import DiskWorkers

logger = logging.getLogger("kawal.server")


class Place(NamedTuple):
    """Worker `number` of so many `workers`."""

    number: int
    workers: int
    sockets: list[socket.socket]
    """Bound and listening, one for each listener."""
    requests: socket.socket
    """The listening Unix socket for the other workers' requests."""
    pages: socket.socket | None
    """The one for its pages; None: it is worker 0, which shows them all."""
    directory: int
    """The data directory's descriptor, by which the sockets of the others are reached."""
    life_ms: int | None
    """The interval of the signs of life that the supervisor expects."""
    alive: Callable[[], None]
    """Gives one."""
    reads_again: bool
    """Whether the configuration file was to be read again since the server's start."""

    @property
    def stops_at(self) -> tuple[signal.Signals, ...]:
        """The signal of the supervisor, which alone tells it what to do."""
        return (signal.SIGTERM,)

    def begin(self, _broker: Broker) -> None:
        """Do nothing: the supervisor watches the others."""

    def join(
        self, config: Config, threads: DiskWorkers, _listeners: list[Listener]
    ) -> tuple[Nodes, CatalogueLink | None]:
        """Return the nodes as this one sees them, and what has the controller's catalogue; None: this is it.

        It waits until the controller has started.
        """
        addresses = {
            config.node_id - self.number + number: address_of(self.directory, requests_name(number))
            for number in range(self.workers)
        }
        links = PeerLinks(
            f"kawal-worker-{config.node_id}",
            lambda node_id: UnixWire(addresses[node_id]),
            threads.submit_peer,
        )
        nodes = Nodes(config.node_id, number=self.number, count=self.workers, peers=links)
        return nodes, None if nodes.is_controller else CatalogueLink(nodes, links)

    def own_path(self, path: str) -> str:
        """Return the path of this worker's own file, where the settings name one for all."""
        return path_of_worker(path, self.number)

    def warn(self, broker: Broker) -> None:
        """Say so if some workers have nothing to do."""
        most = max(database.vnode_count for database in broker.catalogue.databases.values())
        if not self.number and most < self.workers:
            logger.warning(
                "kawal.workers=%d, but no database has more than %d write-ahead logs: %d workers lead no"
                " partition; 'kawal sql' adds logs to a database with SPLIT VGROUP",
                self.workers,
                most,
                self.workers - most,
            )

    def door(self, listeners: list[Listener]) -> PeerDoor:
        """Return the door for the other workers."""
        return PeerDoor(self.requests, advertised_by(listeners[0]))

    def joined(self, pages: Pages) -> Pages:
        """Return the pages of worker 0 with those of the others; as with one worker, loaded when used."""

        def make(broker: Broker, now_ms: Callable[[], int]) -> Mapping[str, Route]:
            from broker.server.joined_pages import joined_pages

            numbers = range(1, self.workers)
            addresses = {number: address_of(self.directory, pages_name(number)) for number in numbers}
            return joined_pages(pages, addresses)(broker, now_ms)

        return make


def requests_name(number: int) -> str:
    """Return the name of a worker's socket for requests."""
    return f"worker-{number}{SOCKET}"


def pages_name(number: int) -> str:
    """Return the name of a worker's socket for pages."""
    return f"worker-{number}.http{SOCKET}"


def address_of(directory: int, name: str) -> str:
    """Return the address of a socket in a directory: a path of its own would be limited to 107 bytes."""
    return f"/proc/self/fd/{directory}/{name}"
