"""Tests of groups/read_subscription.py: a thread reads what a member of a consumer group would have read."""

from __future__ import annotations

import pytest

from groups.read_subscription import READ_APART_BYTES, ReadSubscription, read_apart, subscription_of
from groups.sorted_names import SortedNames
from protocol.consumer_protocol import ConsumerProtocolSubscription, TopicPartition, encode_subscription
from protocol.errors import Malformed
from protocol.messages.join_group import JoinGroupRequestProtocol

MANY = [f"topic-{number % 1_000:06}" for number in range(1_500)]
SUBSCRIPTION = ConsumerProtocolSubscription(
    topics=MANY, owned_partitions=[TopicPartition(topic="t", partitions=[1])], rack_id="r"
)


def protocol(name: str, metadata: bytes) -> JoinGroupRequestProtocol:
    return JoinGroupRequestProtocol(name=name, metadata=metadata)


def test_a_long_subscription_is_read_once_with_its_topics_in_order() -> None:
    protocols = [protocol("range", blob := encode_subscription(SUBSCRIPTION))]
    read_apart(protocols)
    assert protocols[0].metadata == blob
    assert isinstance(protocols[0].metadata, ReadSubscription)
    found = subscription_of(protocols)
    assert found is subscription_of(protocols)
    topics: object = found.topics
    assert isinstance(topics, SortedNames)
    assert list(topics) == sorted(set(MANY))
    assert (found.owned_partitions, found.rack_id) == (SUBSCRIPTION.owned_partitions, "r")


def test_a_short_one_is_read_where_it_is_needed() -> None:
    short = ConsumerProtocolSubscription(topics=["b", "a"])
    protocols = [protocol("range", encode_subscription(short))]
    read_apart(protocols)
    assert not isinstance(protocols[0].metadata, ReadSubscription)
    assert subscription_of(protocols) == short


def test_of_two_of_the_preferred_name_the_last_is_read() -> None:
    last = encode_subscription(ConsumerProtocolSubscription(topics=[*MANY, "last"]))
    protocols = [protocol("a", encode_subscription(SUBSCRIPTION)), protocol("b", b""), protocol("a", last)]
    read_apart(protocols)
    assert "last" in subscription_of(protocols).topics


@pytest.mark.parametrize("blob", [b"\0\1\0\1", b"\xff" * READ_APART_BYTES], ids=["short", "long"])
def test_what_cannot_be_read_is_refused_where_it_is_needed(blob: bytes) -> None:
    protocols = [protocol("range", blob)]
    read_apart(protocols)
    with pytest.raises(Malformed):
        subscription_of(protocols)


def test_a_request_without_protocols_is_left_as_it_is() -> None:
    read_apart([])
