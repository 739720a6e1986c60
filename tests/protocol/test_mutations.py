"""A hundred thousand damaged frames end in a message or in one error type, and cost little."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from random import Random
from typing import Any

import pytest

from protocol.errors import Malformed, UnsupportedVersion
from protocol.headers import decode_request_header, encode_request_header
from protocol.messages import DECLARED, request_type
from protocol.schema import declaration
from protocol.wire import decode, encode, joined
from tests.strategies import MESSAGE_VERSIONS, random_message

REQUESTS = [(cls, version) for cls, version in MESSAGE_VERSIONS if cls.__name__.endswith("Request")]
LIES = (
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff",
    b"\x80\x80\x80\x80\x10",
    b"\x7f\xff",
    b"\xff\xfe",
    bytes(4),
)


def frame_of(cls: type[Any], version: int, chance: Random) -> bytes:
    """Return a request as it would arrive, without its length."""
    api_key = declaration(cls).api
    assert api_key is not None
    header = encode_request_header(
        api_key=api_key, api_version=version, correlation_id=7, client_id="rdkafka"
    )
    return header + joined(encode(random_message(cls, version, chance), version))


def mutate(frame: bytes, chance: Random) -> bytes:
    """Return a frame with one to four faults: bits, bytes, wrong lengths, pieces lost, doubled or added."""
    out = bytearray(frame)
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(out)) if out else 0
        match chance.randrange(7):
            case 0 if out:
                out[at] ^= 1 << chance.randrange(8)
            case 1 if out:
                out[at] = chance.randrange(256)
            case 2:
                lie = chance.choice(LIES)
                out[at : at + len(lie)] = lie
            case 3:
                del out[at:]
            case 4:
                del out[at : at + chance.randrange(1, 9)]
            case 5:
                out[at:at] = out[at : at + chance.randrange(1, 40)]
            case _:
                out[at:at] = chance.randbytes(chance.randrange(1, 9))
    return bytes(out)


def receive(frame: bytes) -> str:
    """Do what a broker does with a frame; return the outcome."""
    try:
        header = decode_request_header(memoryview(frame))
        if header.api_key not in DECLARED:
            return "unknown api"
        decode(
            request_type(header.api_key),
            header.api_version,
            frame,
            header.size_bytes,
        )
    except (Malformed, UnsupportedVersion) as error:
        return type(error).__name__
    return "decoded"


@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_damaged_requests_end_in_a_message_or_a_known_error(seed: int) -> None:
    chance = Random(seed)
    ends: Counter[str] = Counter()
    for _ in range(1_000):
        frame = frame_of(*chance.choice(REQUESTS), chance)
        ends.update(receive(mutate(frame, chance)) for _ in range(10))
    assert ends.total() == 10_000
    assert set(ends) == {"decoded", "Malformed", "TooManyElements", "UnsupportedVersion", "unknown api"}


def test_noise_ends_in_a_message_or_a_known_error() -> None:
    chance = Random(0)
    for _ in range(2_000):
        cls, version = chance.choice(MESSAGE_VERSIONS)
        data = chance.choice([chance.randbytes(64), bytes(64), b"\xff" * 64, b"\x80" * 64, b"\x01" * 64])
        try:
            decode(cls, version, data)
        except Malformed:
            continue


def test_no_damaged_request_takes_much_memory() -> None:
    chance = Random(1)
    frames = [mutate(frame_of(*chance.choice(REQUESTS), chance), chance) for _ in range(2_000)]
    for frame in frames:
        receive(frame)  # This makes the codecs, which stay.
    tracemalloc.start()
    try:
        for frame in frames:
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            receive(frame)
            _, peak = tracemalloc.get_traced_memory()
            assert peak - before < 20_000 + 60 * len(frame), frame.hex()
    finally:
        tracemalloc.stop()
