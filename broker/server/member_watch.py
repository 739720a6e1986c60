"""The thread that reads the signs of life of the other nodes, from before the start to the end.

A node asks the controller for the catalogue before its event loop runs, and the controller may have moved.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from broker.catalogue.address_book import Address, AddressBook, StaticAddresses
from broker.config.config import Config
from broker.config.config_keys import ConfigProblem
from broker.config.node_keys import addresses_of
from broker.server.listeners import StartError
from broker.server.object_store import open_store
from broker.server.store_place import place_of
from broker.upkeep.members import SignedAddresses
from wal.disk import Disk, OsDisk
from wal.disk_errors import DiskError
from wal.errors import StoreError
from wal.objects import ObjectReads
from wal.remote.members import Members, look
from wal.remote.places import node_folder
from wal.store_marker import MARKER, read_marker

logger = logging.getLogger("kawal.remote")

LOG_EVERY_SECONDS: Final = 60.0
"""A store that is away is told of once in this time."""


def signed_book(config: Config) -> AddressBook | None:
    """Return the addresses of the other nodes by their signs of life, which are read from now on.

    None: this node has no store, or nodes give no signs.  Raises: StartError.
    """
    if config.kawal_remote_store is None or not config.kawal_remote_heartbeat_ms:
        return None
    configured = [Address(*each) for each in addresses_of(config.kawal_cluster_nodes)]
    others = [number for number in range(len(configured)) if number != config.kawal_cluster_node]
    try:
        stores = {number: open_store(place_of(config), node_folder(number)) for number in others}
    except ConfigProblem as problem:
        raise StartError(str(problem)) from problem
    members = Members(others)
    cluster = ClusterOf(OsDisk(), config.log_dirs)
    MemberWatch(members, stores, cluster, interval_ms=config.kawal_remote_heartbeat_ms).start()
    return SignedAddresses(members, StaticAddresses(configured))


class ClusterOf:
    """The cluster of a data directory; a new one has none until another node was found."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self._known = ""

    def __call__(self) -> str:
        """Return its id, "" if there is none yet.  Raises: StoreError; DiskError."""
        marker = f"{self._path}/{MARKER}"
        if not self._known and self._disk.exists(marker):
            self._known = read_marker(self._disk, marker).cluster_id
        return self._known


class MemberWatch:
    """Looks at an interval; a look reads the nodes that are due, one after the other."""

    def __init__(
        self,
        members: Members,
        stores: Mapping[int, ObjectReads],
        cluster: Callable[[], str],
        *,
        interval_ms: int,
    ) -> None:
        """Prepare; `stores` are the places of the other nodes, by number.

        `cluster` returns the cluster id, "" as long as it is not known: then nothing is read.
        """
        self._members = members
        self._stores = stores
        self._cluster = cluster
        self._interval_seconds = interval_ms / 1_000
        self._told: float | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kawal-members", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; a request that waits for the store is left to itself."""
        self._stopped.set()

    def _run(self) -> None:
        while True:
            self.look()
            if self._stopped.wait(self._interval_seconds):
                return

    def look(self) -> None:
        """Read the signs that are due."""
        try:
            cluster = self._cluster()
        except (StoreError, DiskError):
            return  # the start says so
        due = self._members.due() if cluster else []
        if not due:
            return
        found = look(self._stores, cluster, due)
        self._members.saw(found.signs)
        now = time.monotonic()
        if found.problems and (self._told is None or now >= self._told + LOG_EVERY_SECONDS):
            self._told = now
            logger.warning("where other nodes are cannot be looked up now: %s", found.problems[0])
