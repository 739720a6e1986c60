"""Tests of groups/topic_entries.py: records of very many topics are those of Kafka's schemas."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from groups.assignment import Assignment
from groups.record_keys import TargetKey
from groups.record_schemas import ConsumerGroupTargetAssignmentMemberValue, TargetPartitions
from groups.records import encode_record
from groups.share import record_schemas as share
from groups.share.group_records import (
    InitializedTopic,
    ShareCurrent,
    ShareCurrentKey,
    ShareStatesKey,
    ShareTargetKey,
    encode_share_record,
)
from protocol.wire import encode, joined

indexes = st.frozensets(st.integers(0, 2**31 - 1), max_size=200)
few = st.lists(indexes, min_size=1, max_size=3)


@st.composite
def assignments(draw: st.DrawFn) -> Assignment:
    """Return topics, many of which have the same partitions."""
    kinds, first = draw(few), draw(st.integers(0, 2**120))
    return {
        UUID(int=first + number): kinds[number % len(kinds)] for number in range(draw(st.integers(0, 200)))
    }


def value_of(record: tuple[bytes, bytes | None]) -> bytes:
    assert record[1] is not None
    return record[1]


@given(assignments())
def test_targets_and_assignments_are_those_of_the_schemas(found: Assignment) -> None:
    target = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            TargetPartitions(topic_id=key, partitions=sorted(some)) for key, some in found.items()
        ]
    )
    assert value_of(encode_record(TargetKey("g", "m"), found)) == b"\0\0" + joined(encode(target, 0))
    parts = [share.TopicPartitions(topic_id=key, partitions=sorted(some)) for key, some in found.items()]
    shared = share.ShareGroupTargetAssignmentMemberValue(topic_partitions=parts)
    assert value_of(encode_share_record(ShareTargetKey("g", "m"), found)) == b"\0\0" + joined(
        encode(shared, 0)
    )
    current = share.ShareGroupCurrentMemberAssignmentValue(
        member_epoch=7, previous_member_epoch=-1, state=0, assigned_partitions=parts
    )
    key = ShareCurrentKey("g", "m")
    assert value_of(encode_share_record(key, ShareCurrent(7, -1, found))) == b"\0\0" + joined(
        encode(current, 0)
    )


@given(assignments(), st.text(max_size=300))
def test_states_are_those_of_the_schema(found: Assignment, name: str) -> None:
    names = {key: f"{name}{number}".encode("utf-8", "replace").decode() for number, key in enumerate(found)}
    schema = share.ShareGroupStatePartitionMetadataValue(
        initializing_topics=[],
        initialized_topics=[
            share.TopicPartitionsInfo(topic_id=key, topic_name=names[key], partitions=sorted(some))
            for key, some in found.items()
        ],
        deleting_topics=[],
    )
    states = {key: InitializedTopic(names[key], some) for key, some in found.items()}
    assert value_of(encode_share_record(ShareStatesKey("g"), states)) == b"\0\0" + joined(encode(schema, 0))
