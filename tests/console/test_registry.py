"""Framed keys and values as `kawal consume` shows them."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from console.errors import CommandError, UsageError
from console.registry import Registry
from registry.errors import Unreachable

URL = "http://registry:8081"
PAGES = {
    "schemas/ids/1": {"schemaType": "JSON", "schema": "{}"},
    "schemas/ids/2": {"schema": json.dumps("string")},
    "schemas/ids/4": {"schema": "{"},
}


def framed(identity: int, payload: bytes) -> bytes:
    return struct.pack(">bi", 0, identity) + payload


@pytest.fixture
def registry() -> Registry:
    return Registry(f"{URL}/", PAGES.get)


def test_framed_values_become_json(registry: Registry) -> None:
    assert registry.decoded(framed(1, b'{"a":1}')) == b'{"a":1}'
    assert registry.decoded(framed(2, b"\x06tea")) == b'"tea"'


@pytest.mark.parametrize("data", [None, b"", b"\0\0\0", b'{"a":1}', framed(99, b"x")])
def test_everything_else_stays_as_it_is(data: bytes | None, registry: Registry) -> None:
    assert registry.decoded(data) == data


def test_each_schema_is_asked_for_once() -> None:
    asked: list[str] = []

    def ask(path: str) -> Any:
        asked.append(path)
        return PAGES.get(path)

    registry = Registry(URL, ask)
    for _ in range(3):
        registry.decoded(framed(1, b"{}"))
        registry.decoded(framed(99, b"{}"))
    assert len(asked) == 2


def test_what_is_wrong_is_told_in_a_sentence(registry: Registry) -> None:
    with pytest.raises(CommandError, match="a value with schema 2 of http://registry:8081 is not of it"):
        registry.decoded(framed(2, b"\x0a"))
    with pytest.raises(CommandError, match="schema 4 of http://registry:8081 cannot be read"):
        registry.decoded(framed(4, b""))

    def away(_path: str) -> Any:
        raise Unreachable("cannot reach the schema registry")

    with pytest.raises(CommandError, match="cannot reach the schema registry"):
        Registry(URL, away).decoded(framed(1, b""))


@pytest.mark.parametrize("url", ["localhost:8081", "file:///etc/passwd", "http://"])
def test_an_address_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is not an address such as"):
        Registry(url)
