"""Changes of producers that are not durable yet."""

from __future__ import annotations

from wal.producer_changes import Change, undone_in


def test_the_states_before_the_oldest_change_and_the_first_markers_are_those_of_the_streams_asked_for() -> (
    None
):
    changes = [
        Change(1, 7, None),
        Change(1, 7, b"later"),
        Change(2, 7, b"other"),
        Change(1, 8, b"before", 5),
        Change(1, 8, b"again", 6),
    ]
    assert undone_in(frozenset({1, 3}), changes) == ({1: {7: None, 8: b"before"}}, {1: 5})
    assert undone_in(frozenset({2}), changes) == ({2: {7: b"other"}}, {})
