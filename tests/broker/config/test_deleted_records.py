"""Deleted records of a topic: the entries, and what they leave of ranges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.config_keys import ConfigError
from broker.config.deleted_records import ENTRIES_MAX, deleted_in, problem_of, without
from broker.config.kawal_topic_keys import SHARE_DELETED_KEY


def test_entries_are_offsets_and_ranges_of_a_partition() -> None:
    entries = ("0:5", "1:7", "0:9-12", "0:6-6", "0:11-20")
    assert deleted_in(entries, 0) == [(5, 6), (9, 20)]
    assert deleted_in(entries, 1) == [(7, 7)]
    assert deleted_in(entries, 2) == []
    assert problem_of(entries) is None


@pytest.mark.parametrize("entry", ["5", "0:", ":5", "0:9-5", "0:-5", "a:5", "0:5-", "0:5 - 6", "0:1:2"])
def test_other_entries_are_refused(entry: str) -> None:
    assert f"entry 2, {entry!r}, is not PARTITION:OFFSET" in (problem_of(("0:1", entry)) or "")
    with pytest.raises(ConfigError, match="is not PARTITION:OFFSET"):
        SHARE_DELETED_KEY.parse(f"0:1,{entry}")


def test_there_is_a_most() -> None:
    assert "1001 entries; 1000 are the most" in (problem_of(["0:1"] * (ENTRIES_MAX + 1)) or "")


RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=6)


def apart(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for first, size in sorted(ranges):
        if not found or first > found[-1][1] + 1:
            found.append((first, first + size))
    return found


def offsets(ranges: list[tuple[int, int]]) -> list[int]:
    return [offset for first, last in ranges for offset in range(first, last + 1)]


@given(RANGES, RANGES)
def test_what_is_left_is_what_is_not_deleted(
    ranges: list[tuple[int, int]], gone: list[tuple[int, int]]
) -> None:
    found, deleted = apart(ranges), apart(gone)
    left = without(found, deleted)
    assert offsets(left) == [offset for offset in offsets(found) if offset not in set(offsets(deleted))]
    assert all(first <= last for first, last in left)
