"""The record of what a member of a consumer group has, in bytes.

A member may have 20,000 topics, and most of them have the same partitions, from the same epoch: their entries
differ in the topic's id alone. So each kind of entry is encoded once, and the ids are put before it.

    entry := topic id [16], partitions, tagged epochs
"""

from __future__ import annotations

import struct
from itertools import chain
from operator import attrgetter
from typing import Final

from groups.assignment import EpochAssignment
from groups.consumer_member import MemberAssignment
from groups.record_schemas import ConsumerGroupCurrentMemberAssignmentValue, CurrentPartitions
from protocol.parts import joined_parts
from protocol.primitives import write_uvarint
from protocol.wire import ZERO_UUID, encode, joined

WIDE_TOPICS: Final = 100
"""The topics from which on it is faster."""

_VERSION: Final = struct.pack(">h", 0)
_ID_BYTES: Final = 16
_ENDS: Final = b"\1\1\0"
"""Both arrays, without entries, and no tagged fields."""


def current_bytes(value: MemberAssignment) -> bytes:
    """Return the record's value, in its only version."""
    if len(value.assigned) + len(value.revoking) < WIDE_TOPICS:
        return _encoded(value, _entries(value.assigned), _entries(value.revoking))
    head = _encoded(value, [], []).removesuffix(_ENDS)
    out = bytearray(head)
    for assignment in (value.assigned, value.revoking):
        write_uvarint(out, len(assignment) + 1)
        if assignment:
            out += _joined_entries(value, assignment, len(head))
    return bytes(out + b"\0")


def _encoded(
    value: MemberAssignment, assigned: list[CurrentPartitions], revoking: list[CurrentPartitions]
) -> bytes:
    schema = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=value.epoch,
        previous_member_epoch=value.previous_epoch,
        state=value.state,
        assigned_partitions=assigned,
        partitions_pending_revocation=revoking,
    )
    return _VERSION + joined(encode(schema, 0))


def _entries(assignment: EpochAssignment) -> list[CurrentPartitions]:
    return [
        CurrentPartitions(
            topic_id=topic_id, partitions=list(partitions), assignment_epochs=list(partitions.values())
        )
        for topic_id, partitions in assignment.items()
    ]


def _joined_entries(value: MemberAssignment, assignment: EpochAssignment, head_bytes: int) -> bytes:
    """Return all entries of an array, without its length."""
    kinds = {id(partitions): partitions for partitions in assignment.values()}
    before = head_bytes + 1 + _ID_BYTES  # an array of one entry, and its id
    made = {
        key: _encoded(value, _entries({ZERO_UUID: partitions}), [])[before:-2]
        for key, partitions in kinds.items()
    }
    rests = [made[id(partitions)] for partitions in assignment.values()]
    ids = [number.to_bytes(_ID_BYTES, "big") for number in map(attrgetter("int"), assignment)]
    return joined_parts(chain.from_iterable(zip(ids, rests, strict=True)))
