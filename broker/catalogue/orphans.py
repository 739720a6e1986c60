"""Orphans: streams in the logs without a topic, although no record says that one was deleted.

They are left when the catalogue lost records: to damage that a repair gave up, or because it was restored
from an older backup.  What they hold may have been acknowledged, so they are kept, with the segments that
they lie in, until an operator adopts them as a topic (`kawal wal adopt`), which can then be read or deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from broker.catalogue.catalogue_records import TopicCreated
from broker.catalogue.databases import find_database
from broker.catalogue.topic_admin import check_name
from broker.catalogue.topics import Catalogue
from broker.errors import RequestError
from broker.storage.vnode import Vnode
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from random import Random

    from broker.storage.vnodes import Vnodes

logger = logging.getLogger("kawal.start")


PRODUCER_IDS_PER_EPOCH: Final = 1 << 16
"""The producer ids between two histories, of which an epoch is the time in seconds (wal/stream.py): as many
may be given out in each second, on average."""

PRODUCER_IDS_LOST_MAX: Final = 1 << 32
"""A larger id was invented by a client: following it would use up all ids."""


class Orphan(NamedTuple):
    """A stream without a topic."""

    vnode: Vnode
    stream_id: int

    @property
    def offsets(self) -> tuple[int, int]:
        """The first offset and the one after the last."""
        log = self.vnode.log
        return log.log_start(self.stream_id), log.counted_end(self.stream_id)

    @property
    def size_bytes(self) -> int:
        """The size of its batches."""
        return self.vnode.log.stream_size_bytes(self.stream_id)


def unowned(catalogue: Catalogue, vnodes: Mapping[str, list[Vnode]]) -> list[Orphan]:
    """Return the streams that no topic owns, those of deleted topics among them, by vnode and id."""
    owned = {stream_id for topic in catalogue.by_id.values() for stream_id in topic.stream_ids()}
    return [
        Orphan(vnode, stream_id)
        for group in vnodes.values()
        for vnode in group
        for stream_id in sorted(vnode.log.streams())
        if stream_id not in owned
    ]


def raise_ids(catalogue: Catalogue, vnodes: Vnodes) -> None:
    """Let no stream id and no producer id be given out that the logs know already, or that may be lost.

    A catalogue that lost its newest records would: a new topic would show the records of a lost one, and two
    producers would pass for one, so that what one of them sends is taken for a repetition. Those of another
    history, after which a log was repaired or restored, are not known: new ones are above them.
    """
    history = max(vnode.log.history for vnode in vnodes.every)
    catalogue.reserve_producer_ids(history * PRODUCER_IDS_PER_EPOCH)
    below = catalogue.next_producer_id + PRODUCER_IDS_LOST_MAX
    for group in vnodes.values():
        for vnode in group:
            catalogue.next_stream = max(catalogue.next_stream, 1 + max(vnode.log.streams(), default=0))
            catalogue.reserve_producer_ids(1 + vnode.log.largest_producer_id(below))


def report(orphans: Iterable[Orphan]) -> None:
    """Tell of the orphans on each vnode, in one line of the log."""
    by_vnode: dict[str, list[Orphan]] = {}
    for orphan in orphans:
        by_vnode.setdefault(orphan.vnode.name, []).append(orphan)
    for name, found in by_vnode.items():
        logger.error(
            "vnode %s: %d streams with %d bytes belong to no topic and are kept: %s; 'kawal wal orphans'"
            " shows them, 'kawal wal adopt' makes them a topic",
            name,
            len(found),
            sum(orphan.size_bytes for orphan in found),
            runs_text([orphan.stream_id for orphan in found]),
        )


def runs_text(numbers: list[int], *, shown_max: int = 10) -> str:
    """Return sorted numbers as text: `3, 5-8`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] + 1 == number:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    return ", ".join(texts[:shown_max]) + (", ..." if len(texts) > shown_max else "")


def adoption(
    name: str,
    *,
    database: str,
    first: int,
    last: int,
    orphans: list[Orphan],
    catalogue: Catalogue,
    random: Random,
    wall_ms: int,
) -> TopicCreated:
    """Return the record of a topic whose partition i is the stream `first + i`, up to `last`.

    Streams among them that no log knows are partitions without records.  The vnodes of the others give the
    place of the first.
    Raises: RequestError, when the name is taken, a stream has an owner, or the streams cannot be one topic.
    """
    check_name(name)
    if name in catalogue.by_name:
        raise RequestError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name!r} already exists")
    known = find_database(database, catalogue.databases)
    wanted = [
        orphan
        for orphan in orphans
        if orphan.vnode.database == database and first <= orphan.stream_id <= last
    ]
    owned = {stream_id for topic in catalogue.by_id.values() for stream_id in topic.stream_ids()}
    taken = sorted(owned.intersection(range(first, last + 1)))
    if taken:
        raise RequestError(
            ErrorCode.INVALID_REQUEST, f"streams {runs_text(taken)} belong to topics that exist"
        )
    # They may be older than the newest vnodes.
    counts = range(known.vnode_count, known.first_vnode_count - 1, -1)
    count, places = next(
        ((count, places) for count in counts if len(places := _places(wanted, first, count)) == 1),
        (known.vnode_count, _places(wanted, first, known.vnode_count)),
    )
    if len(places) != 1:
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            f"streams {first} to {last} are not the partitions of one topic of database {database!r}: "
            + (f"they begin at vnodes {sorted(places)}" if places else "no log has any of them")
            + "; 'kawal wal orphans' shows which belong together",
        )
    return TopicCreated(
        name=name,
        topic_id=UUID(int=random.getrandbits(128), version=4).hex,
        database=database,
        first_stream=first,
        partition_count=last - first + 1,
        first_vnode=places.pop(),
        vnode_count=count,
        created_ms=wall_ms,
    )


def _places(orphans: list[Orphan], first: int, count: int) -> set[int]:
    """Return where a topic with these streams would begin, if it were spread over so many vnodes."""
    return {(orphan.vnode.index - (orphan.stream_id - first)) % count for orphan in orphans}
