"""AddOffsetsToTxn: a group becomes part of a transaction."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from tests.broker.gateway import Gateway
from tests.broker.txn import TV1, Producer


def test_a_group_begins_a_transaction_in_its_partition_of_the_internal_topic() -> None:
    gateway = Gateway()
    producer = Producer(gateway, protocol=TV1)
    assert producer.add_group("g") == 0
    known = gateway.broker.transactions._machine.described("tx")
    place = "__consumer_offsets", gateway.broker.groups._machine.partition_of("g")
    assert getattr(known, "partitions", None) == {place}
    assert producer.commit() == 0


@pytest.mark.parametrize("version", range(5))
def test_a_producer_that_was_fenced_is_told_so_in_its_words(version: int) -> None:
    gateway = Gateway()
    producer = Producer(gateway, protocol=TV1)
    Producer(gateway, protocol=TV1)
    expected = ErrorCode.INVALID_PRODUCER_EPOCH if version < 2 else ErrorCode.PRODUCER_FENCED
    assert producer.add_group(version=version) == expected
