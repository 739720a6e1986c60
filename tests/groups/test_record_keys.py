"""Tests of groups/record_keys.py."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups import record_keys
from groups.record_keys import CACHED_LENGTH_MAX, partition_for, partition_for_part


@pytest.mark.parametrize(
    ("group_id", "partition"),
    [
        ("grp", 29),
        ("", 0),
        ("console-consumer-48213", 9),
        ("ünï-😀", 37),
        # Its hash is -2^31, which has no positive counterpart: Kafka's abs makes it 0.
        ("\0polygenelubricants", 0),
    ],
)
def test_a_group_is_in_the_partition_that_kafka_puts_it_in(group_id: str, partition: int) -> None:
    assert partition_for(group_id, 50) == partition


@given(st.text(max_size=3), st.integers(0, 200), st.text(max_size=20), st.sampled_from([1, 50, 1 << 31]))
def test_an_id_in_two_parts_is_where_the_whole_one_is(
    text: str, repeats: int, part: str, partition_count: int
) -> None:
    whole = partition_for(text * repeats + part, partition_count)
    assert partition_for_part(text * repeats, part, partition_count) == whole


def test_the_parts_of_a_long_id_need_its_hash_once() -> None:
    group_id = "p" * (CACHED_LENGTH_MAX + 1)
    before = record_keys._long_hash.cache_info().misses
    assert len({partition_for_part(group_id, f":{number}", 1 << 31) for number in range(50)}) == 50
    assert record_keys._long_hash.cache_info().misses == before + 1


def test_one_partition_holds_all_groups() -> None:
    assert {partition_for(f"g{number}", 1) for number in range(100)} == {0}


def test_groups_spread_over_all_partitions() -> None:
    assert {partition_for(f"group-{number}", 50) for number in range(2_000)} == set(range(50))


def test_of_long_ids_few_are_remembered() -> None:
    before = record_keys._known_partition_for.cache_info().currsize
    found = {partition_for("g" * (1_000 + number), 1 << 31) for number in range(100)}
    assert len(found) == 100
    assert record_keys._known_partition_for.cache_info().currsize == before
    assert record_keys._long_hash.cache_info().currsize == record_keys.LONG_IDS_KEPT
