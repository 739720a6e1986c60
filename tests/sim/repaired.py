"""A damaged store after `kawal wal repair --accept-loss`: the server starts on it, and what it shows is true.

A record shown stands at its offset; partitions on other logs than the damaged one are whole, unless the
catalogue lost their topic: then their streams are kept without it.  Every partition takes records again.
Records lie in segments alone, so damage to any other file loses none.
"""

from __future__ import annotations

from uuid import UUID

from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, fetched, fetching, offsets_of, outcomes, producing, records_of
from tests.sim.damage import SETTINGS, Place, Shown
from wal.errors import MetadataLost, StoreError
from wal.memory_disk import MemoryDisk
from wal.store_repair import repair_store

DELETED = "gone"
"""A topic whose deletion may be given up with a frame of the catalogue."""


def repaired(disk: MemoryDisk, expected: Shown, *, damaged: str) -> str:
    """Repair, start and look; return what came of it.  `damaged` is the path of the file that was changed.

    Raises: AssertionError when anything is shown that is not true, or the server does not start.
    """
    disk.locks.clear()
    try:
        for _ in repair_store(disk, "/data", now_ms=0, accept_loss=True):
            pass
    except StoreError:
        return "not repaired"  # the marker is lost, which only a backup has
    try:
        gateway = Gateway(disk, **SETTINGS)
    except MetadataLost as error:
        if "the catalogue is empty" in str(error) and "/meta/" in damaged and ".wal" in damaged:
            return "without a catalogue"  # none of its files was left; a backup has it
        raise
    gateway.settle()
    orphans = gateway.broker.topics.orphans
    kept = {orphan.stream_id for orphan in orphans if orphan.stream_id in orphan.vnode.log.streams()}
    lost = {name for name, _ in expected if name not in gateway.broker.catalogue.by_name}
    assert not lost or ("/meta/" in damaged and ".wal" in damaged), f"{lost} were lost"
    assert not lost or kept, f"{lost} and their streams were lost"
    if places := [place for place in expected if place[0] not in lost]:
        _look_and_write(gateway, {place: expected[place] for place in places}, damaged)
    return "repaired"


def _look_and_write(gateway: Gateway, expected: Shown, damaged: str) -> None:
    """Compare the records of these partitions with the expected ones, and write one more to each."""
    client, places = gateway.client(), list(expected)
    found = shown_by_offset(client, places)
    for place in places:
        records = expected[place]
        assert isinstance(records, list)
        for offset, value in found[place].items():
            assert records[offset : offset + 1] == [value], f"{place} shows another record at {offset}"
        vnode = gateway.partition(*place).vnode
        if ".wal" not in damaged or (f"/vnode-{vnode.index}/" not in damaged and "/meta/" not in damaged):
            assert len(found[place]) == len(records), f"{place} lost records that are intact"
    answers = outcomes(client.call(producing(*((*place, batch(b"after")) for place in places)), 9))
    assert not any(answer.error_code for answer in answers), f"{places} take no records: {answers}"


def shown_by_offset(client: Client, places: list[Place]) -> dict[Place, dict[int, bytes]]:
    """Return all records of these partitions, which may have gaps, by their offsets."""
    starts, ends = (offsets_of(client, places, timestamp) for timestamp in (-2, -1))
    last = {place: end.offset for place, end in zip(places, ends, strict=True)}
    unread: dict[tuple[str | UUID, int], int] = {
        place: start.offset for place, start in zip(places, starts, strict=True)
    }
    found: dict[Place, dict[int, bytes]] = {place: {} for place in places}
    while unread:
        answers = fetched(client.call(fetching(unread), 12))
        for place in [place for place in places if place in unread]:
            offset, answer = unread.pop(place), answers[place]
            if offset >= last[place]:
                continue
            assert answer.error_code == 0, f"{place} cannot be read at {offset}: {answer.error_code}"
            records = {record.offset: record.value or b"" for record in records_of(answer.records)}
            found[place] |= records
            if records:
                unread[place] = max(records) + 1
    return found
