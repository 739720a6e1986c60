"""Arithmetic of positions."""

from __future__ import annotations

import msgspec

from pipeline.positions import Range, count, lags, moved, offset_of


def test_the_offset_of_an_unknown_partition_is_none() -> None:
    assert offset_of({"t": {"0": 5}}, "t", "0") == 5
    assert offset_of({"t": {"0": 5}}, "t", "1") is None
    assert offset_of({"t": {"0": 5}}, "u", "0") is None


def test_moved_keeps_what_is_not_ahead_and_changes_neither() -> None:
    behind, ahead = {"t": {"0": 1, "1": 2}}, {"t": {"1": 9}, "u": {"0": 3}}
    assert moved(behind, ahead) == {"t": {"0": 1, "1": 9}, "u": {"0": 3}}
    assert behind == {"t": {"0": 1, "1": 2}}


def test_lag_counts_new_partitions_from_their_first_offset_and_is_never_negative() -> None:
    lag = lags({"t": {"0": 4, "1": 9}}, {"t": {"0": 10, "1": 7, "2": 5}})
    assert lag == {("t", 0): 6, ("t", 1): 0, ("t", 2): 5}
    assert count(lag) == 11


def test_a_range_says_from_in_json() -> None:
    text = b'{"topic":"t","partition":0,"from":3,"until":8}'
    one = Range(topic="t", partition=0, begin=3, until=8)
    assert msgspec.json.encode(one) == text
    assert msgspec.json.decode(text, type=Range) == one
