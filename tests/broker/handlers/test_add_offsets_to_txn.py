"""AddOffsetsToTxn: a group becomes part of a transaction."""

from __future__ import annotations

from typing import Any

import pytest

from broker.connections.response_errors import errors_of
from protocol.error_codes import ErrorCode
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.broker.txn import TV1, TV2, Producer, committed


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


@pytest.mark.parametrize("protocol", [TV1, TV2])
@pytest.mark.parametrize("vnodes", [1, 2, 3])
def test_requests_that_are_sent_without_waiting_for_answers_are_served_in_their_order(
    vnodes: int, protocol: int
) -> None:
    gateway = Gateway(kawal_vnodes=vnodes)
    create(gateway.client(), "t", partitions=4)
    producer = Producer(gateway, protocol=protocol)
    for number in range(6):
        places = [("t", index) for index in range(4)]
        if protocol == TV1:
            producer.client.send(producer.adding(*places), 3)
        for place in places:
            producer.client.send(producer.producing(place, value=b"%d" % number), producer.produce_version)
        if protocol == TV1:
            producer.client.send(producer.adding_group("g"), 4)
        producer.client.send(producer.committing(number), 5 if protocol == TV2 else 4)
        producer.client.send(producer.ending(commit=number % 3 != 2), 5 if protocol == TV2 else 4)
        if protocol == TV2:
            producer.epoch += 1
            producer.sequences.clear()
    answers: list[Any] = []
    while len(answers) < 6 * (8 if protocol == TV1 else 6):
        gateway.settle()
        found = producer.client.answers()
        assert found
        answers += found
    assert not [answer for answer in answers if errors_of(answer)]
    for index in range(4):
        assert committed(gateway.client(), "t", index) == [b"0", b"1", b"3", b"4"]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
    (topic,) = gateway.client().call(request, 9).groups[0].topics
    assert topic.partitions[0].committed_offset == 4
