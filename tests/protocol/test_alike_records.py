"""Keys of records that are alike are those that are found one after the other."""

from __future__ import annotations

from random import Random

import pytest

from protocol.alike_records import LEAST, alike
from protocol.errors import Malformed
from protocol.record_reader import Record, open_batch, record_heads, record_keys
from protocol.record_writer import encode_batch


def opened(*rows: tuple[bytes | None, bytes], step_ms: int = 1) -> tuple[object, bytes]:
    records = [
        Record(number, 10_000 + number * step_ms, key, value) for number, (key, value) in enumerate(rows)
    ]
    header, body = open_batch(encode_batch(records))
    return header, body


def test_records_of_one_size_are_found_at_once_up_to_where_their_shape_changes() -> None:
    _, body = opened(*((b"key-%03d" % number, b"v" * 90) for number in range(300)))
    keys, end = alike(body, 0, 300) or ([], 0)
    assert keys == [b"key-%03d" % number for number in range(64)], "then offset deltas have two bytes"
    more, last = alike(body, end, 236) or ([], 0)
    assert keys + more == [b"key-%03d" % number for number in range(300)]
    assert last == len(body)
    assert len((alike(body, 0, 20) or ([], 0))[0]) == 20


@pytest.mark.parametrize(
    "rows",
    [
        [(None, b"v")] * 20,
        [(b"k" * 64, b"v")] * 20,
        [(b"k", b"v" * (number % 2)) for number in range(20)],
        [(b"k" * (1 + number % 2), b"v" * (2 - number % 2)) for number in range(20)],
        [(b"k", b"v")] * (LEAST - 1),
        [(b"k", b"v" * 20_000)] * 20,
    ],
)
def test_other_records_are_left_to_others(rows: list[tuple[bytes | None, bytes]]) -> None:
    assert alike(opened(*rows)[1], 0, len(rows)) is None


@pytest.mark.parametrize("seed", range(300))
def test_keys_are_those_of_a_walk_over_the_records_whole_or_broken(seed: int) -> None:
    random = Random(seed)
    rows: list[tuple[bytes | None, bytes]] = []
    while len(rows) < random.choice((5, 100, 300)):
        size, length = random.choice((0, 1, 7, 63, 64, 200)), random.choice((0, 3, 100, 9_000))
        key = None if random.random() < 0.1 else random.randbytes(size)
        rows += [
            (None if key is None else random.randbytes(size), random.randbytes(length))
            for _ in range(random.choice((1, 3, 12, 70)))
        ]
    header, body = opened(*rows, step_ms=random.choice((0, 1, 40, 90_000)))
    assert record_keys(header, body) == [key for key, _ in rows]  # type: ignore[arg-type]
    broken = bytearray(body)
    for _ in range(random.choice((1, 4))):
        broken[random.randrange(len(broken))] ^= 1 << random.randrange(8)
    walked = walked_keys(header, bytes(broken))
    try:
        found = record_keys(header, bytes(broken))  # type: ignore[arg-type]
    except Malformed:
        assert walked is None
    else:
        assert walked is None or found == walked


def walked_keys(header: object, body: bytes) -> list[bytes | None] | None:
    """Return the keys as the heads of the records tell them; None if they cannot be read."""
    keys: list[bytes | None] = []
    try:
        for _, _, at, end in record_heads(header, body):  # type: ignore[arg-type]
            length, place = 0, at
            for shift in range(0, 35, 7):
                length |= (body[place] & 127) << shift
                place += 1
                if body[place - 1] < 128:
                    break
            length = length >> 1 ^ -(length & 1)
            if length >= 0 and place + length >= end:
                return None
            keys.append(None if length < 0 else body[place : place + length])
    except (Malformed, IndexError):
        return None
    return keys
