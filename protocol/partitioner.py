"""The partition that Kafka's clients choose for a key: its records stay in order whatever sends them.

Source: Kafka 4.3, org.apache.kafka.common.utils.Utils.murmur2 and BuiltInPartitioner.partitionForKey.
"""

from __future__ import annotations

import struct
from typing import Final

_SEED: Final = 0x9747B28C
_FACTOR: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


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
