"""Generated codecs do what the reference codec does: in bytes, values and errors, in all versions."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.compiled import compile_decoder, compile_encoder
from protocol.errors import Malformed, Unencodable
from protocol.schema import declaration
from protocol.wire import joined, reference_codec
from tests.strategies import MESSAGE_VERSIONS, messages, name_of, random_message

HOT = [(cls, version) for cls, version in MESSAGE_VERSIONS if declaration(cls).hot]


def outcome_of(decode: Any, data: bytes) -> object:
    """Return the outcome of decoding: a message and the position after it, or the complaint."""
    try:
        return decode(memoryview(data), 0)
    except Malformed as error:
        return error.position, error.field, error.problem


def refusal_of(encode: Any, message: Any) -> object:
    """Return the bytes of a message, or the reason why it cannot be encoded."""
    try:
        return joined(encode(message))
    except Unencodable as error:
        return type(error), error.field, error.problem


def damaged(data: bytes, chance: Random) -> bytes:
    """Return `data` cut, changed in some bytes, or with a lie in place of a length."""
    out = bytearray(data)
    at = chance.randrange(len(out) + 1)
    match chance.randrange(4):
        case 0:
            del out[at:]
        case 1:
            out[at : at + 1] = chance.randbytes(1)
        case 2:
            lies = (
                b"\xff\xff\xff\xff",
                b"\x7f\xff\xff\xff",
                b"\xff\xff\xff\xff\x0f",
                b"\xff\xff\xff\xff\xff",
            )
            out[at:at] = chance.choice(lies)
        case _:
            for _ in range(3):
                out[at : at + 1] = bytes([chance.choice([0, 1, 2, 0x7F, 0x80, 0xFF])])
                at = chance.randrange(len(out) + 1)
    return bytes(out)


@pytest.mark.parametrize(("cls", "version"), HOT, ids=name_of)
def test_hot_messages_are_equal_in_bytes_values_and_errors(cls: type[Any], version: int) -> None:
    reference = reference_codec(cls, version)
    decode, encode = compile_decoder(cls, version), compile_encoder(cls, version)

    @settings(max_examples=10, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(message=messages(cls, version), seed=st.integers(0, 2**32))
    def equal(message: Any, seed: int) -> None:
        data = joined(encode(message))
        assert data == joined(reference.encode(message))
        assert decode(data, 0) == reference.decode(data) == (message, len(data))
        chance = Random(seed)
        for _ in range(20):
            bad = damaged(data, chance)
            assert outcome_of(decode, bad) == outcome_of(reference.decode, bad), bad.hex()

    equal()


@pytest.mark.parametrize(("cls", "version"), MESSAGE_VERSIONS, ids=name_of)
def test_any_message_could_be_hot(cls: type[Any], version: int) -> None:
    reference = reference_codec(cls, version)
    decode, encode = compile_decoder(cls, version), compile_encoder(cls, version)
    chance = Random(f"{cls.__name__} {version}")
    for _ in range(5):
        message = random_message(cls, version, chance)
        data = joined(encode(message))
        assert data == joined(reference.encode(message))
        assert decode(data, 0) == reference.decode(data) == (message, len(data))
        for _ in range(20):
            bad = damaged(data, chance)
            assert outcome_of(decode, bad) == outcome_of(reference.decode, bad), bad.hex()


@pytest.mark.parametrize(("cls", "version"), MESSAGE_VERSIONS, ids=name_of)
def test_wrong_values_are_refused_alike(cls: type[Any], version: int) -> None:
    reference, encode = reference_codec(cls, version), compile_encoder(cls, version)
    chance = Random(f"{cls.__name__} {version}")
    for field in declaration(cls).fields:
        for wrong in (None, 2**80, "x" * 40_000, "\ud800", object, [None], [2**80], {1: b""}, [1, 2]):
            message = random_message(cls, version, chance)
            setattr(message, field.name, wrong)
            assert refusal_of(encode, message) == refusal_of(reference.encode, message)
