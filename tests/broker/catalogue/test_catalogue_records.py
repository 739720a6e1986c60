"""Catalogue records are JSON that any later release can read."""

from __future__ import annotations

import msgspec
import pytest

from broker.catalogue.catalogue_records import (
    PartitionsAdded,
    ProducerIdBlock,
    TopicCreated,
    decode_record,
    encode_record,
)


def test_a_record_says_what_it_is() -> None:
    assert encode_record(ProducerIdBlock(next_id=7)) == b'{"type":"producer_ids","next_id":7}'


def test_what_the_first_release_wrote_is_read() -> None:
    """Written by 0.1; never change these lines, add to them."""
    assert decode_record(
        b'{"type":"topic_created","name":"t","topic_id":"00","database":"default","first_stream":3,'
        b'"partition_count":2,"first_vnode":1,"created_ms":5}'
    ) == TopicCreated(
        name="t",
        topic_id="00",
        database="default",
        first_stream=3,
        partition_count=2,
        first_vnode=1,
        created_ms=5,
        replication_factor=1,
        configs={},
    )
    assert decode_record(
        b'{"type":"partitions_added","topic_id":"00","first_stream":9,"count":4}'
    ) == PartitionsAdded(topic_id="00", first_stream=9, count=4)
    assert decode_record(b'{"type":"producer_ids","next_id":1000}') == ProducerIdBlock(next_id=1000)


def test_fields_of_a_later_release_are_passed_over() -> None:
    assert decode_record(b'{"type":"producer_ids","next_id":7,"epoch":3}') == ProducerIdBlock(next_id=7)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b'{"type":"unheard_of"}',
        b'{"type":"producer_ids"}',
        b'{"type":"producer_ids","next_id":"x"}',
    ],
)
def test_what_is_no_record_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_record(data)
