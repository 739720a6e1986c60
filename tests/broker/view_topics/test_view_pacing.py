"""Anchors of replays: one for all partitions of a reader, set anew when a reader returns or jumps."""

from __future__ import annotations

import pytest

from broker.view_topics import view_pacing
from broker.view_topics.view_pacing import Anchor, Pacing

T = 1_000_000
"""A record's timestamp, long before the moments below."""


def test_records_are_due_as_far_apart_as_they_were_written() -> None:
    anchor = Anchor()
    assert anchor.due_ms(T, 1.0, 50) == 51
    assert anchor.is_running(51)
    assert anchor.due_ms(T, 1.0, 51) == 51
    assert anchor.due_ms(T + 400, 1.0, 60) == 451
    assert anchor.due_ms(T + 400, 4.0, 60) == 151
    assert anchor.due_ms(T + 400, 0.5, 60) == 851
    assert anchor.due_ms(T - 10, 1.0, 60) < 60


def test_the_earliest_record_of_all_partitions_is_the_anchor() -> None:
    anchor = Anchor()
    assert anchor.due_ms(T + 100, 1.0, 50) == 51
    assert anchor.due_ms(T, 1.0, 50) == 51
    assert not anchor.is_running(50)
    assert anchor.due_ms(T, 1.0, 51) == 51
    assert anchor.due_ms(T + 100, 1.0, 51) == 151


def test_going_on_keeps_the_anchor_and_jumping_sets_it_anew() -> None:
    anchor = Anchor()
    anchor.begin(0, 5)
    anchor.due_ms(T, 1.0, 50)
    anchor.ended(0, 5, 9)
    for offset in (9, 7, 5):
        anchor.begin(0, offset)
        assert anchor.is_running(60)
    anchor.begin(1, 70)
    assert anchor.is_running(60)
    for offset in (10, 4):
        anchor.due_ms(T, 1.0, 50)
        anchor.ended(0, 5, 9)
        anchor.begin(0, offset)
        assert not anchor.is_running(10_000)


def test_the_reader_not_seen_for_longest_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_pacing, "READERS_MAX", 2)
    pacing = Pacing(1.0)
    first, second = pacing.anchor("a"), pacing.anchor("b")
    assert pacing.anchor("a") is first
    pacing.anchor("c")
    assert len(pacing) == 2
    assert pacing.anchor("a") is first
    assert pacing.anchor("b") is not second
