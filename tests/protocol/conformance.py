"""Comparing declarations with Kafka's own specification, field by field.

Left open on purpose: our constructor may require a field for which Kafka implies a default (0, "", []), and
a nullable field may default to null where Kafka implies "" (its broker sends null too). Neither changes a
byte on the wire. `ignorable` means nothing on a field that all versions carry.
"""

from __future__ import annotations

from typing import Any

from protocol.schema import REQUIRED, ZERO_UUID, ArrayOf, Fixed, Sized, WireField, declaration
from tests.protocol.specifications import common, default_of, snake_case, versions_of

NOT_SPECIFIED = {
    "AllocateProducerIdsRequest",
    "AllocateProducerIdsResponse",
    "AlterShareGroupOffsetsRequest",
    "AlterShareGroupOffsetsResponse",
    "ConsumerGroupDescribeRequest",
    "ConsumerGroupDescribeResponse",
    "ConsumerGroupHeartbeatRequest",
    "ConsumerGroupHeartbeatResponse",
    "CreateDelegationTokenRequest",
    "CreateDelegationTokenResponse",
    "EnvelopeRequest",
    "EnvelopeResponse",
    "DeleteShareGroupOffsetsRequest",
    "DeleteShareGroupOffsetsResponse",
    "DescribeDelegationTokenRequest",
    "DescribeDelegationTokenResponse",
    "DescribeShareGroupOffsetsRequest",
    "DescribeShareGroupOffsetsResponse",
    "ExpireDelegationTokenRequest",
    "ExpireDelegationTokenResponse",
    "RenewDelegationTokenRequest",
    "RenewDelegationTokenResponse",
    "ShareAcknowledgeRequest",
    "ShareAcknowledgeResponse",
    "ShareFetchRequest",
    "ShareFetchResponse",
    "ShareGroupDescribeRequest",
    "ShareGroupDescribeResponse",
    "ShareGroupHeartbeatRequest",
    "ShareGroupHeartbeatResponse",
}
"""Messages without a specification in the wheel; their docstrings name their sources."""

RENAMED = {
    "RequestTopicData": "TopicData",
    "RequestPartitionData": "PartitionData",
    "ResponseTopicData": "TopicData",
    "ResponsePartitionData": "PartitionData",
    "RequestEntryData": "EntryData",
    "ResponseEntryData": "EntryData",
}
"""Structs that differ between a request and its answer although Kafka gives them the same name."""


def is_specified(cls: type[Any]) -> bool:
    """Return whether the wheel specifies the message; Kawal's own cannot be in it."""
    return cls.__name__ not in NOT_SPECIFIED and not cls.__name__.startswith("Kawal")


def differences(
    path: str, fields: tuple[WireField, ...], specified: list[dict[str, Any]], life: range
) -> list[str]:
    """Return the differences between the fields of a struct that occurs in the versions `life`."""
    ours = [field for field in fields if common(field.versions, life)]
    theirs = [field for field in specified if common(versions_of(field, "versions"), life)]
    names = [snake_case(field["name"]) for field in theirs]
    if [field.name for field in ours] != names:
        return [f"{path} has {[field.name for field in ours]}, specified are {names}"]
    found = []
    for field, other in zip(ours, theirs, strict=True):
        found += compare(f"{path}.{field.name}", field, other, life)
    return found


def compare(path: str, field: WireField, specified: dict[str, Any], life: range) -> list[str]:
    """Return the differences of one field and the fields nested in it."""
    versions = common(field.versions, life)
    nullable = common(versions_of(specified, "nullableVersions"), versions)
    facts: dict[str, tuple[object, object]] = {
        "versions": (versions, common(versions_of(specified, "versions"), life)),
        "kind": (kind_name(field.kind), specified["type"]),
        "nullable": (common(field.nullable, versions), nullable),
        "tag": (field.tag, specified.get("tag")),
        "tagged": (versions if field.tag is not None else range(0), common(tagged(specified), versions)),
    }
    if versions != life:
        facts["ignorable"] = (field.ignorable, specified.get("ignorable", False))
    found = [
        f"{path}: {name} {ours!r} is not {theirs!r}"
        for name, (ours, theirs) in facts.items()
        if ours != theirs
    ]
    if not default_agrees(field, specified, needed=versions != life or field.tag is not None):
        found.append(f"{path}: default {field.default!r} is not {specified.get('default', 'implied')!r}")
    inner = field.kind.element if isinstance(field.kind, ArrayOf) else field.kind
    if isinstance(inner, type):
        found += differences(path, declaration(inner).fields, specified["fields"], versions)
    return found


def tagged(specified: dict[str, Any]) -> range:
    return versions_of(specified, "taggedVersions")


def kind_name(kind: object) -> str:
    """Return the name of a kind in specifications."""
    if isinstance(kind, ArrayOf):
        return f"[]{kind_name(kind.element)}"
    if isinstance(kind, Fixed | Sized):
        return kind.name.lower()
    assert isinstance(kind, type)
    return RENAMED.get(kind.__name__, kind.__name__)


def default_agrees(field: WireField, specified: dict[str, Any], *, needed: bool) -> bool:
    """Return whether our default means the same; `needed` where some versions leave the field out."""
    if "default" in specified:
        expected = default_of(specified)
        return type(field.default) is type(expected) and bool(field.default == expected)
    if field.default is REQUIRED:
        return not needed
    if field.default is None:
        return isinstance(field.kind, type) or "nullableVersions" in specified
    implied: tuple[object, ...] = (0, 0.0, False, "", b"", [], ZERO_UUID)
    return any(type(field.default) is type(value) and field.default == value for value in implied)
