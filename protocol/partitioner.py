"""The partition that Kafka's clients choose for a key: its records stay in order whatever sends them.

Source: Kafka 4.3, org.apache.kafka.common.utils.Utils.murmur2 and BuiltInPartitioner.partitionForKey.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

_SEED: Final = 0x9747B28C
_FACTOR: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF

_MANY_KEYS_MIN: Final = 3
"""Fewer keys of one length are hashed one by one: each of their words costs half as much so."""

_MANY_BYTES_MIN: Final = 128
_MANY_LENGTH_MAX: Final = 1_024
_MANY_MAX: Final = 1_024
"""Keys hashed at once: their integers stay in the processor's cache."""


def partition_of(key: bytes, count: int) -> int:
    """Return the partition of a key among `count`."""
    return (murmur2(key) & 0x7FFFFFFF) % count


def murmur2(data: bytes) -> int:
    """Return MurmurHash2 of data, as 32 bits without a sign."""
    words = len(data) >> 2
    hashed = _SEED ^ len(data)
    for word in struct.unpack_from(f"<{words}I", data):
        word = word * _FACTOR & _MASK
        hashed = hashed * _FACTOR & _MASK ^ (word ^ word >> 24) * _FACTOR & _MASK
    if rest := data[words << 2 :]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * _FACTOR & _MASK
    hashed = (hashed ^ hashed >> 13) * _FACTOR & _MASK
    return hashed ^ hashed >> 15


def murmur2_of_many(keys: Iterable[bytes]) -> dict[bytes, int]:
    """Return the hash of each key as `murmur2` does; four times as fast for many of one length."""
    by_length: dict[int, list[bytes]] = {}
    for key in keys:
        by_length.setdefault(len(key), []).append(key)
    found: dict[bytes, int] = {}
    for length, same in by_length.items():
        few = len(same) < _MANY_KEYS_MIN or len(same) * length < _MANY_BYTES_MIN
        if few or length > _MANY_LENGTH_MAX:
            found.update((key, murmur2(key)) for key in same)
            continue
        for start in range(0, len(same), _MANY_MAX):
            some = same[start : start + _MANY_MAX]
            found.update(zip(some, _hashes(some, length), strict=True))
    return found


def _hashes(keys: list[bytes], length: int) -> list[int]:
    """Return the hashes of keys of one length, at least 1: all at once, in one long integer.

    Each key has a lane of 64 bits, of which the lower 32 are used: products of two such halves stay inside.
    """
    count, whole = len(keys), length >> 2
    if padding := -length & 3:
        end = bytes(padding)
        keys = [key + end for key in keys]
    joined, stride = memoryview(b"".join(keys)).cast("I"), length + padding >> 2
    lanes = int.from_bytes(b"\1\0\0\0\0\0\0\0" * count, "little")
    mask, low_byte = lanes * _MASK, lanes * 0xFF

    def words(at: int) -> int:
        spread = bytearray(8 * count)
        memoryview(spread).cast("I")[::2] = joined[at::stride]
        return int.from_bytes(spread, "little")

    hashed = lanes * (_SEED ^ length)
    for at in range(whole):
        word = words(at) * _FACTOR & mask
        hashed = hashed * _FACTOR & mask ^ (word ^ word >> 24 & low_byte) * _FACTOR & mask
    if whole < stride:
        hashed = (hashed ^ words(whole)) * _FACTOR & mask
    hashed = (hashed ^ hashed >> 13 & lanes * (_MASK >> 13)) * _FACTOR & mask
    hashed ^= hashed >> 15 & lanes * (_MASK >> 15)
    return memoryview(hashed.to_bytes(8 * count, "little")).cast("Q").tolist()
