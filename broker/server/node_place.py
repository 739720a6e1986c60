"""The place of a node on a machine of its own: its directory, its way to the other nodes, and theirs to it.

The others come to the listener `inter.broker.listener.name`, as clients do, and show the cluster's secret
(broker/handlers/kawal_greet.py).
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import SystemRandom
from typing import TYPE_CHECKING, Any, Final

from broker.catalogue.address_book import Address, AddressBook, StaticAddresses
from broker.catalogue.members import Members
from broker.catalogue.nodes import Nodes
from broker.config.config import Config
from broker.config.listener_specs import WILDCARDS
from broker.config.node_keys import addresses_of, inter_broker_spec
from broker.config.node_share import of_node
from broker.config.tls_settings import tls_settings
from broker.security.node_greeting import Greeter
from broker.server.catalogue_link import CatalogueLink
from broker.server.listeners import Listener, advertised_by
from broker.server.member_watch import signed_book
from broker.server.node_secret import read_secret
from broker.server.node_wires import NodeWires
from broker.server.peer_links import PeerLinks
from broker.server.run import main, now_ms
from broker.storage.node_directory import check_directory
from broker.upkeep.absences import Absences
from broker.upkeep.members import SignedAddresses
from wal.disk import OsDisk
from wal.store_marker import MARKER, read_marker

if TYPE_CHECKING:
    import ssl

    from broker.config.config_sources import LoadedConfig
    from broker.core import Broker
    from broker.server.operations import Pages
    from broker.server.reload import Load
    from broker.server.workers import DiskWorkers

logger = logging.getLogger("kawal.server")


class NodePlace:
    """The place of the node that a configuration describes."""

    stops_at: Final = (signal.SIGTERM, signal.SIGINT)
    sockets: Final = ()
    pages: Final = None
    life_ms: Final = None
    reads_again: Final = False

    def __init__(self, config: Config, book: AddressBook | None = None) -> None:
        """Read the secret.  `book` says where the other nodes are, by default as the configuration does.

        Raises: StartError.
        """
        assert config.kawal_cluster_node is not None, "a configuration was checked"
        assert config.kawal_cluster_secret_file is not None, "a configuration was checked"
        self.number = config.kawal_cluster_node
        self._addresses = [Address(*each) for each in addresses_of(config.kawal_cluster_nodes)]
        self.count = len(self._addresses)
        self._book = book or StaticAddresses(self._addresses)
        self._secret = read_secret(config.kawal_cluster_secret_file)
        self._is_new = False
        self.begins_anew = False
        """Whether the process is to start once more, with the whole catalogue."""

    def alive(self) -> None:
        """Give no sign of life: nothing expects one."""

    def join(
        self, config: Config, threads: DiskWorkers, listeners: list[Listener]
    ) -> tuple[Nodes, CatalogueLink | None]:
        """Return the nodes as this one sees them, and what has the controller's catalogue; None: this is it.

        It waits until the controller has started.  Raises: StartError, StoreError.
        """
        wires = NodeWires(
            self._book,
            self._secret,
            number=self.number,
            count=self.count,
            cluster_id=self._cluster_id(config.log_dirs),
            now_ms=now_ms,
            tls=_context_maker(config),
        )
        if isinstance(self._book, SignedAddresses):
            self._book.when_moved(wires.links.moved)
        first = config.node_id - self.number
        client_id = f"kawal-node-{config.node_id}"
        links = PeerLinks(client_id, lambda node_id: wires.to(node_id - first), threads.submit_peer)
        nodes = Nodes(
            config.node_id,
            number=self.number,
            count=self.count,
            peers=links,
            link_counts=links.counts.of,
            members=Members(self.number, self.count, self._advertised(listeners)),
            greeter=Greeter(self._secret, number=self.number, count=self.count, random=SystemRandom()),
        )
        if nodes.is_controller:
            return nodes, None
        catalogue = CatalogueLink(nodes, links, self._begin_anew)
        nodes.cluster_id = wires.cluster_id
        return nodes, catalogue

    def _cluster_id(self, directory: str) -> str:
        """Return the cluster of the directory, empty for a new one; look first whether it is this node's."""
        disk, marker = OsDisk(), f"{directory}/{MARKER}"
        if not disk.exists(marker):
            self._is_new = True
            return ""
        identity = read_marker(disk, marker)
        check_directory(directory, identity, number=self.number, count=self.count)
        return identity.cluster_id

    def _advertised(self, listeners: list[Listener]) -> dict[str, tuple[str, int]]:
        """Return where clients reach this node by each listener.

        One that is bound to all addresses is reached where the other nodes reach this one.
        """
        found = {}
        for listener in listeners:
            host, port = advertised_by(listener)
            found[listener.name] = (self._addresses[self.number].host if host in WILDCARDS else host, port)
        return found

    def _begin_anew(self) -> None:
        self.begins_anew = True
        signal.raise_signal(signal.SIGTERM)

    def own_path(self, path: str) -> str:
        """Return the path: a machine has no other node's file."""
        return path

    def warn(self, broker: Broker) -> None:
        """Say so if some nodes have nothing to do, or if this one may have had records."""
        # A new cluster has internal topics from its first moment on.
        topics = broker.catalogue.by_name.values()
        if self._is_new and self.number and not all(topic.internal for topic in topics):
            logger.warning(
                "this directory of node %d is new, and there are topics: their partitions that it leads are"
                " empty; if they had records, end this node and put its old directory back",
                self.number,
            )
        most = max(database.vnode_count for database in broker.catalogue.databases.values())
        if not self.number and most < self.count:
            logger.warning(
                "there are %d nodes, but no database has more than %d write-ahead logs: %d nodes lead no"
                " partition; 'kawal sql' adds logs to a database with SPLIT VGROUP",
                self.count,
                most,
                self.count - most,
            )

    def door(self, _listeners: list[Listener]) -> None:
        """Have no door: the others come to a listener."""

    def joined(self, pages: Pages) -> Pages:
        """Return its own pages: each node shows its own."""
        return pages

    def begin(self, broker: Broker) -> None:
        """Watch who is away, on the controller."""
        if broker.nodes.is_controller:
            Absences(broker, broker.nodes, broker.metadata_log.resume)


def _context_maker(config: Config) -> Callable[[], ssl.SSLContext] | None:
    """Return what makes contexts for connections to the other nodes, with the certificates of then."""
    spec = inter_broker_spec(config)
    if not spec.protocol.encrypted:
        return None
    from broker.server.tls import client_context  # OpenSSL takes 10 ms to import

    settings = tls_settings(config, spec)
    client_context(settings)  # what is wrong with it is said now
    return partial(client_context, settings)


def serve_node(config: Config, **parameters: Any) -> int:
    """Serve as one node of several machines; the parameters are those of `broker.server.run.main`.

    A node that cannot follow the catalogue any more starts once more, as the same process.
    Raises: as `main`.
    """
    place = NodePlace(config, signed_book(config))
    load = parameters.pop("load", None)
    if load is not None:
        parameters["load"] = partial(_load, load)
    status = main(of_node(config), place=place, **parameters)
    if place.begins_anew:
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606  (this program)
    return status


def _load(load: Load) -> LoadedConfig:
    """Read the configuration again.  Raises: ConfigProblem."""
    loaded = load()
    return replace(loaded, config=of_node(loaded.config))
