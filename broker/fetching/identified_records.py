"""The ids of messages in what a fetch or a share fetch gives (broker/storage/message_id_headers.py)."""

from __future__ import annotations

import logging
from collections.abc import Generator
from typing import TYPE_CHECKING, cast

from broker.errors import RequestError, storage_error
from broker.loop.slices import Offload, Until
from broker.storage.message_id_headers import adds_ids, with_ids
from protocol.wire import RecordParts
from wal.disk import DiskError
from wal.errors import WalError
from wal.reader import ReadResult

if TYPE_CHECKING:
    from broker.fetching.fetch_items import FetchItem
    from broker.storage.partition import Partition
    from protocol.messages.fetch import PartitionData
    from wal.reader import Part

logger = logging.getLogger("kawal.broker")


def identified(item: FetchItem) -> Partition | None:
    """Return the partition of an item if its records are given with their ids."""
    partition = item.topic.partitions.get(item.index) if item.topic is not None else None
    return partition if partition is not None and adds_ids(partition) else None


def add_ids(
    partition: Partition, data: PartitionData, max_bytes: int, *, minimum_one: bool, offload: Offload
) -> Generator[Until | None, None, int]:
    """Put ids into the records of an answer, as far as it has room for them; return their new size."""
    records = data.records
    assert isinstance(records, RecordParts)
    stored = ReadResult(cast("list[Part]", records.parts), records.size_bytes, -1)
    try:
        given = yield from with_ids(partition, stored, max_bytes, minimum_one=minimum_one, offload=offload)
    except (WalError, DiskError, RequestError) as error:
        logger.error("fetch of %s-%d: %s", partition.topic.name, partition.index, error)
        refusal = error if isinstance(error, RequestError) else storage_error(error)
        data.error_code, data.records = refusal.code, b""
        return 0
    data.records = RecordParts(given.parts, given.size_bytes) if given.size_bytes else b""
    return given.size_bytes
