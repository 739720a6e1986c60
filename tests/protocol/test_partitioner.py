"""Keys lie where Kafka's clients put them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as murmur2_of_kafka_python

from protocol.partitioner import murmur2, murmur2_of_many, partition_of


@given(st.binary(max_size=40))
def test_the_hash_is_that_of_another_client(data: bytes) -> None:
    assert murmur2(data) == murmur2_of_kafka_python(data) & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_has_the_values_of_kafkas_own_test(key: bytes, hashed: int) -> None:
    # UtilsTest.testMurmur2
    assert murmur2(key) == hashed % 2**32


def test_a_partition_is_below_their_number() -> None:
    assert [partition_of(b"21", count) for count in (1, 2, 3)] == [0, 0, -973932308 % 2**31 % 3]


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(0, 23), st.integers(0, 2_000))
def test_many_keys_hashed_at_once_have_the_same_hashes(some: list[bytes], length: int, count: int) -> None:
    keys = [*some, *(bytes([number & 255, number >> 8]).ljust(length, b"\xff") for number in range(count))]
    assert murmur2_of_many(keys) == {key: murmur2(key) for key in keys}


def test_long_keys_are_hashed_one_by_one() -> None:
    keys = [bytes([number]) * 3_000 for number in range(3)]
    assert murmur2_of_many(keys) == {key: murmur2(key) for key in keys}
