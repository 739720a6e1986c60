"""A whole store on a real file system, read by a gateway in this process: what it shows, without sockets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, fetch, offset_of, records_of, send
from wal.disk import DiskError, OsDisk
from wal.errors import StoreError

EARLIEST: Final = -2
LATEST: Final = -1

Place = tuple[str, int]
"""Topic and partition."""


@dataclass
class Shown:
    """All that a store shows of some topics."""

    problem: str = ""
    """Why it cannot be opened; then nothing else is known."""
    topics: set[str] = field(default_factory=set)
    starts: dict[Place, int] = field(default_factory=dict)
    records: dict[Place, list[tuple[int, str]]] = field(default_factory=dict)
    """Offset and value, without spaces at the end."""
    committed: dict[Place, int] = field(default_factory=dict)
    refusals: dict[Place, str] = field(default_factory=dict)
    """Why partitions take no more records."""


def show(data: Path, topics: Sequence[str], partitions: int, *, group: str, **settings: Any) -> Shown:
    """Open a data directory, read the topics and the group's offsets, and write to each partition."""
    shown = Shown()
    try:
        gateway = Gateway(OsDisk(), log_dirs=str(data), **settings)  # type: ignore[arg-type]  # any disk does
    except (StoreError, DiskError) as error:
        shown.problem = str(error)
        return shown
    try:
        _fill(shown, gateway, topics, partitions, group)
    finally:
        for vnode in gateway.broker.vnodes.every:
            vnode.log.abandon()
        gateway.broker.store.release()
    return shown


def _fill(shown: Shown, gateway: Gateway, topics: Sequence[str], partitions: int, group: str) -> None:
    client = gateway.client()
    shown.topics = set(gateway.broker.catalogue.by_name).intersection(topics)
    places = [(topic, number) for topic in topics if topic in shown.topics for number in range(partitions)]
    for place in places:
        shown.starts[place], shown.records[place] = _read(client, *place)
    asked = [
        OffsetFetchRequestTopic(name=topic, partition_indexes=list(range(partitions))) for topic in topics
    ]
    answer = client.call(OffsetFetchRequest(group_id=group, topics=asked), 7)
    for topic in answer.topics:
        for row in topic.partitions:
            if row.committed_offset >= 0:
                shown.committed[topic.name, row.partition_index] = row.committed_offset
    for place in places:
        answered = send(client, place[0], batch(b"k|after:0", key=b"k"), place[1])
        if answered.error_code:
            damage = gateway.partition(*place).vnode.log.damage
            shown.refusals[place] = f"error {answered.error_code}; {damage}"


def _read(client: Client, topic: str, partition: int) -> tuple[int, list[tuple[int, str]]]:
    """Return the log start and all records from there on, or as far as fetches give them."""
    start = int(offset_of(client, topic, EARLIEST, partition).offset)
    end = int(offset_of(client, topic, LATEST, partition).offset)
    records: list[tuple[int, str]] = []
    offset = start
    while offset < end:
        answer = fetch(client, topic, offset, partition)
        found = [record for record in records_of(answer.records) if record.offset >= offset]
        if answer.error_code or not found:
            break
        records += [(record.offset, (record.value or b"").decode().rstrip(" ")) for record in found]
        offset = found[-1].offset + 1
    return start, records
