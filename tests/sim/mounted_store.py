"""A whole store on a real file system, read by a gateway in this process: what it shows, without sockets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, fetched, offset_of, send
from tests.sim.transactions_actors import committed_records, fetching
from wal.disk import DiskError, OsDisk
from wal.errors import StoreError

EARLIEST: Final = -2
LATEST: Final = -1

TRANSACTIONS_END_MS: Final = 70_000
"""Above the timeout of every transaction of the rigs, and above the default of clients."""

READ_BYTES: Final = 1 << 20

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
    # Transactions that were open are aborted, so that what came after them can be read.
    gateway.advance(TRANSACTIONS_END_MS)
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
    """Return the log start and all committed records from there on, or as far as fetches give them."""
    start = int(offset_of(client, topic, EARLIEST, partition).offset)
    end = int(offset_of(client, topic, LATEST, partition).offset)
    records: list[tuple[int, str]] = []
    offset = start
    while offset < end:
        place = topic, partition
        answer = fetched(client.call(fetching(place, offset, READ_BYTES), 12))[place]
        if answer.error_code:
            break
        found = committed_records(answer, offset)
        if found.next_offset == offset:
            break
        records += [(at, value.decode().rstrip(" ")) for at, value in found.records]
        offset = found.next_offset
    return start, records
