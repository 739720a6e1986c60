"""Messages made up from their declarations: by Hypothesis, which shrinks, or by a seed, which is faster."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from protocol import schema
from protocol.layout import Field, Layout, element_field, layout
from protocol.messages import DECLARED, request_type, response_type
from protocol.schema import NO_TAGS, ArrayOf, Fixed, declaration

MESSAGE_TYPES = [of(api_key) for api_key in DECLARED for of in (request_type, response_type)]
"""Every message class there is."""

MESSAGE_VERSIONS = [(cls, version) for cls in MESSAGE_TYPES for version in declaration(cls).versions]
"""Every message class in each of its versions."""

FIRST_FREE_TAG = 40
"""No declaration has this tag or a higher one."""


def name_of(value: object) -> str:
    """Name a class, or a class and a version, as part of a test's name."""
    return value.__name__ if isinstance(value, type) else f"v{value}"


# --- Hypothesis ------------------------------------------------------------------------------------------


def messages(cls: type[Any], version: int) -> st.SearchStrategy[Any]:
    """Return messages of a class as one version can carry them, unknown tagged fields included."""
    return _objects(layout(cls, version))


def _objects(found: Layout) -> st.SearchStrategy[Any]:
    values = {field.name: _values(field) for field in (*found.plain, *found.tagged)}
    if found.flexible:
        tags = st.dictionaries(st.integers(FIRST_FREE_TAG, 2**32 - 1), st.binary(max_size=9), max_size=2)
        values["unknown_tags"] = st.just(NO_TAGS) | tags
    return st.builds(found.cls, **values)


def _values(field: Field) -> st.SearchStrategy[Any]:
    kind = field.kind
    values: st.SearchStrategy[Any]
    if isinstance(kind, Fixed):
        values = _FIXED[kind]
    elif isinstance(kind, type):
        assert field.layout is not None
        values = _objects(field.layout)
    elif isinstance(kind, ArrayOf):
        values = st.lists(_values(element_field(field)), max_size=2)
    else:
        values = _SIZED[kind]
    return st.none() | values if field.nullable else values


_FIXED: dict[Fixed, st.SearchStrategy[Any]] = {
    schema.Int8: st.integers(-(2**7), 2**7 - 1),
    schema.Int16: st.integers(-(2**15), 2**15 - 1),
    schema.Int32: st.integers(-(2**31), 2**31 - 1),
    schema.Int64: st.integers(-(2**63), 2**63 - 1),
    schema.UInt16: st.integers(0, 2**16 - 1),
    schema.UInt32: st.integers(0, 2**32 - 1),
    schema.Bool: st.booleans(),
    schema.Float64: st.floats(allow_nan=False),
    schema.Uuid: st.uuids(),
}
_TEXT = st.text(max_size=8) | st.sampled_from(["", "orders", "x" * 127, "ü" * 100])
_SIZED: dict[object, st.SearchStrategy[Any]] = {
    schema.String: _TEXT,
    schema.Bytes: st.binary(max_size=8) | st.just(bytes(200)),
    schema.Records: st.binary(max_size=8) | st.sampled_from([b"", bytes(127), bytes(5_000)]),
}


# --- a seed ------------------------------------------------------------------------------------------------


def random_message(cls: type[Any], version: int, chance: Random, *, tagged: float = 0.1) -> Any:
    """Return a message as one version can carry it; `tagged` of its structs have unknown tagged fields."""
    return _random_object(layout(cls, version), chance, tagged)


def _random_object(found: Layout, chance: Random, tagged: float) -> Any:
    values = {field.name: _random_value(field, chance, tagged) for field in (*found.plain, *found.tagged)}
    if found.flexible and chance.random() < tagged:
        values["unknown_tags"] = {FIRST_FREE_TAG: chance.randbytes(3), 2**20: b""}
    return found.cls(**values)


def _random_value(field: Field, chance: Random, tagged: float) -> Any:
    kind = field.kind
    if (field.nullable or field.tag is not None) and chance.random() < 0.3:
        return field.default if field.tag is not None else None
    if isinstance(kind, type):
        assert field.layout is not None
        return _random_object(field.layout, chance, tagged)
    if isinstance(kind, ArrayOf):
        element = element_field(field)
        return [_random_value(element, chance, tagged) for _ in range(chance.randrange(3))]
    return _RANDOM[kind](chance)


_RANDOM: dict[object, Any] = {
    schema.Int8: lambda chance: chance.randrange(-(2**7), 2**7),
    schema.Int16: lambda chance: chance.randrange(-(2**15), 2**15),
    schema.Int32: lambda chance: chance.randrange(-(2**31), 2**31),
    schema.Int64: lambda chance: chance.randrange(-(2**63), 2**63),
    schema.UInt16: lambda chance: chance.randrange(2**16),
    schema.UInt32: lambda chance: chance.randrange(2**32),
    schema.Bool: lambda chance: chance.random() < 0.5,
    schema.Float64: lambda chance: chance.uniform(-1e9, 1e9),
    schema.Uuid: lambda chance: UUID(int=chance.getrandbits(128)),
    schema.String: lambda chance: chance.choice(["", "orders", "ünïcode", "x" * chance.randrange(300)]),
    schema.Bytes: lambda chance: chance.randbytes(chance.choice([0, 5, 200])),
    schema.Records: lambda chance: chance.randbytes(chance.choice([0, 70, 3_000])),
}
