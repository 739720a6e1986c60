"""Schemas as a registry has them, made into what decodes values."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from registry.errors import NotOfSchema, SchemaProblem
from registry.schemas import REFERENCES_MAX, load
from tests.registry.descriptors import field, file, message, part

ITEM = {"type": "record", "name": "Item", "fields": [{"name": "name", "type": "string"}]}
ORDER = {"type": "record", "name": "Order", "fields": [{"name": "item", "type": "Item"}]}
PROTO_ITEM = b64encode(file(message("Item", field(1, "name", 9)))).decode()
PROTO_ORDER = b64encode(file(message("Order", field(1, "item", 11, ".shop.Item")))).decode()


def needs(subject: str, version: int = 1) -> list[dict[str, Any]]:
    return [{"name": subject, "subject": subject, "version": version}]


PAGES: dict[str, Any] = {
    "schemas/ids/1": {"schemaType": "JSON", "schema": "{}"},
    "schemas/ids/2": {"schema": json.dumps(ORDER), "references": needs("item/value", 3)},
    "subjects/item%2Fvalue/versions/3": {"id": 20, "schema": json.dumps(ITEM)},
    "schemas/ids/3": {"schemaType": "PROTOBUF", "schema": "syntax …", "references": needs("item.proto")},
    "schemas/ids/3?format=serialized": {"schemaType": "PROTOBUF", "schema": PROTO_ORDER},
    "subjects/item.proto/versions/1": {"id": 30, "schemaType": "PROTOBUF", "schema": "syntax …"},
    "schemas/ids/30?format=serialized": {"schemaType": "PROTOBUF", "schema": PROTO_ITEM},
    "schemas/ids/4": {"schema": "{"},
    "schemas/ids/5": {"schemaType": "PROTOBUF", "schema": 'syntax = "proto3";'},
    "schemas/ids/6": {"schemaType": "THRIFT", "schema": ""},
    "schemas/ids/7": {"schema": '"gone.Item"', "references": needs("gone")},
    "schemas/ids/8": {"schemaType": "AVRO"},
    "schemas/ids/9": [],
    "schemas/ids/10": {"schema": '"long"', "references": [{"subject": "x"}]},
    **{
        f"subjects/s{at}/versions/1": {"id": at, "schema": '"long"', "references": needs(f"s{at + 1}")}
        for at in range(REFERENCES_MAX + 1)
    },
    "schemas/ids/11": {"schema": '"long"', "references": needs("s0")},
    "subjects/self/versions/1": {"id": 12, "schema": '"long"', "references": needs("self")},
    "schemas/ids/12": {"schema": '"long"', "references": needs("self")},
}


@pytest.mark.parametrize(
    ("identity", "payload", "value"),
    [
        (1, b' {"a":1}', b' {"a":1}'),
        (2, b"\x0a" + "grün".encode(), '{"item":{"name":"grün"}}'.encode()),
        (3, b"\0" + part(1, part(1, "tea")), b'{"item":{"name":"tea"}}'),
        (12, b"\2", b"1"),
    ],
)
def test_a_payload_becomes_json(identity: int, payload: bytes, value: bytes) -> None:
    decode = load(identity, PAGES.get)
    assert decode is not None
    assert decode(payload) == value


def test_an_unknown_schema_is_none() -> None:
    assert load(99, PAGES.get) is None


@pytest.mark.parametrize(
    ("identity", "payload"), [(1, b"{"), (1, b""), (1, b"[" * 100_000), (2, b"\x0a"), (3, b"\0\xff")]
)
def test_a_payload_that_is_not_of_its_schema_is_told(identity: int, payload: bytes) -> None:
    decode = load(identity, PAGES.get)
    assert decode is not None
    with pytest.raises(NotOfSchema):
        decode(payload)


@pytest.mark.parametrize(
    ("identity", "sentence"),
    [
        (4, "JSONDecodeError"),
        (5, "gives the text of a .proto file only"),
        (6, "it is of the type 'THRIFT'; known are"),
        (7, "refers to version 1 of 'gone', which is not there"),
        (8, "KeyError: 'schema'"),
        (9, "AttributeError"),
        (10, "KeyError: 'version'"),
        (11, "refers to more than 200 schemas"),
    ],
)
def test_a_schema_that_cannot_be_used_is_told(identity: int, sentence: str) -> None:
    with pytest.raises(SchemaProblem, match=sentence):
        load(identity, PAGES.get)
