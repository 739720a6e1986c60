"""Counts of names."""

from __future__ import annotations

from collections import Counter

from groups.name_counts import forget_names


def test_a_name_is_forgotten_with_the_last_that_named_it() -> None:
    counts = Counter(["a", "b", "b"])
    forget_names(counts, ("a", "b"))
    assert counts == {"b": 1}
    assert list(counts) == ["b"]
    forget_names(counts, ("b",))
    assert not counts
