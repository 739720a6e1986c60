"""Record batches that a producer might send, and others: what they say of their records is often not so."""

from __future__ import annotations

import struct
import time
from random import Random
from typing import Any, cast

from crc32c import crc32c

from compat_tests.batches import varint
from groups import record_schemas as schemas
from protocol.compression import compress
from protocol.schema import declaration
from protocol.wire import encode
from tests.strategies import random_message

TIMES = (0, -1, -2, 1, 2**63 - 1, -(2**63), 2**62, 253_402_300_800_000)
"""Timestamps with which programs have trouble; the last is the year 10000."""

VARINTS = (
    b"\xff\xff\xff\xff\x0f",
    b"\xff" * 9 + b"\x01",
    b"\xff" * 11,
    b"\x80" * 5 + b"\x00",
    b"\x01",
    b"\x80",
    b"\xfe\xff\xff\xff\x0f",
)
"""The greatest, the least, longer than any number, and cut."""

NUMBERS = ("1" * 5_000, "-" + "9" * 400, "1e999", "-0", "1.5e-400", "0.1", "18446744073709551616", "NaN")

DOCUMENTS = (
    b"[" * 5_000,
    b'{"a":' * 3_000 + b"1" + b"}" * 3_000,
    b"{}",
    b"null",
    b'"\xff\xfe"',
    b'{"id":1,"id":2,"carrier":"TP"}',
    b'{"carrier":"\\ud800","origin":"\\u0000"}',
    b'{"carrier":"' + b"x" * 100_000 + b'"}',
    b'{"at":"9999-12-31T23:59:60Z"}',
    b'{"at":-9223372036854775809}',
    b"\xef\xbb\xbf{}",
)

KEY_TYPES: dict[int, tuple[type[Any], type[Any]]] = {
    0: (schemas.OffsetCommitKey, schemas.OffsetCommitValue),
    1: (schemas.OffsetCommitKey, schemas.OffsetCommitValue),
    2: (schemas.GroupKey, schemas.GroupMetadataValue),
    3: (schemas.GroupKey, schemas.ConsumerGroupMetadataValue),
    5: (schemas.GroupMemberKey, schemas.ConsumerGroupMemberMetadataValue),
    6: (schemas.GroupKey, schemas.ConsumerGroupTargetAssignmentMetadataValue),
    7: (schemas.GroupMemberKey, schemas.ConsumerGroupTargetAssignmentMemberValue),
    8: (schemas.GroupMemberKey, schemas.ConsumerGroupCurrentMemberAssignmentValue),
    16: (schemas.RegularExpressionKey, schemas.ConsumerGroupRegularExpressionValue),
}
"""The records of __consumer_offsets: key and value by the type in the key."""

REGEXES = ("(", "(a+)+$", "[", "a{1000}{1000}", "\\p{Foo}", "(?P<x>", ".*", "x" * 30_000, "(?i)ÿ", "\\")


def odd_batch(chance: Random, producers: list[tuple[int, int]], pairs: list[Pair] | None = None) -> bytes:
    """Return what Produce might carry for one partition."""
    now_ms = int(time.time() * 1000)
    pairs = _pairs(chance) if pairs is None else pairs
    base_ms = now_ms - chance.randrange(10_000) if chance.random() < 0.7 else chance.choice(TIMES)
    odd = chance.random() < 0.4
    payload = b"".join(
        _odd_record(chance, at, key, value) if odd and chance.random() < 0.3 else record(at, 0, key, value)
        for at, (key, value) in enumerate(pairs)
    )
    codec = chance.choice((0, 0, 1, 2, 3, 4))
    payload = _compressed(chance, codec, payload)
    count = len(pairs)
    if codec and chance.random() < 0.1:
        count = chance.choice((2**31 - 1, 1_000_000, count + 1, max(1, count - 1), 300))
    delta = count - 1 if chance.random() < 0.95 else chance.choice((0, -1, count, 2**31 - 1))
    attributes = codec | (chance.choice((8, 16, 32, 64, 0x7FC0, 56)) if chance.random() < 0.15 else 0)
    max_ms = base_ms if chance.random() < 0.6 else chance.choice((*TIMES, now_ms, now_ms + 1))
    producer = chance.choice(producers) if chance.random() < 0.3 else (-1, -1)
    sequence = chance.choice((0, 0, 1, -1, 2**31 - 1)) if producer[0] >= 0 else -1
    after_crc = (
        struct.pack(">hiqqqhii", attributes, delta, base_ms, max_ms, *producer, sequence, count) + payload
    )
    crc = crc32c(after_crc) if chance.random() < 0.97 else chance.getrandbits(32)
    magic = 2 if chance.random() < 0.97 else chance.choice((0, 1, 3, 127))
    rest = struct.pack(">ibI", chance.choice((-1, 0, 2**31 - 1)), magic, crc) + after_crc
    length = len(rest) if chance.random() < 0.97 else chance.choice((0, -1, len(rest) + 1, 2**31 - 1, 14, 49))
    batch = struct.pack(">qi", 0 if chance.random() < 0.97 else chance.choice((1, -1)), length) + rest
    if chance.random() < 0.03:
        return batch * 2
    return batch if chance.random() < 0.97 else batch[: chance.randrange(len(batch))]


