"""Tests of groups/record_keys.py."""

from __future__ import annotations

import pytest

from groups import record_keys
from groups.record_keys import partition_for


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


def test_one_partition_holds_all_groups() -> None:
    assert {partition_for(f"g{number}", 1) for number in range(100)} == {0}


def test_groups_spread_over_all_partitions() -> None:
    assert {partition_for(f"group-{number}", 50) for number in range(2_000)} == set(range(50))


def test_of_long_ids_few_are_remembered() -> None:
    before = record_keys._known_partition_for.cache_info().currsize
    found = {partition_for("g" * (1_000 + number), 1 << 31) for number in range(100)}
    assert len(found) == 100
    assert record_keys._known_partition_for.cache_info().currsize == before
    assert record_keys._long_partition_for.cache_info().currsize == 16
