"""Count the error codes that answers carry, whatever their message: the fields called `error_code`, wherever
they are declared.

A scan runs for each answer, so it is made once per class and does nothing but look: 0.1 us for an answer
about one partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Final

from protocol.schema import ArrayOf, Declaration, Kind, declaration

Errors = dict[int, int]
"""How often each error code occurred."""

Scan = Callable[[Any, Errors], None]

FIELD: Final = "error_code"

_scans: dict[type[Any], Scan] = {}


def count_errors(answer: object, errors: Errors) -> None:
    """Add the error codes of a response message to `errors`; success, 0, is not counted."""
    cls = answer.__class__
    (_scans.get(cls) or _make_scan(cls))(answer, errors)


def _make_scan(cls: type[Any]) -> Scan:
    scans = [_scan_of(path) for path in _paths(declaration(cls))]
    found = scans[0] if len(scans) == 1 else _all_of(scans)
    _scans[cls] = found
    return found


def _paths(declared: Declaration) -> Iterator[tuple[str, ...]]:
    """The arrays to walk through to each error code, from the message down."""
    if any(field.name == FIELD for field in declared.fields):
        yield ()
    for field in declared.fields:
        inner = _struct_in(field.kind)
        if inner is not None:
            yield from ((field.name, *path) for path in _paths(inner))


def _struct_in(kind: Kind) -> Declaration | None:
    """The struct that an array of this kind holds.  Structs outside of arrays carry no errors."""
    element = kind.element if isinstance(kind, ArrayOf) else None
    return declaration(element) if isinstance(element, type) else None


def _all_of(scans: list[Scan]) -> Scan:
    def scan(answer: Any, errors: Errors) -> None:
        for one in scans:
            one(answer, errors)

    return scan


def _scan_of(path: tuple[str, ...]) -> Scan:
    if not path:
        return _count
    if len(path) == 1:
        return _scan_list(attrgetter(path[0]))
    if len(path) == 2:
        return _scan_lists(attrgetter(path[0]), attrgetter(path[1]))
    inner = _scan_of(path[1:])
    outer = attrgetter(path[0])

    def scan(answer: Any, errors: Errors) -> None:
        for item in outer(answer) or ():
            inner(item, errors)

    return scan


def _scan_list(outer: attrgetter[Any]) -> Scan:
    def scan(answer: Any, errors: Errors) -> None:
        for item in outer(answer) or ():
            if item.error_code:
                _count(item, errors)

    return scan


def _scan_lists(outer: attrgetter[Any], inner: attrgetter[Any]) -> Scan:
    def scan(answer: Any, errors: Errors) -> None:
        for group in outer(answer) or ():
            for item in inner(group) or ():
                if item.error_code:
                    _count(item, errors)

    return scan


def _count(item: Any, errors: Errors) -> None:
    code = int(item.error_code)
    if code:
        errors[code] = errors.get(code, 0) + 1
