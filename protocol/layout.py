"""The layout of a message in one version: its fields in order, and the fewest bytes that they can take.

Both codecs are built from a layout, once per message and version; the version ranges of a declaration are
resolved here and nowhere else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from protocol.schema import REQUIRED, ArrayOf, Fixed, Kind, String, WireField, declaration


class Field(NamedTuple):
    """A field as one version carries it."""

    name: str
    kind: Kind
    nullable: bool
    default: Any
    tag: int | None
    layout: Layout | None  # of the struct, or of the struct that an array holds


class Layout(NamedTuple):
    """A message or struct in one version: the fields that are written, in order, and those left out."""

    cls: type[Any]
    flexible: bool
    plain: tuple[Field, ...]
    tagged: tuple[Field, ...]
    absent: tuple[WireField, ...]
    least_size_bytes: int


def layout(cls: type[Any], version: int) -> Layout:
    """Return message `cls` with all its version ranges resolved for `version`."""
    return _layout(cls, version, version in declaration(cls).flexible)


def _layout(cls: type[Any], version: int, flexible: bool) -> Layout:
    plain: list[Field] = []
    tagged: list[Field] = []
    absent: list[WireField] = []
    for field in declaration(cls).fields:
        if version not in field.versions:
            assert field.default is not REQUIRED, (
                f"{cls.__name__}.{field.name} needs a default for v{version}"
            )
            absent.append(field)
            continue
        inner = field.kind.element if isinstance(field.kind, ArrayOf) else field.kind
        found = Field(
            field.name,
            field.kind,
            version in field.nullable,
            field.default,
            field.tag,
            _layout(inner, version, flexible) if isinstance(inner, type) else None,
        )
        (plain if field.tag is None else tagged).append(found)
    assert flexible or not tagged, f"{cls.__name__} v{version} has tagged fields but is not flexible"
    tagged.sort(key=lambda field: field.tag or 0)
    least = sum(least_size_bytes(field, flexible) for field in plain) + int(flexible)
    return Layout(cls, flexible, tuple(plain), tuple(tagged), tuple(absent), least)


def least_size_bytes(field: Field, flexible: bool) -> int:
    """Return the fewest bytes that a value of this field can take."""
    kind = field.kind
    if isinstance(kind, Fixed):
        return kind.size_bytes
    if isinstance(kind, type):
        assert field.layout is not None
        return 1 if field.nullable else field.layout.least_size_bytes
    if flexible:
        return 1
    return 2 if kind is String else 4


def element_field(field: Field) -> Field:
    """Return one element of an array field as a field: never null, and without a name of its own."""
    assert isinstance(field.kind, ArrayOf)
    return Field(field.name, field.kind.element, False, REQUIRED, None, field.layout)
