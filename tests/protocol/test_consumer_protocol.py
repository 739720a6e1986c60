"""The blobs of classic consumers are read and written as by kafka-python; anything else is Malformed."""

from __future__ import annotations

import random
import struct
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.consumer_protocol import (
    BLOB_BYTES_MAX,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from protocol.errors import Malformed
from protocol.schema import declaration
from tests.protocol.conformance import differences
from tests.protocol.specifications import specification

with warnings.catch_warnings():
    # kafka-python 3.0 reads its schemas with a call that only Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.protocol.consumer.metadata as kafka_python

OWNED = [TopicPartition(topic="flights", partitions=[0, 3])]
SUBSCRIPTION = ConsumerProtocolSubscription(
    topics=["flights", "weather"], user_data=b"\x01", owned_partitions=OWNED, generation_id=9, rack_id="r1"
)
ASSIGNMENT = ConsumerProtocolAssignment(assigned_partitions=OWNED, user_data=b"sticky")

names = st.text(max_size=12)
topic_partitions = st.builds(
    TopicPartition, topic=names, partitions=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5)
)
user_data = st.none() | st.binary(max_size=20)
subscriptions = st.builds(
    ConsumerProtocolSubscription,
    topics=st.lists(names, max_size=4),
    user_data=user_data,
    owned_partitions=st.lists(topic_partitions, max_size=3),
    generation_id=st.integers(-1, 2**31 - 1),
    rack_id=st.none() | names,
)
assignments = st.builds(
    ConsumerProtocolAssignment,
    assigned_partitions=st.lists(topic_partitions, max_size=3),
    user_data=user_data,
)


@pytest.mark.parametrize("cls", [ConsumerProtocolSubscription, ConsumerProtocolAssignment])
def test_fields_are_as_specified(cls: type[Any]) -> None:
    declared, specified = declaration(cls), specification(cls.__name__)
    assert (declared.versions, specified["validVersions"]) == (range(4), "0-3")
    assert differences(cls.__name__, declared.fields, specified["fields"], declared.versions) == []


def test_version_3_on_the_wire() -> None:
    assert encode_subscription(SUBSCRIPTION) == (
        b"\x00\x03"
        b"\x00\x00\x00\x02\x00\x07flights\x00\x07weather"
        b"\x00\x00\x00\x01\x01"
        b"\x00\x00\x00\x01\x00\x07flights\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03"
        b"\x00\x00\x00\x09\x00\x02r1"
    )


@given(subscription=subscriptions)
def test_subscriptions_survive_the_round_trip(subscription: ConsumerProtocolSubscription) -> None:
    assert decode_subscription(encode_subscription(subscription)) == subscription


@given(assignment=assignments, version=st.integers(0, 3))
def test_assignments_survive_the_round_trip(assignment: ConsumerProtocolAssignment, version: int) -> None:
    assert decode_assignment(encode_assignment(assignment, version)) == assignment


def test_older_versions_leave_out_what_they_cannot_carry() -> None:
    kept = [decode_subscription(encode_subscription(SUBSCRIPTION, version)) for version in range(4)]
    assert [len(found.owned_partitions) for found in kept] == [0, 1, 1, 1]
    assert [found.generation_id for found in kept] == [-1, -1, 9, 9]
    assert [found.rack_id for found in kept] == [None, None, None, "r1"]


@settings(max_examples=60, deadline=None)
@given(subscription=subscriptions, version=st.integers(0, 3))
def test_kafka_python_writes_and_reads_the_same_subscriptions(
    subscription: ConsumerProtocolSubscription, version: int
) -> None:
    theirs = kafka_python.ConsumerProtocolSubscription
    message = theirs(
        topics=subscription.topics,
        user_data=subscription.user_data,
        owned_partitions=[
            theirs.TopicPartition(topic=owned.topic, partitions=owned.partitions)
            for owned in subscription.owned_partitions
        ],
        generation_id=subscription.generation_id,
        rack_id=subscription.rack_id,
        version=version,
    )
    blob = encode_subscription(subscription, version)
    assert message.encode() == blob
    assert theirs.decode(blob).topics == subscription.topics


@settings(max_examples=60, deadline=None)
@given(assignment=assignments, version=st.integers(0, 3))
def test_kafka_python_writes_the_same_assignments(
    assignment: ConsumerProtocolAssignment, version: int
) -> None:
    theirs = kafka_python.ConsumerProtocolAssignment
    message = theirs(
        assigned_partitions=[
            theirs.TopicPartition(topic=given.topic, partitions=given.partitions)
            for given in assignment.assigned_partitions
        ],
        user_data=assignment.user_data,
        version=version,
    )
    assert message.encode() == encode_assignment(assignment, version)


def test_a_newer_version_is_read_as_the_newest_known_as_java_does() -> None:
    blob = struct.pack(">h", 7) + encode_subscription(SUBSCRIPTION)[2:] + b"a field of the future"
    assert decode_subscription(blob) == SUBSCRIPTION
    assert (
        decode_assignment(struct.pack(">h", 32767) + encode_assignment(ASSIGNMENT)[2:] + b"?") == ASSIGNMENT
    )


@pytest.mark.parametrize("claimed", [1, 2, 3])
def test_a_blob_that_claims_more_than_it_holds_is_read_as_version_0(claimed: int) -> None:
    blob = struct.pack(">h", claimed) + encode_subscription(SUBSCRIPTION, 0)[2:]
    assert decode_subscription(blob).topics == ["flights", "weather"]


def test_no_bytes_are_an_empty_assignment() -> None:
    assert decode_assignment(b"").assigned_partitions == []


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_blob_cut_anywhere_is_malformed(version: int) -> None:
    blob = encode_subscription(SUBSCRIPTION, version)
    whole_as_version_0 = len(encode_subscription(SUBSCRIPTION, 0))
    for size in set(range(len(blob))) - {whole_as_version_0}:
        with pytest.raises(Malformed):
            decode_subscription(memoryview(blob)[:size])
    blob = encode_assignment(ASSIGNMENT, version)
    for size in range(1, len(blob)):
        with pytest.raises(Malformed):
            decode_assignment(blob[:size])


@pytest.mark.parametrize("decode", [decode_subscription, decode_assignment])
def test_negative_versions_and_oversized_blobs_are_malformed(decode: Any) -> None:
    with pytest.raises(Malformed, match="version"):
        decode(b"\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff")
    with pytest.raises(Malformed, match="allowed"):
        decode(bytes(BLOB_BYTES_MAX + 1))


def test_damaged_blobs_end_in_malformed_or_a_message() -> None:
    chance = random.Random("consumer protocol")
    sources = [(decode_subscription, encode_subscription(SUBSCRIPTION, version)) for version in range(4)]
    for decode, source in [*sources, (decode_assignment, encode_assignment(ASSIGNMENT))]:
        for _ in range(3_000):
            damaged = bytearray(source)
            for _ in range(chance.randint(1, 3)):
                damaged[chance.randrange(len(damaged))] = chance.choice(
                    [0, 0x7F, 0xFF, chance.randrange(256)]
                )
            try:
                decode(bytes(damaged))
            except Malformed:
                continue
