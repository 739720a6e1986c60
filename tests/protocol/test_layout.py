"""The fields that one version of a message carries."""

from __future__ import annotations

import pytest

from protocol.layout import element_field, layout, least_size_bytes
from protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from protocol.messages.fetch import FetchRequest, FetchResponse
from protocol.schema import Int32, String, message, wire


def test_version_decides_what_is_carried_tagged_and_left_out() -> None:
    found = layout(FetchRequest, 15)
    assert [field.name for field in found.plain][:3] == ["max_wait_ms", "min_bytes", "max_bytes"]
    assert [(field.tag, field.name) for field in found.tagged] == [(0, "cluster_id"), (1, "replica_state")]
    assert [field.name for field in found.absent] == ["replica_id"]


def test_versions_before_the_flexible_ones_have_no_tags() -> None:
    assert layout(FetchRequest, 11).tagged == ()
    assert not layout(FetchRequest, 11).flexible
    assert layout(FetchRequest, 12).flexible


def test_least_size_counts_every_field_at_its_smallest() -> None:
    partition = layout(FetchRequest, 4).plain[-1].layout
    assert partition is not None
    assert partition.least_size_bytes == 2 + 4  # topic name and count of partitions
    partitions = layout(FetchRequest, 12).plain[-3].layout
    assert partitions is not None
    assert partitions.least_size_bytes == 1 + 1 + 1  # the same, compact, and the count of tags


def test_a_nullable_struct_takes_one_byte_at_least() -> None:
    cursor = layout(DescribeTopicPartitionsRequest, 0).plain[-1]
    assert cursor.nullable
    assert least_size_bytes(cursor, flexible=True) == 1


def test_elements_are_never_null() -> None:
    responses = layout(FetchResponse, 4).plain[-1]
    assert responses.layout is not None
    aborted = next(field for field in responses.layout.plain[-1:])
    assert element_field(aborted).nullable is False


def test_a_field_missing_in_some_version_needs_a_default() -> None:
    @message(versions="0-1")
    class Incomplete:
        """A struct without the default that it needs."""

        late: int = wire(Int32, "1+")

    assert [field.name for field in layout(Incomplete, 1).plain] == ["late"]
    with pytest.raises(AssertionError, match=r"Incomplete.late needs a default for v0"):
        layout(Incomplete, 0)


def test_tagged_fields_need_a_flexible_version() -> None:
    @message(versions="0-1", flexible="1+")
    class Hasty:
        """A struct whose field is tagged in a version that is not flexible."""

        label: str = wire(String, "0+", tag=0, default="")

    assert layout(Hasty, 1).tagged[0].name == "label"
    with pytest.raises(AssertionError, match="not flexible"):
        layout(Hasty, 0)