Pair = tuple[bytes | None, bytes | None]
"""The key and the value of a record."""


def record(
    offset_delta: int, time_delta: int, key: bytes | None, value: bytes | None, headers: bytes = b"\0"
) -> bytes:
    """Return a record as it should be."""
    body = b"\0" + varint(time_delta) + varint(offset_delta) + _bytes(key) + _bytes(value) + headers
    return varint(len(body)) + body


def _bytes(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def _odd_record(chance: Random, at: int, key: bytes | None, value: bytes | None) -> bytes:
    """Return a record in which something is wrong."""
    match chance.randrange(8):
        case 0:
            return chance.choice((b"\x06\0\0\0", b"\0", b"\x02\0", b"\x0e" + b"\0" * 7, b""))
        case 1:
            return chance.choice(VARINTS) + chance.randbytes(10)
        case 2:
            body = b"\0" + chance.choice(VARINTS) * 2 + _bytes(key) + _bytes(value) + b"\0"
            return varint(len(body)) + body
        case 3:
            return record(chance.choice((-1, 2**31 - 1, -(2**31), at + 1)), 0, key, value)
        case 4:
            return record(at, chance.choice((2**63 - 1, -(2**63), -1, 2**62)), key, value)
        case 5:
            headers = varint(chance.choice((2**31 - 1, -1, 1_000))) + chance.randbytes(chance.randrange(9))
            return record(at, 0, key, value, headers)
        case 6:
            whole = record(at, 0, key, value)
            return varint(chance.choice((len(whole) - 3, len(whole) + 3, -5))) + whole[1:]
        case _:
            spoiled = bytearray(record(at, 0, key, value))
            spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
            return bytes(spoiled)


def _compressed(chance: Random, codec: int, payload: bytes) -> bytes:
    if not codec:
        return payload
    if chance.random() < 0.05:
        payload = bytes(chance.choice((1 << 20, 16 << 20, 40 << 20)))
    data = compress(codec, payload)
    if chance.random() < 0.85:
        return data
    match chance.randrange(5):
        case 0:
            return data[: chance.randrange(len(data) + 1)]
        case 1:
            return data + chance.randbytes(chance.randrange(40))
        case 2:
            return data * chance.choice((2, 50))
        case 3:
            return chance.randbytes(chance.choice((0, 1, 20, 300)))
        case _:
            spoiled = bytearray(data)
            spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
            return bytes(spoiled)


def _pairs(chance: Random) -> list[Pair]:
    count = chance.choice((1, 1, 2, 5, 50, 1_000))
    keys = [None, b"", b"k", b"TP", b"\xff\xfe", b"k" * 1_000, *(b"key-%d" % number for number in range(20))]
    return [(chance.choice(keys), _value(chance)) for _ in range(count)]


def _value(chance: Random) -> bytes | None:
    kind = chance.random()
    if kind < 0.1:
        return None
    if kind < 0.3:
        return chance.randbytes(chance.choice((0, 1, 100)))
    if kind < 0.33:
        return chance.choice(DOCUMENTS)
    number = chance.choice(NUMBERS) if chance.random() < 0.05 else str(chance.randrange(-5, 100))
    carrier = chance.choice(("TP", "BA", "", "ü", "%"))
    return (
        f'{{"id":{number},"carrier":"{carrier}","origin":"Lisboa","delay":{chance.randrange(60)},'
        f'"at":{chance.choice(TIMES)},"more":[{number},{{"x":null}}]}}'
    ).encode()


def offsets_pairs(chance: Random) -> list[Pair]:
    """Return records of __consumer_offsets, right or nearly so."""
    return [_offsets_pair(chance) for _ in range(chance.choice((1, 1, 5, 50)))]


def _offsets_pair(chance: Random) -> Pair:
    kind = chance.choice([*KEY_TYPES, *KEY_TYPES, 4, 9, 17, -1, 32_767])
    key_type, value_type = KEY_TYPES.get(kind, KEY_TYPES[2])
    key_message = random_message(key_type, 0, chance, tagged=0)
    for name in ("group", "group_id"):
        if hasattr(key_message, name) and chance.random() < 0.8:
            setattr(key_message, name, f"group-{chance.randrange(8)}")
    if isinstance(key_message, schemas.RegularExpressionKey):
        key_message.regular_expression = chance.choice(REGEXES)
    key = struct.pack(">h", kind) + _encoded(key_message, 0)
    if chance.random() < 0.15:
        return key, None
    version = chance.choice(list(declaration(value_type).versions))
    value_message = random_message(value_type, version, chance)
    value = struct.pack(">h", version) + _encoded(value_message, version)
    return _spoiled(chance, key, 0.1), _spoiled(chance, value, 0.3)


def _encoded(message: Any, version: int) -> bytes:
    return b"".join(cast("list[bytes]", encode(message, version)))


def _spoiled(chance: Random, data: bytes, likely: float) -> bytes:
    if chance.random() >= likely:
        return data
    if chance.random() < 0.4:
        return data[: chance.randrange(len(data) + 1)]
    spoiled = bytearray(data)
    spoiled[chance.randrange(len(spoiled))] = chance.choice((0, 0x7F, 0x80, 0xFF, chance.randrange(256)))
    return bytes(spoiled)
