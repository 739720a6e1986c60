"""The memory of a request or answer as objects, beyond the bytes on the wire.

A frame that names 200,000 partitions takes seven times its size once it is decoded, and as much again for
the answer about each of them while it is handled. Records are slices of the frame, which is counted already;
strings are about as large as in it, but may take four times as much. So counts of elements are enough. They
are added up by code that is generated for the message's class, as for the codecs of hot messages
(protocol/compiled.py): it looks at an array's length, and goes into its elements only if these have arrays of
their own. A request about one partition costs 0.3 us.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from protocol.schema import (
    REQUIRED,
    ArrayOf,
    Bytes,
    Declaration,
    Fixed,
    Kind,
    Records,
    Uuid,
    WireField,
    declaration,
)

Weigh = Callable[[Any, int, int], int]

LARGE_FRAME_BYTES: Final = 64 << 10
"""Frames from this size on are counted with what their strings may take at worst."""

TEXT_FACTOR: Final = 4
"""The memory of a string against its UTF-8 bytes at worst: one character beyond U+FFFF widens all others."""

WORK_FACTOR: Final = 2
"""The memory of elements in work against the decoded ones alone: a handler has its own view of each, and its
part of the answer.

Measured at a request of 199,000 elements, in bytes for each, with its part of the frame: Fetch 680, Metadata
412, ListOffsets 342, OffsetCommit 332. Decoded alone, a partition of Fetch takes 209."""

OBJECT_BYTES: Final = 40
"""An object with slots, with its head for the garbage collector and its place in a list, without slots."""

SLOT_BYTES: Final = 8

NUMBER_BYTES: Final = 32

TEXT_BYTES: Final = 56
"""A string or bytes, without the content."""

VIEW_BYTES: Final = 200
"""A memoryview, as for records."""

LIST_BYTES: Final = 64

_weighs: dict[type[Any], Weigh] = {}


EVERYTHING: Final = 1 << 62


def message_weight(message: object, frame_bytes: int, enough: int = EVERYTHING) -> int:
    """Return the bytes that a message takes while it is in work, beyond those of its frame.

    Of one that takes more than `enough` it is a number above that.
    """
    cls = message.__class__
    return (_weighs.get(cls) or _make_weigh(cls))(message, frame_bytes, enough // WORK_FACTOR)


def prepare_weight(cls: type[Any]) -> None:
    """Write the code that weighs messages of a class, if it is not there."""
    if cls not in _weighs:
        _make_weigh(cls)


def _make_weigh(cls: type[Any]) -> Weigh:
    declared = declaration(cls)
    lines = ["def weigh(request, frame_bytes, enough):", "    weight = 0", *_lines(declared, "request", 1)]
    if not _has_records(declared):
        lines.append(f"    if frame_bytes >= {LARGE_FRAME_BYTES}:")
        lines.append(f"        return weight * {WORK_FACTOR} + frame_bytes * {TEXT_FACTOR - 1}")
    lines.append(f"    return weight * {WORK_FACTOR}")
    scope: dict[str, Any] = {}
    exec(compile("\n".join(lines), f"<weight of {cls.__name__}>", "exec"), scope)  # noqa: S102  (our own text)
    weigh: Weigh = scope["weigh"]
    _weighs[cls] = weigh
    return weigh


def _has_records(declared: Declaration) -> bool:
    kinds = [
        field.kind.element if isinstance(field.kind, ArrayOf) else field.kind for field in declared.fields
    ]
    return any(
        kind is Records or (isinstance(kind, type) and _has_records(declaration(kind))) for kind in kinds
    )


def _lines(declared: Declaration, name: str, depth: int) -> Iterator[str]:
    """Yield the lines of code that add up the arrays of the object called `name`."""
    indent = "    " * depth
    for field in declared.fields:
        if isinstance(field.kind, type):
            yield from _struct_lines(field.kind, f"{name}.{field.name}", depth)
        if not isinstance(field.kind, ArrayOf):
            continue
        array = f"array_{depth}"
        yield f"{indent}{array} = {name}.{field.name}"
        yield f"{indent}if {array}:"
        yield f"{indent}    weight += len({array}) * {element_bytes(field.kind.element)}"
        element = field.kind.element
        if not isinstance(element, type):
            continue
        inner = list(_lines(declaration(element), f"item_{depth}", depth + 2))
        if inner:
            yield f"{indent}    if weight > enough:"
            yield f"{indent}        return weight * {WORK_FACTOR}"
            yield f"{indent}    for item_{depth} in {array}:"
            yield from inner


def _struct_lines(kind: type[Any], name: str, depth: int) -> Iterator[str]:
    """Yield the same for a structure that is a field by itself, and may be null."""
    inner = list(_lines(declaration(kind), f"struct_{depth}", depth + 1))
    if inner:
        indent = "    " * depth
        yield f"{indent}struct_{depth} = {name}"
        yield f"{indent}if struct_{depth} is not None:"
        yield from inner


def element_bytes(kind: Kind) -> int:
    """Return the memory of one element of an array, as decoded, without what its own arrays hold."""
    if not isinstance(kind, type):
        return SLOT_BYTES + _value_bytes(kind)
    fields = declaration(kind).fields
    return OBJECT_BYTES + SLOT_BYTES * (len(fields) + 1) + sum(map(_field_bytes, fields))


def _field_bytes(field: WireField) -> int:
    """Return the memory of a field's value: all fields with the default share one."""
    if field.default is REQUIRED:
        return _value_bytes(field.kind)
    return 0 if field.tag is not None else _value_bytes(field.kind) // 2


def _value_bytes(kind: Kind) -> int:
    if isinstance(kind, ArrayOf):
        return LIST_BYTES
    if isinstance(kind, type):
        return element_bytes(kind)
    if kind is Records:
        return VIEW_BYTES
    if kind is Uuid:
        return OBJECT_BYTES + 2 * NUMBER_BYTES
    if isinstance(kind, Fixed):
        return NUMBER_BYTES if kind.size_bytes > 1 else 0
    return LIST_BYTES if kind is Bytes else TEXT_BYTES
