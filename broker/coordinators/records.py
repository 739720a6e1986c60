"""Appending a coordinator's records to its internal topic."""

from __future__ import annotations

from broker.storage.partition import Partition
from groups.effects import EncodedRecord
from protocol.record_reader import Record
from protocol.record_writer import encode_batch


def append_records(partition: Partition, records: list[EncodedRecord], wall_ms: int) -> None:
    """Append the records as one batch, using the space that is reserved for commits on a full disk.

    Raises: WalError, DiskError; nothing was appended.
    """
    batch = encode_batch([Record(number, wall_ms, key, value) for number, (key, value) in enumerate(records)])
    vnode = partition.vnode
    vnode.last_version = vnode.log.append(partition.stream_id, batch, reserved=True).version
