"""Answers as plain data that JSON can hold: fields of their version that differ from the default, by name.

What cannot be the same on two brokers is replaced: ids by the stand-ins of steps.py, times of the run by
"<now>", addresses by words. Records are shown batch by batch. Texts for people are shown as "<text>": the
gateway has its own words, which name the thing and the value.
"""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID
from zlib import crc32

from crc32c import crc32c

from compat_tests.differential.shapes import LISTING, in_order
from compat_tests.differential.steps import FIRST_PRODUCER, FIRST_SESSION, member, topic_id
from protocol.layout import Field, Layout, layout
from protocol.schema import Records

Plain = dict[str, Any]
"""An answer or a part of it, as JSON would hold it."""

OF_THE_SERVER = {
    "host": "<host>",
    "port": "<port>",
    "cluster_id": "<cluster id>",
    "finalized_features_epoch": "<epoch>",
    "total_bytes": "<size of the disk>",
    "usable_bytes": "<room on the disk>",
}
MEMBERS = frozenset({"member_id", "leader"})
OF_THE_METADATA_LOG = frozenset({"leader_epoch", "high_watermark", "log_end_offset"})
"""Fields of DescribeQuorum's answer that count records and elections which no client has made."""
TEXTS = frozenset(
    {"error_message", "documentation", "batch_index_error_message", "acknowledge_error_message"}
)
MOMENTS = frozenset(
    {
        *("log_append_time_ms", "timestamp", "last_timestamp", "last_fetch_timestamp"),
        *("last_caught_up_timestamp", "transaction_start_time_ms"),
    }
)
LEADER_EPOCHS = frozenset({"leader_epoch", "current_leader_epoch", "last_fetched_epoch", "epoch"})
CONTROL = 0x20
MARKER_BYTES = 10
"""No marker of a transaction is shorter."""
EPOCHS_AHEAD = 10
"""A leader epoch of a request is so far ahead at most that it stands for one of the broker's."""
NOW_WITHIN_MS = 3_600_000

RANDOM_ID = 4
"""The version of an id that a broker made; ids of the requests have another."""

_ADDRESS = re.compile(r"127\.0\.0\.1:\d{1,5}\b")
_BATCH = struct.Struct(">qiibIhiqqqhii")


class Names:
    """The stand-ins of one sequence on one broker: which id stands for which."""

    def __init__(self, prefix: str, directories: Sequence[str]) -> None:
        """Begin without ids; topics of the sequence begin with `prefix`, their files are in `directories`."""
        self.prefix = prefix
        self._directories = directories
        # Every text of the request that is being answered.
        self.mentioned: set[str] = set()
        # The number of the node that is asked, and the leader epochs of all.
        self.node = 0
        self._epochs = dict.fromkeys(range(len(directories)), 0)
        self._topics: dict[UUID, tuple[str, int]] = {}
        self._generations: dict[str, int] = {}
        self._real_topics: dict[UUID, UUID] = {}
        self._producers: list[int] = []
        self._sessions: list[int] = []
        self._members: list[str] = []

    def owns(self, name: str) -> bool:
        """Return whether a name is one of the sequence, or named by the request."""
        return name in self.mentioned or _folded(name).startswith(_folded(self.prefix))

    def without_directories(self, text: str) -> str:
        """Return a text with a word in place of the directory of a broker."""
        for directory in self._directories:
            text = text.replace(directory, "<directory>")
        return text

    def name_of(self, stand_in: UUID) -> str:
        """Return the name of the topic for whose id this is a stand-in; empty, if it has not been made."""
        return self._topics.get(self.real_topic(stand_in), ("", 0))[0]

    def learn_topic(self, name: str, real: UUID) -> None:
        """Remember the id of a topic as it is now."""
        if real.int and real not in self._topics:
            generation = self._generations[name] = self._generations.get(name, 0) + 1
            self._topics[real] = (name, generation)
            self._real_topics[topic_id(name, generation)] = real

    def learn_epoch(self, node: int, epoch: int) -> None:
        """Remember the leader epoch of the partitions that a node leads: 0 stands for it."""
        self._epochs[node] = epoch

    def real_epoch(self, stand_in: int) -> int:
        """Return the leader epoch at the node that is asked; another number as it is."""
        return stand_in + self._epochs[self.node] if 0 <= stand_in < EPOCHS_AHEAD else stand_in

    def shown_epoch(self, real: int) -> int:
        """Return the stand-in for the leader epoch of any node; another number as it is."""
        return 0 if real in self._epochs.values() else real

    def real_topic(self, stand_in: UUID) -> UUID:
        """Return the broker's id in place of a stand-in; other ids, unknown to every broker, as they are."""
        return self._real_topics.get(stand_in, stand_in)

    def real_producer(self, stand_in: int) -> int:
        """Return the broker's producer id in place of a stand-in; another number as it is."""
        return _real(stand_in, FIRST_PRODUCER, self._producers)

    def real_session(self, stand_in: int) -> int:
        """Return the broker's session id in place of a stand-in; another number as it is."""
        return _real(stand_in, FIRST_SESSION, self._sessions)

    def real_member(self, stand_in: str) -> str:
        """Return the broker's member id in place of a stand-in; another text as it is."""
        return next((real for n, real in enumerate(self._members) if member(n) == stand_in), stand_in)

    def shown_member(self, real: str) -> str:
        """Return the stand-in for a member id that the broker made up, a new one when it was never seen."""
        if not real or real in self.mentioned:
            return real
        if real not in self._members:
            self._members.append(real)
        return member(self._members.index(real))

    def shown_topic(self, real: UUID) -> str:
        """Return the id for people: by name, so that it is the same on every broker."""
        if real not in self._topics:
            return "<an id>" if real.version == RANDOM_ID else str(real)
        name, generation = self._topics[real]
        return f"<id {generation} of {name}>"

    def shown_producer(self, real: int) -> int:
        """Return the stand-in for a producer id, a new one when it was never seen."""
        return _shown(real, FIRST_PRODUCER, self._producers)

    def shown_session(self, real: int) -> int:
        """Return the stand-in for a session id, a new one when it was never seen."""
        return _shown(real, FIRST_SESSION, self._sessions) if real > 0 else real


