"""The common ground of both codecs: varints, UUIDs, tagged fields, payloads, and the text of every complaint.

`reference.py` and the code that `compiled.py` generates must agree in bytes, values and errors; what they do
alike is written once, here. A complaint's position is that of the first byte that could not be used: for a
length that promises too much, the byte after the length.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, Protocol
from uuid import UUID, SafeUUID

from protocol.errors import Malformed, TooManyElements, Unencodable, UnsupportedField
from protocol.parts import parts_of

STRING_SIZE_MAX: Final = 32_767
"""The limit for bytes in a string: Kafka keeps that of its old int16 length in flexible versions too."""

TAGS_MAX: Final = 64
"""The limit for tagged fields in one struct. Kafka's own messages have at most six."""

JOINED_SIZE_MAX: Final = 1_024
"""Record payloads up to this size are copied next to their neighbours: one more buffer to send costs more."""


class Part(Protocol):
    """A payload that lies elsewhere, such as a range of a file: opaque here, sent by the connection."""

    @property
    def size_bytes(self) -> int:
        """The number of bytes that will be sent."""
        ...


Buffer = bytes | bytearray | memoryview | Part
"""One piece of an encoded message."""


class RecordParts:
    """The value of a `Records` field whose batches lie in several places: sent in order, never copied."""

    __slots__ = ("parts", "size_bytes")

    def __init__(self, parts: Sequence[Buffer], size_bytes: int) -> None:
        self.parts = parts
        self.size_bytes = size_bytes

    def __repr__(self) -> str:
        return f"RecordParts({len(self.parts)} parts, {self.size_bytes} bytes)"


BYTES_LIKE: Final = (bytes, bytearray, memoryview)


# --- complaints ---------------------------------------------------------------------------------------------


def too_short(position: int, field: str, size_bytes: int, left: int) -> Malformed:
    """Return the error for input that ends inside a value of fixed size."""
    return Malformed(position, field, f"needs {size_bytes} more bytes; {left} are left")


def bad_length(position: int, field: str, length: int, left: int) -> Malformed:
    """Return the error for an impossible length of a string, byte field or record set; -1 stands for null."""
    if length == -1:
        return Malformed(position, field, "is null where a value is required")
    if length < 0:
        return Malformed(position, field, f"has length {length}")
    return Malformed(position, field, f"claims {length} bytes; {left} are left")


def cut_text(text: str, size_bytes: int) -> str:
    """Return the text, or as much of its beginning as has this size in UTF-8."""
    if len(text) * 4 <= size_bytes:
        return text
    data = text.encode()
    return text if len(data) <= size_bytes else str(data[:size_bytes], "utf-8", "ignore")


def bad_string(position: int, field: str, length: int, left: int) -> Malformed:
    """Return the same for a string, which has a limit of its own."""
    if length > STRING_SIZE_MAX:
        return Malformed(position, field, f"claims {length} bytes; a string has at most {STRING_SIZE_MAX}")
    return bad_length(position, field, length, left)


def bad_count(position: int, field: str, count: int, least_size_bytes: int, left: int) -> Malformed:
    """Return the error for an impossible number of array elements; -1 stands for null."""
    if count < 0:
        return bad_length(position, field, count, left)
    return Malformed(
        position, field, f"claims {count} elements of {least_size_bytes} bytes or more; {left} bytes are left"
    )


def too_many(position: int, field: str, limit: int) -> TooManyElements:
    """Return the error for more array elements and unknown tags than one message may hold."""
    return TooManyElements(position, field, f"brings the message above {limit} elements")


def bad_text(position: int, field: str, reason: str) -> Malformed:
    """Return the error for a string that is not UTF-8."""
    return Malformed(position, field, f"is not valid UTF-8: {reason}")


def bad_presence(position: int, field: str, marker: int) -> Malformed:
    """Return the error for a struct's presence marker that is neither 1 nor an allowed -1 (null)."""
    return Malformed(position, field, f"has presence marker {marker}, expected 1 or, for null, -1")


def unfit(field: str, kind: object, value: object) -> Unencodable:
    """Return the error for a value that does not fit its kind."""
    shown = f"{type(value).__name__} of {len(value)} bytes" if isinstance(value, BYTES_LIKE) else repr(value)
    return Unencodable(field, f"{shown} does not fit {kind!r}")


def misplaced(field: str, version: int, value: object) -> UnsupportedField:
    """Return the error for a value that was set but that this version does not carry."""
    return UnsupportedField(field, f"{value!r} is set; version {version} has no such field")


# --- varints and UUIDs --------------------------------------------------------------------------------------


def read_uvarint(data: memoryview, position: int, field: str) -> tuple[int, int]:
    """Return an unsigned varint of at most 32 bits and the position after it.

    At most five bytes are read, so a run of continuation bits costs nothing. Longer forms than needed are
    accepted, as in Kafka. The loop is unrolled: the length of every record batch is read here.
    """
    try:
        value = data[position]
        if value < 0x80:
            return value, position + 1
        byte = data[position + 1]
        if byte < 0x80:
            return value & 0x7F | byte << 7, position + 2
        value = value & 0x7F | (byte & 0x7F) << 7
        byte = data[position + 2]
        if byte < 0x80:
            return value | byte << 14, position + 3
        value |= (byte & 0x7F) << 14
        byte = data[position + 3]
        if byte < 0x80:
            return value | byte << 21, position + 4
        value |= (byte & 0x7F) << 21
        byte = data[position + 4]
        if byte < 0x10:
            return value | byte << 28, position + 5
    except IndexError:
        raise too_short(len(data), field, 1, 0) from None
    raise Malformed(position + 4, field, "has a varint of more than 32 bits")


