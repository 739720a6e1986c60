"""The subscriptions and assignments that classic consumers exchange through JoinGroup and SyncGroup.

    blob := version:i16 ConsumerProtocolSubscription        metadata of the group protocol "consumer"
    blob := version:i16 ConsumerProtocolAssignment          assignment of a member

Coordinators pass these bytes through unread. Describing a group, deleting offsets and our own tools decode
them: every blob ends in a message or in Malformed.

Source: Kafka 4.3, ConsumerProtocol.java and the two JSON schemas; KIP-54 (v0), KIP-429 (v1 owned partitions),
KIP-792 (v2 generation), KIP-881 (v3 rack).
"""

from __future__ import annotations

import struct as packing
from typing import Final, TypeVar

from protocol.errors import Malformed
from protocol.schema import prepare_constructors
from protocol.wire import (
    ArrayOf,
    Bytes,
    Int32,
    String,
    decode,
    encode,
    joined,
    message,
    prepare_decoder,
    prepare_encoder,
    struct,
    wire,
)

T = TypeVar("T")

VERSION_MAX: Final = 3
# Room for 100,000 partitions assigned to one consumer; the worst blob of this size takes 0.1 s.
BLOB_BYTES_MAX: Final = 512 << 10

_VERSION: Final = packing.Struct(">h")


@struct
class TopicPartition:
    """Partitions of one topic."""

    topic: str = wire(String)
    partitions: list[int] = wire(ArrayOf(Int32))


@message(versions="0-3", hot=True)
class ConsumerProtocolSubscription:
    """The topics that one consumer wants and the partitions that it has.

    Source: KIP-54, KIP-429, KIP-792, KIP-881.
    """

    topics: list[str] = wire(ArrayOf(String))
    user_data: bytes | None = wire(Bytes, nullable="0+", default=None)
    owned_partitions: list[TopicPartition] = wire(ArrayOf(TopicPartition), "1+", default=[], ignorable=True)
    generation_id: int = wire(Int32, "2+", default=-1, ignorable=True)
    rack_id: str | None = wire(String, "3+", nullable="3+", default=None, ignorable=True)


@message(versions="0-3", hot=True)
class ConsumerProtocolAssignment:
    """The partitions that one consumer was given; all versions are alike.

    Source: KIP-54.
    """

    assigned_partitions: list[TopicPartition] = wire(ArrayOf(TopicPartition))
    user_data: bytes | None = wire(Bytes, nullable="0+", default=None)


def prepare_versions() -> None:
    """Make what reading and writing these messages needs, where it is not there."""
    for version in range(VERSION_MAX + 1):
        for cls in (ConsumerProtocolSubscription, ConsumerProtocolAssignment):
            prepare_decoder(cls, version)
        prepare_encoder(ConsumerProtocolAssignment, version)
    prepare_constructors(ConsumerProtocolAssignment)


def encode_subscription(subscription: ConsumerProtocolSubscription, version: int = VERSION_MAX) -> bytes:
    """Return the blob of a subscription; what `version` cannot carry is left out."""
    return _VERSION.pack(version) + joined(encode(subscription, version))


def encode_assignment(assignment: ConsumerProtocolAssignment, version: int = VERSION_MAX) -> bytes:
    """Return the blob of an assignment."""
    return _VERSION.pack(version) + joined(encode(assignment, version))


def decode_subscription(blob: bytes | memoryview) -> ConsumerProtocolSubscription:
    """Read a subscription; versions newer than 3 are read as 3, as in Java, and bytes after it are ignored.

    A blob that claims v1 or newer and ends where v0 does is read as v0: some clients wrote such blobs (sarama
    accepts them too).

    Raises: Malformed.
    """
    version = _version(blob)
    try:
        return _decoded(ConsumerProtocolSubscription, version, blob)[0]
    except Malformed:
        if version == 0:
            raise
        subscription, end = _decoded(ConsumerProtocolSubscription, 0, blob)
        if end != len(blob):
            raise
        return subscription


def decode_assignment(blob: bytes | memoryview) -> ConsumerProtocolAssignment:
    """Read an assignment: an empty blob assigns nothing, and newer versions are read as 3.

    Raises: Malformed.
    """
    if not blob:
        return ConsumerProtocolAssignment(assigned_partitions=[])
    return _decoded(ConsumerProtocolAssignment, _version(blob), blob)[0]


def _version(blob: bytes | memoryview) -> int:
    """Return the version by which to read `blob`."""
    if len(blob) > BLOB_BYTES_MAX:
        raise Malformed(0, "consumer protocol", f"{len(blob)} bytes; {BLOB_BYTES_MAX} are allowed")
    if len(blob) < _VERSION.size:
        raise Malformed(0, "consumer protocol version", "cut")
    version: int = _VERSION.unpack_from(blob)[0]
    if version < 0:
        raise Malformed(0, "consumer protocol version", f"is {version}")
    return min(version, VERSION_MAX)


def _decoded(cls: type[T], version: int, blob: bytes | memoryview) -> tuple[T, int]:
    return decode(cls, version, blob, _VERSION.size)
