"""A classic consumer's subscription that a thread has read: one of 19,000 topics took the event loop 15 ms.

In a group of the consumer protocol its topics are sorted, and written into the member's record.
"""

from __future__ import annotations

from typing import Final

from groups.sorted_names import sorted_names
from protocol.consumer_protocol import ConsumerProtocolSubscription, decode_subscription
from protocol.errors import Malformed
from protocol.messages.join_group import JoinGroupRequestProtocol

READ_APART_BYTES: Final = 8 << 10
"""Shorter subscriptions are read on the event loop, in 1 ms at most."""


class ReadSubscription(bytes):
    """The bytes of a subscription, with what they say; the topics in order, each once."""

    subscription: ConsumerProtocolSubscription


def read_apart(protocols: list[JoinGroupRequestProtocol]) -> None:
    """Read the subscription of the protocol that counts, if it is long and can be read."""
    if not protocols:
        return
    protocol = _first_of(protocols)
    if len(protocol.metadata) < READ_APART_BYTES:
        return
    read = ReadSubscription(protocol.metadata)
    try:
        read.subscription = decode_subscription(read)
    except Malformed:
        return
    names: list[str] = sorted_names(read.subscription.topics)  # type: ignore[assignment]  # it is only read
    read.subscription.topics = names
    protocol.metadata = read


def subscription_of(protocols: list[JoinGroupRequestProtocol]) -> ConsumerProtocolSubscription:
    """Return the subscription of a consumer's request, read already or not.  Raises: Malformed."""
    metadata = _first_of(protocols).metadata
    if isinstance(metadata, ReadSubscription):
        return metadata.subscription
    return decode_subscription(bytes(metadata))


def _first_of(protocols: list[JoinGroupRequestProtocol]) -> JoinGroupRequestProtocol:
    """Return the protocol that a member prefers; of two of one name the last counts (`protocols_of`)."""
    name = protocols[0].name
    return next(protocol for protocol in reversed(protocols) if protocol.name == name)
