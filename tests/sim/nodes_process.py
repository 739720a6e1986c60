"""One process of one of several nodes in the simulation: its disk, its threads, and its signs of life."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from broker.catalogue.address_book import StaticAddresses
from broker.upkeep.members import SignedAddresses
from protocol.messages.kawal_follow import KawalFollowResponse
from tests.broker.upkeep.copies import copy_of
from tests.sim.journal_process import SETTINGS, Process
from tests.sim.nodes_net import Net, NodeGateway
from tests.wal.remote.folders import Folder
from wal.memory_disk import MemoryDisk
from wal.objects import Fenced, ObjectStoreError
from wal.remote.heartbeat import Heart, Places
from wal.remote.members import Members, look

NODE_SETTINGS: Mapping[str, Any] = {
    **SETTINGS,
    "kawal_vnodes": 4,
    "offsets_topic_num_partitions": 2,
    "transaction_state_log_num_partitions": 2,
}


class NodeProcess(Process):
    """A process that is starting until `begin` has succeeded."""

    waits = True
    """False: a weakening, by which it serves before the store has what its disk has."""

    signs = 0

    def __init__(
        self,
        net: Net,
        number: int,
        disk: MemoryDisk,
        *,
        name: str,
        now_ms: int,
        catalogue: tuple[str, KawalFollowResponse] | None,
        folders: Mapping[int, Folder],
        configured: StaticAddresses,
    ) -> None:
        """Open the disk; `folders` are the places of all nodes, `catalogue` is as for NodeGateway."""
        self.name, self.number = name, number
        self.threads, self.ended, self.clients = [], [], {}
        self._stores = {other: folder for other, folder in folders.items() if other != number}
        self._members = Members(self._stores)
        self._book = SignedAddresses(self._members, configured)
        self.gateway: NodeGateway = NodeGateway(
            net,
            number,
            disk,
            name=name,
            start_ms=now_ms,
            catalogue=catalogue,
            find=lambda other: self._book.address_of(other).host,
            **NODE_SETTINGS,
        )
        self.copy = copy_of(self.gateway, folders[number], incarnation=name, submit=self._submit)
        self.admin = self.gateway.client()
        self._heart = Heart(
            folders[number],
            prefix=self.gateway.broker.cluster_id,
            incarnation=name,
            interval_ms=1_000,
            places=Places(name, number, f"{name}:1"),
        )

    def begin(self) -> bool:
        """Try to serve; return whether that has begun."""
        self._turn()
        if self.waits and not self.copy.try_now():
            return False
        self.gateway.begin()
        return True

    def run_disk(self, random: Random) -> None:
        """Do the disk work that there is, and what the loop has in hand."""
        super().run_disk(random)
        self.gateway.broker.scheduler.run()

    def beat(self, random: Random) -> None:
        """Give a sign of life; some say farewell although it goes on, as nothing may follow from that.

        No start in the simulation looks whether another process is alive, as if each had found a farewell.
        """
        del random
        if self.copy.epoch is not None:
            self._turn()
            self.signs += 1
            give = self._heart.beat if self.signs % 5 else self._heart.farewell
            try:
                give(self.copy.epoch)
            except Fenced as error:
                self.copy.journal.stop(error)
            except ObjectStoreError:
                pass

    def look(self, random: Random) -> None:
        """Look where the other nodes are."""
        del random
        self._members.saw(look(self._stores, self.gateway.broker.cluster_id, self._members.due()).signs)
