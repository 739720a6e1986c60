"""The promises of the cluster that the store alone makes, in the simulation of several nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tests.broker.txn import committed
from tests.sim.journal_simulation import Acked, log_start, records
from tests.sim.nodes_clients import GROUP, Reader, Writer
from tests.sim.nodes_net import COUNT, Net, NodeGateway, whole_catalogue
from tests.sim.nodes_process import NODE_SETTINGS
from wal.memory_disk import MemoryDisk

TOPIC, TX_TOPIC = "t", "x"


class Told(Protocol):
    """The store, and what clients were told."""

    acked: dict[bytes, Acked]
    writer: Writer
    reader: Reader
    now_ms: int

    def restore(self, number: int, disk: MemoryDisk) -> Iterator[object]:
        """Make a node's directory from the store, step by step."""

    def leader(self, name: str, index: int) -> int:
        """Return the number of the node that leads a partition."""


def restored(world: Told) -> Net:
    """Return a cluster that is made from the store alone, and has done what it found to do."""
    net = Net()
    controller: NodeGateway | None = None
    for number in range(COUNT):
        disk = MemoryDisk()
        for _ in world.restore(number, disk):
            pass
        catalogue = None if controller is None else whole_catalogue(controller, controller.settle)
        gateway = NodeGateway(
            net,
            number,
            disk,
            name=f"node-{number}",
            start_ms=world.now_ms + 1_000,
            catalogue=catalogue,
            find=lambda other: f"node-{other}",
            **NODE_SETTINGS,
        )
        gateway.settle()
        controller = controller or gateway
        gateway.begin()
    net.settle()
    return net


def check(world: Told) -> None:
    """Look at what the store has."""
    gateways = restored(world).gateways
    _check_records(world, gateways)
    seen = [
        set(committed(gateways[f"node-{world.leader(TX_TOPIC, index)}"].client(), TX_TOPIC, index))
        for index in range(COUNT)
    ]
    assert seen[0] == seen[1], f"a transaction is at one node only: {seen[0] ^ seen[1]}"
    lost = {b"tx%d" % number for number in world.writer.committed} - seen[0]
    assert not lost, f"transactions that were acknowledged are not there: {lost}"
    _check_offset(world, gateways)


def _check_records(world: Told, gateways: Mapping[str, NodeGateway]) -> None:
    for index in range(COUNT):
        place = TOPIC, index
        gateway = gateways[f"node-{world.leader(*place)}"]
        found = records(gateway, place)
        values = list(found.values())
        assert len(values) == len(set(values)), f"{place}: a record is there twice"
        assert log_start(gateway, place) == 0
        for body, acked in world.acked.items():
            if acked.place == place:
                assert found.get(acked.offset) == body[1 : body.index(b">")], f"{acked} is not there"


def _check_offset(world: Told, gateways: Mapping[str, NodeGateway]) -> None:
    place, told = world.reader.place, world.reader.committed
    end = gateways[f"node-{world.leader(*place)}"].partition(*place).high_watermark
    asked = OffsetFetchRequestTopic(name=place[0], partition_indexes=[place[1]])
    found = 0
    for gateway in gateways.values():
        answer = gateway.client().call(OffsetFetchRequest(group_id=GROUP, topics=[asked]), 6)
        if not answer.error_code:
            found = max(found, answer.topics[0].partitions[0].committed_offset)
    assert found <= end, f"offset {found} was committed, and the records end at {end}"
    assert found >= told, f"offset {told} was acknowledged, not {found}"
