"""Framed values by the schemas of a registry."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError, URLError

import pytest

from console import registry as module
from console.errors import CommandError, UsageError
from console.registry import Registry, fetched

URL = "http://registry:8081"
ITEM = {"type": "record", "name": "Item", "fields": [{"name": "name", "type": "string"}]}
ORDER = {"type": "record", "name": "Order", "fields": [{"name": "item", "type": "Item"}]}
PAGES = {
    f"{URL}/schemas/ids/1": {"schemaType": "JSON", "schema": "{}"},
    f"{URL}/schemas/ids/2": {
        "schema": json.dumps(ORDER),
        "references": [{"name": "Item", "subject": "item/value", "version": 3}],
    },
    f"{URL}/subjects/item%2Fvalue/versions/3": {"schema": json.dumps(ITEM)},
    f"{URL}/schemas/ids/3": {"schemaType": "PROTOBUF", "schema": "syntax"},
    f"{URL}/schemas/ids/4": {"schema": "{"},
}


def framed(identity: int, payload: bytes) -> bytes:
    return struct.pack(">bi", 0, identity) + payload


@pytest.fixture
def registry() -> Registry:
    return Registry(f"{URL}/", PAGES.get)


def test_json_loses_its_frame(registry: Registry) -> None:
    assert registry.decoded(framed(1, b'{"a":1}')) == b'{"a":1}'


def test_avro_becomes_json_with_the_schemas_it_refers_to(registry: Registry) -> None:
    payload = b"\x0a" + "grün".encode()
    assert registry.decoded(framed(2, payload)) == '{"item":{"name":"grün"}}'.encode()


@pytest.mark.parametrize("data", [None, b"", b"\0\0\0", b'{"a":1}', framed(3, b"\x00x"), framed(99, b"x")])
def test_everything_else_stays_as_it_is(data: bytes | None, registry: Registry) -> None:
    assert registry.decoded(data) == data


def test_each_schema_is_asked_for_once() -> None:
    asked: list[str] = []

    def fetch(url: str) -> Any:
        asked.append(url)
        return PAGES.get(url)

    registry = Registry(URL, fetch)
    for _ in range(3):
        registry.decoded(framed(1, b"{}"))
        registry.decoded(framed(99, b"{}"))
    assert len(asked) == 2


def test_a_value_that_is_not_of_its_schema_is_told(registry: Registry) -> None:
    with pytest.raises(CommandError, match="a value with schema 2 of http://registry:8081 is not of it"):
        registry.decoded(framed(2, b"\x0a"))
    with pytest.raises(CommandError, match="schema 4 of http://registry:8081 cannot be read"):
        registry.decoded(framed(4, b""))


@pytest.mark.parametrize("url", ["localhost:8081", "file:///etc/passwd", "http://"])
def test_an_address_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is not an address such as"):
        Registry(url)


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Return a function that says what the next request is answered with."""

    def answer(found: Any) -> None:
        def urlopen(_url: str, timeout: float) -> Any:
            if isinstance(found, Exception):
                raise found
            return io.BytesIO(found)

        monkeypatch.setattr(module, "urlopen", urlopen)

    return answer


def test_a_page_is_fetched(web: Callable[[Any], None]) -> None:
    web(b'{"schema": "{}"}')
    assert fetched(URL) == {"schema": "{}"}
    web(HTTPError(URL, 404, "gone", {}, None))  # type: ignore[arg-type]
    assert fetched(URL) is None


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (HTTPError(URL, 401, "no", {}, None), "answers 401 to"),  # type: ignore[arg-type]
        (URLError("refused"), "cannot reach the schema registry at .*: refused"),
        (TimeoutError("timed out"), "cannot reach the schema registry"),
        (b"<html>", "does not answer with JSON"),
    ],
)
def test_a_registry_that_does_not_answer_is_told(
    found: Any, sentence: str, web: Callable[[Any], None]
) -> None:
    web(found)
    with pytest.raises(CommandError, match=sentence):
        fetched(URL)
