"""Keys and the offsets of their last records, in bounded memory."""

from __future__ import annotations

import tracemalloc

from broker.upkeep.compaction_keys import ENTRY_BYTES, KEYS_MIN, PLAIN_KEY_BYTES, KeyOffsets


def test_each_key_has_the_offset_of_its_last_record() -> None:
    keys = KeyOffsets(0)
    for offset, key in enumerate([b"a", b"b", b"a", b""]):
        keys.put(key, offset)

    assert [keys.last(key) for key in (b"a", b"b", b"", b"unknown")] == [2, 1, 3, -1]
    assert len(keys) == 3


def test_keys_of_any_length_are_told_apart() -> None:
    keys = KeyOffsets(0)
    lengths = (PLAIN_KEY_BYTES - 1, PLAIN_KEY_BYTES, PLAIN_KEY_BYTES + 1, PLAIN_KEY_BYTES + 2, 10_000)
    for offset, length in enumerate(lengths):
        keys.put(b"k" * length, 2 * offset)
        keys.put(b"k" * (length - 1) + b"x", 2 * offset + 1)

    assert len(keys) == 2 * len(lengths)
    for offset, length in enumerate(lengths):
        assert keys.last(b"k" * length) == 2 * offset


def test_memory_is_bounded_by_what_the_budget_allows() -> None:
    assert not KeyOffsets(0).full
    keys = KeyOffsets(50_000 * ENTRY_BYTES)
    tracemalloc.start()
    number = 0
    while not keys.full:
        keys.put(b"key-%020d" % number, 2**40 + number)
        number += 1
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert number == 50_000
    assert used < 1.1 * 50_000 * ENTRY_BYTES


def test_there_is_always_room_for_a_few() -> None:
    keys = KeyOffsets(0)
    for number in range(KEYS_MIN):
        assert not keys.full
        keys.put(b"%d" % number, number)
    assert keys.full