def _folded(name: str) -> str:
    return name.lower().replace("_", "-")


def _real(stand_in: int, first: int, known: list[int]) -> int:
    number = stand_in - first
    return known[number] if 0 <= number < len(known) else stand_in


def _shown(real: int, first: int, known: list[int]) -> int:
    if real < 0:
        return real
    if real not in known:
        known.append(real)
    return first + known.index(real)


def plain(message: Any, version: int, names: Names) -> Plain:
    """Return the message as plain data."""
    return _struct(message, layout(type(message), version), names)


def _struct(value: Any, shape: Layout, names: Names) -> Plain:
    shown = {}
    of_the_quorum = shape.cls.__module__.endswith(".describe_quorum")
    for field in (*shape.plain, *shape.tagged):
        found = getattr(value, field.name)
        if of_the_quorum and field.name in OF_THE_METADATA_LOG:
            shown[field.name] = "<number>" if found >= 0 else found
        elif found != field.default:
            shown[field.name] = _value(found, field, names)
    if value.unknown_tags:
        shown["unknown_tags"] = {str(tag): data.hex() for tag, data in value.unknown_tags.items()}
    return shown


def _value(value: Any, field: Field, names: Names) -> Any:
    if value is None:
        return None
    if field.kind is Records:
        return batches(bytes(value) if not hasattr(value, "parts") else b"".join(value.parts), names)
    if isinstance(value, list):
        if field.layout is None:
            return [_item(item, field, names) for item in value]
        cls = field.layout.cls.__name__
        listed = [item for item in value if _is_asked(item, LISTING.get(cls), names)]
        return in_order([_item(item, field, names) for item in listed], cls)
    return _item(value, field, names)


def _is_asked(item: Any, name_field: str | None, names: Names) -> bool:
    """Return whether an element belongs to the sequence; one without a name was asked for by its id."""
    name = getattr(item, name_field) if name_field else None
    if isinstance(name, list):
        # The parts of an entity with quotas.
        return any(part.entity_name is not None and names.owns(part.entity_name) for part in name)
    return name is None or names.owns(name)


def _item(value: Any, field: Field, names: Names) -> Any:
    if field.layout is not None:
        return _struct(value, field.layout, names)
    if isinstance(value, UUID):
        return names.shown_topic(value)
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if field.name in OF_THE_SERVER and value not in ("", -1):
        return OF_THE_SERVER[field.name]
    if field.name in MEMBERS and isinstance(value, str):
        return names.shown_member(value)
    if field.name in TEXTS:
        return "<text>" if value else value
    if field.name in ("value", "log_dir") and isinstance(value, str):
        return _ADDRESS.sub("<address>", names.without_directories(value))
    if field.name in MOMENTS:
        return moment(value)
    if field.name == "session_id":
        return names.shown_session(value)
    if field.name in LEADER_EPOCHS and isinstance(value, int):
        return names.shown_epoch(value)
    if field.name == "producer_id":
        return names.shown_producer(value)
    return value


def moment(value_ms: int) -> int | str:
    """Return a time as it is, or "<now>" when it is within the run."""
    return "<now>" if abs(value_ms - time.time() * 1000) < NOW_WITHIN_MS else value_ms


def _of_any_epoch(records: bytes, attributes: int, names: Names) -> bytes:
    """Return the records of a batch; in a marker, the stand-in for the epoch of its coordinator."""
    if not attributes & CONTROL or len(records) < MARKER_BYTES:
        return records
    # The value of a marker is a version and the epoch; after it there is the number of headers, 0.
    before, epoch, after = records[:-5], struct.unpack(">i", records[-5:-1])[0], records[-1:]
    return before + struct.pack(">i", names.shown_epoch(epoch)) + after


def batches(data: bytes, names: Names) -> list[Plain]:
    """Return every batch in `data`: its header, whether its CRC is right, a checksum of its records."""
    found: list[Plain] = []
    position = 0
    while position < len(data):
        if len(data) - position < _BATCH.size:
            found.append({"cut": True})
            break
        (
            base,
            length,
            epoch,
            magic,
            crc,
            attributes,
            delta,
            first_ms,
            max_ms,
            producer,
            era,
            sequence,
            count,
        ) = _BATCH.unpack_from(data, position)
        whole = data[position : position + 12 + length]
        if len(whole) < 12 + length:
            found.append({"cut": True})
            break
        found.append(
            {
                "offsets": [base, base + delta],
                "leader_epoch": names.shown_epoch(epoch),
                "magic": magic,
                "crc_is_right": crc == crc32c(whole[21:]),
                "attributes": attributes,
                "times": [moment(first_ms), moment(max_ms)],
                "producer": [names.shown_producer(producer), era, sequence],
                "count": count,
                "records": crc32(_of_any_epoch(whole[61:], attributes, names)),
            }
        )
        position += len(whole)
    return found
