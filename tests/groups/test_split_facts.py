"""The facts of a coordinator without topics that split."""

from __future__ import annotations

from groups.partition_tree import Split
from groups.split_facts import NO_SPLITS


def test_without_splits_nothing_is_withheld() -> None:
    split = Split(0, 1, 5, 1, 0)
    assert not NO_SPLITS.topics
    assert NO_SPLITS.is_read("t", split, None)
    assert NO_SPLITS.is_forced("t", split)
    assert NO_SPLITS.log_start("t", 0) == 0
    assert NO_SPLITS.share_position("g", "t", 0) is None
    assert not NO_SPLITS.shares_from_end("g")
