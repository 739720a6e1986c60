"""The schemas of a registry, made into functions that read values as JSON.

    GET /schemas/ids/ID    {"schemaType": "AVRO" | "JSON" | "PROTOBUF", "schema": text,
                            "references": [{"subject": …, "version": …}]}

A schema never changes under its id.  The payload of a JSON schema is JSON; whether it is of its schema is the
producer's business.  Protobuf's schemas are asked for as serialised descriptors (`?format=serialized`).

Source: Confluent's documentation of the API.
"""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

import msgspec

from registry.avro import AvroReader
from registry.errors import NotOfSchema, SchemaProblem
from registry.protobuf import ProtobufReader

Ask = Callable[[str], Any]
"""Returns the JSON at a path of the registry, None where there is nothing.  Raises: Unreachable."""

Decode = Callable[[bytes], bytes]
"""Returns the JSON of a payload.  Raises: NotOfSchema, SchemaProblem."""

REFERENCES_MAX: Final = 200
"""The schemas that one may refer to, over all levels: each is a request."""

_SERIALIZED: Final = "?format=serialized"
_encode = msgspec.json.encode
_check_json = msgspec.json.Decoder(msgspec.Raw).decode


def load(identity: int, ask: Ask) -> Decode | None:
    """Return what decodes the values of a schema; None: the registry does not know it.

    Raises: Unreachable, SchemaProblem.
    """
    path = f"schemas/ids/{identity}"
    found = ask(path)
    if found is None:
        return None
    try:
        kind = found.get("schemaType", "AVRO")
        if kind == "JSON":
            return _json
        if kind == "AVRO":
            texts = [json.loads(text) for text in _referred(found, ask, "")]
            return _by(AvroReader(json.loads(found["schema"]), texts).read)
        if kind == "PROTOBUF":
            files = [_file(text) for text in _referred(found, ask, _SERIALIZED)]
            again = ask(path + _SERIALIZED)
            return _by(ProtobufReader(_file((again or found)["schema"]), files).read)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, SchemaProblem):
            raise
        raise SchemaProblem(f"{type(error).__name__}: {error}") from error
    raise SchemaProblem(f"it is of the type {kind!r}; known are AVRO, JSON and PROTOBUF")


def _json(payload: bytes) -> bytes:
    try:
        _check_json(payload)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise NotOfSchema(f"not JSON: {error}") from error
    return payload


def _by(read: Callable[[bytes], Any]) -> Decode:
    def decode(payload: bytes) -> bytes:
        try:
            return _encode(read(payload))
        except (RecursionError, OverflowError, UnicodeError, msgspec.MsgspecError) as error:
            raise NotOfSchema(f"it cannot be written as JSON: {error}") from error

    return decode


def _referred(schema: dict[str, Any], ask: Ask, form: str) -> list[str]:
    """Return the texts of the schemas that a schema refers to, those that they need before them."""
    texts: dict[tuple[str, int], str] = {}

    def visit(references: list[dict[str, Any]]) -> None:
        for reference in references:
            place = (str(reference["subject"]), int(reference["version"]))
            if place in texts:
                continue
            if len(texts) >= REFERENCES_MAX:
                raise SchemaProblem(f"it refers to more than {REFERENCES_MAX} schemas")
            texts[place] = ""
            told = ask(f"subjects/{quote(place[0], safe='')}/versions/{place[1]}")
            if told is None:
                raise SchemaProblem(f"it refers to version {place[1]} of {place[0]!r}, which is not there")
            visit(told.get("references") or [])
            if form:
                told = ask(f"schemas/ids/{int(told['id'])}{form}") or told
            # Put after those that it needs.
            del texts[place]
            texts[place] = told["schema"]

    visit(schema.get("references") or [])
    return list(texts.values())


def _file(text: str) -> bytes:
    """Return a serialised FileDescriptorProto.  Raises: SchemaProblem."""
    try:
        return b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SchemaProblem(
            "the registry gives the text of a .proto file only; Protobuf needs one that answers to"
            f" {_SERIALIZED[1:]}"
        ) from error
