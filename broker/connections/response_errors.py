"""The error codes in an answer: the fields called as `FIELDS` says, whatever the message, wherever they are.

Every answer is searched, so the search is code generated for its class at the first use, as the codecs of
hot messages are (protocol/compiled.py): nested loops, 0.1 us for an answer about one partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from broker.loop.answers import EncodedAnswer
from broker.loop.call import Call
from protocol.schema import ArrayOf, Declaration, Kind, declaration

Look = Callable[[Any], list[int] | None]

FIELDS: Final = ("error_code", "partition_error_code")
"""The second is that of AddPartitionsToTxn."""

NEVER_WRONG: Final = frozenset({"MetadataResponsePartition"})
"""Structs that are not searched: one node leads all partitions, and an answer may have 100,000 of them."""

_looks: dict[type[Any], Look] = {}


def error_codes(answer: object) -> list[int] | None:
    """Return the error codes in a response message, one for each occurrence; None when there are none."""
    cls = answer.__class__
    return (_looks.get(cls) or _make_look(cls))(answer)


def errors_of(answer: object) -> list[int] | None:
    """Return the same of an answer that may be encoded already, which has no errors then."""
    return None if isinstance(answer, EncodedAnswer) else error_codes(answer)


def count_errors(call: Call[Any], response: object, counts: Mapping[int, int] | None = None) -> None:
    """Count the errors of an answer, if it has any; `counts` has how many of each there are, if known."""
    if call.errors:
        stats = call.connection.stats
        stats.failed(call.api_key, call.version, call.errors, counts)
        if stats.audit is not None:
            stats.audit.failed(call, response)


def _make_look(cls: type[Any]) -> Look:
    lines = ["def look(answer):", "    found = []", *_lines(declaration(cls), "answer", 1)]
    lines.append("    return found or None")
    scope: dict[str, Any] = {}
    exec(compile("\n".join(lines), f"<errors of {cls.__name__}>", "exec"), scope)  # noqa: S102  (our own text)
    look: Look = scope["look"]
    _looks[cls] = look
    return look


def _lines(declared: Declaration, name: str, depth: int) -> Iterator[str]:
    """Yield the lines of code that search the object called `name`."""
    indent = "    " * depth
    for field in declared.fields:
        if field.name in FIELDS:
            yield f"{indent}if {name}.{field.name}: found.append(int({name}.{field.name}))"
    for field in declared.fields:
        inner = _struct_in(field.kind)
        if inner is None or inner.cls.__name__ in NEVER_WRONG:
            continue
        item = f"item_{depth}"
        lines = list(_lines(inner, item, depth + 1))
        if lines:
            yield f"{indent}for {item} in {name}.{field.name} or ():"
            yield from lines


def _struct_in(kind: Kind) -> Declaration | None:
    """Return the struct that an array of this kind holds; structs outside of arrays carry no errors."""
    element = kind.element if isinstance(kind, ArrayOf) else None
    return declaration(element) if isinstance(element, type) else None
