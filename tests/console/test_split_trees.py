"""The partition tree on a terminal, and for programs."""

from __future__ import annotations

import pytest

from console.split_trees import rest_of_level, tree_of, tree_text
from protocol.messages.kawal_topics import SplitPartition, TopicResult

TOPIC = TopicResult(
    name="orders",
    tree=[
        SplitPartition(partition=0, root=0, end=120, high=1 << 31),
        SplitPartition(partition=0, root=0, start=120, high=1 << 30, bytes_per_second=900),
        SplitPartition(
            partition=1, parent=0, parent_cut=120, root=0, low=1 << 30, high=1 << 31, why_not="one key"
        ),
    ],
)


def test_a_line_for_each_part_of_a_partition() -> None:
    assert tree_text(TOPIC).split("\n") == [
        "topic orders",
        "PARTITION  STATE     FROM      START  END  KEYS                 BYTES/S  NOTE",
        "        0  inactive  -             0  120  0:00000000-80000000  -        -",
        "        0  active    -           120  -    0:00000000-40000000  900      -",
        "        1  active    0 at 120      0  -    0:40000000-80000000  -        one key",
    ]


def test_programs_get_nulls_for_what_there_is_not() -> None:
    inactive, active, child = tree_of(TOPIC)["partitions"]
    assert (inactive["active"], inactive["cut"], inactive["parent"]) == (False, 120, None)
    assert (active["active"], active["cut"], active["bytes_per_second"]) == (True, None, 900)
    assert (child["parent"], child["parent_cut"], child["not_split"]) == (0, 120, "one key")


@pytest.mark.parametrize(
    ("count", "roots", "left"),
    [(1, 1, [0]), (3, 1, [1]), (4, 1, [0, 1, 2, 3]), (3, 3, [0, 1, 2]), (8, 3, [2, 3, 4, 5])],
)
def test_all_that_is_left_to_double_the_partitions_is_split(count: int, roots: int, left: list[int]) -> None:
    assert list(rest_of_level(count, roots)) == left