def write_uvarint(out: bytearray, value: int) -> None:
    """Append `value` as an unsigned varint, seven bits a byte, lowest first."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


_HEADS: Final = [bytes((length + 1,)) for length in range(0x7F)]
"""The lengths of compact strings that take one byte."""

_short = struct.Struct(">h").pack


def write_strings(out: bytearray, texts: Iterable[str]) -> None:
    """Append strings, each after its length in two bytes, without a line of Python for each.

    Raises: struct.error for one that is too long, TypeError for what is no string.
    """
    data = [*map(str.encode, texts)]
    out += b"".join(chain.from_iterable(zip(map(_short, map(len, data)), data, strict=True)))


def write_compact_strings(out: bytearray, texts: Iterable[str]) -> None:
    """Append compact strings, each after its length as a varint, most often without a line for each.

    Raises: TypeError for one that is too long, and for what is no string.
    """
    if isinstance(texts, ReadyStrings):
        out += texts.compact
        return
    data = [*map(str.encode, texts)]
    sizes = [*map(len, data)]
    longest = max(sizes, default=0)
    if longest < len(_HEADS):
        out += b"".join(chain.from_iterable(zip(map(_HEADS.__getitem__, sizes), data, strict=True)))
        return
    if longest > STRING_SIZE_MAX:
        raise TypeError(longest)
    for size, text in zip(sizes, data, strict=True):
        write_uvarint(out, size + 1)
        out += text


class ReadyStrings(list[str]):
    """Strings that must not change, with the bytes of `write_compact_strings`, which are made with it."""

    def __init__(self, texts: Iterable[str]) -> None:
        super().__init__(texts)
        made = bytearray()
        for part in parts_of(self):
            write_compact_strings(made, part)
        self.compact = bytes(made)


_UUIDS: dict[bytes, UUID] = {}
_UUIDS_MAX: Final = 16_384
"""The number of ids kept. Topic ids recur in every request; making a UUID costs ten times a look-up."""

_new_uuid = object.__new__
_set_attribute = object.__setattr__


def uuid_of(raw: bytes) -> UUID:
    """Return the UUID of 16 big-endian bytes."""
    found = _UUIDS.get(raw)
    if found is None:
        if len(_UUIDS) >= _UUIDS_MAX:
            _UUIDS.clear()  # Cheaper than an order of use; so many topics are not in use at once.
        found = _new_uuid(UUID)
        _set_attribute(found, "int", int.from_bytes(raw, "big"))
        _set_attribute(found, "is_safe", SafeUUID.unknown)
        _UUIDS[bytes(raw)] = found
    return found


# --- tagged fields ------------------------------------------------------------------------------------------

Reader = Callable[[Any, int, int], tuple[Any, int, int]]
"""The reader of one value: (data, position, elements left) -> (value, position, elements left)."""


def read_tags(
    data: memoryview,
    position: int,
    count: int,
    left: int,
    *,
    target: Any,
    known: Mapping[int, tuple[str, Reader]],
    path: str,
    elements_max: int,
) -> tuple[int, int]:
    """Read `count` tagged fields into `target`: known ones as attributes, others into its `unknown_tags`.

    The tags must ascend, which rules out repeats; each field must fill exactly the size that it announces.
    Source: KIP-482.
    """
    field = f"{path}.unknown_tags"
    if count > TAGS_MAX:
        raise Malformed(position, field, f"claims {count} tagged fields; at most {TAGS_MAX} are allowed")
    left -= count
    if left < 0:
        raise too_many(position, field, elements_max)
    unknown: dict[int, bytes] = {}
    previous = -1
    for _ in range(count):
        tag, position = read_uvarint(data, position, field)
        if tag <= previous:
            raise Malformed(position, field, f"has tag {tag} after tag {previous}; they must ascend")
        previous = tag
        size, position = read_uvarint(data, position, field)
        stop = position + size
        if stop > len(data):
            raise bad_length(position, field, size, len(data) - position)
        if tag not in known:
            unknown[tag] = bytes(data[position:stop])
            position = stop
            continue
        name, read = known[tag]
        value, position, left = read(data, position, left)
        if position != stop:
            raise Malformed(
                position, f"{path}.{name}", f"takes {size + position - stop} bytes; its tag announces {size}"
            )
        setattr(target, name, value)
    if unknown:
        target.unknown_tags = unknown
    return position, left


def write_tags(out: bytearray, tags: Mapping[int, bytes]) -> None:
    """Append tagged fields, given with their encoded values, in ascending order."""
    if len(tags) == 1:
        # As structs in long arrays have them.
        ((tag, value),) = tags.items()
        if tag < 128 and len(value) < 128:
            out += bytes((1, tag, len(value)))
            out += value
            return
    write_uvarint(out, len(tags))
    for tag in sorted(tags):
        write_uvarint(out, tag)
        write_uvarint(out, len(tags[tag]))
        out += tags[tag]


# --- record payloads ----------------------------------------------------------------------------------------


def records_size_bytes(records: Any) -> int:
    """Return how many bytes the value of a `Records` field takes, without its length."""
    return records.size_bytes if records.__class__ is RecordParts else len(records)


def put_records(buffers: list[Buffer], records: Any) -> bytearray:
    """Add a payload after the last of `buffers`, which is being written; return the buffer to continue in.

    Raises: TypeError for a value that is not a payload.
    """
    out = buffers[-1]
    assert isinstance(out, bytearray)
    if records.__class__ is not RecordParts:
        if records.__class__ is not memoryview and not isinstance(records, BYTES_LIKE):
            raise TypeError(records)
        if len(records) <= JOINED_SIZE_MAX:
            out += records
            return out
        buffers.append(records)
    elif not records.size_bytes:
        return out
    else:
        buffers.extend(records.parts)
    out = bytearray()
    buffers.append(out)
    return out
