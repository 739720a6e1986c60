"""Events on their way to the sinks, and what happens while a sink takes nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from broker.security import audit_trail
from broker.security.audit_repeats import BURST, WINDOW_MS
from broker.security.audit_trail import (
    BATCH_CHARACTERS_MAX,
    EVENT_CHARACTERS_MAX,
    ITEMS_MAX,
    QUEUE_MAX,
    RETRY_MS,
    STALL_MS,
    TEXT_MAX,
    AuditTrail,
    Batch,
    Done,
    Shortener,
)


class Rig:
    """A trail with two sinks, and a clock that stands still."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.now_ms = 0
        self.timers: list[tuple[int, Callable[[], None]]] = []
        self.held: list[Done] | None = None
        self.failing: str | None = None
        self.second_failing: str | None = None
        self.first: list[str] = []
        self.second: list[str] = []
        self.trail = AuditTrail(
            [self._first, self._second],
            refuses=refuses,
            now_ms=lambda: self.now_ms,
            wall_ms=lambda: 1_000 + self.now_ms,
            after=lambda delay_ms, action: self.timers.append((self.now_ms + delay_ms, action)),
        )

    def _first(self, batch: Batch, done: Done) -> None:
        if self.held is not None:
            self.held.append(done)
            return
        if self.failing is None:
            self.first += [str(event.get("name", event["event"])) for event in batch.events]
        done(self.failing)

    def _second(self, batch: Batch, done: Done) -> None:
        if self.second_failing is None:
            self.second += [str(event.get("name", event["event"])) for event in batch.events]
        done(self.second_failing)

    def pass_time(self, duration_ms: int) -> None:
        end_ms = self.now_ms + duration_ms
        while due := sorted((at for at in self.timers if at[0] <= end_ms), key=lambda at: at[0])[:1]:
            self.timers.remove(due[0])
            self.now_ms = due[0][0]
            due[0][1]()
        self.now_ms = end_ms


def test_events_pass_through_all_sinks() -> None:
    rig = Rig()
    rig.trail.record("e", name="a")
    rig.trail.record("e", name="b", empty="", nothing=None)
    assert rig.first == rig.second == ["a", "b"]
    assert rig.trail.counts() == {"written": 2, "dropped": 0, "left_out": 0, "waiting": 0, "failing": 0}


def test_a_sink_that_fails_is_tried_again_and_the_one_before_it_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig()
    rig.second_failing = "no room"
    rig.trail.record("e", name="a")
    rig.trail.record("e", name="b")
    rig.pass_time(3 * RETRY_MS)
    assert (rig.first, rig.second) == (["a"], [])
    assert rig.trail.distress == "no room"
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    rig.second_failing = None
    rig.pass_time(RETRY_MS)
    assert rig.first == rig.second == ["a", "b"]
    assert rig.trail.distress == ""
    assert "is written again; 0 events were lost" in caplog.text


def test_distress_blocks_only_where_it_is_asked_for() -> None:
    for refuses in (False, True):
        rig = Rig(refuses=refuses)
        rig.failing = "no room"
        assert rig.trail.blocked == ""
        rig.trail.record("e")
        assert rig.trail.blocked == ("no room" if refuses else "")


def test_events_beyond_the_room_are_counted_and_told_afterwards() -> None:
    rig = Rig()
    rig.failing = "no room"
    for number in range(QUEUE_MAX + 8):
        rig.trail.record("e", name=number)
    assert rig.trail.dropped == 7
    assert rig.trail.waiting == QUEUE_MAX + 1
    rig.failing = None
    rig.pass_time(RETRY_MS)
    assert rig.first[:3] == ["0", "audit.gap", "1"]
    assert rig.first[-1] == str(QUEUE_MAX)
    assert rig.trail.waiting == 0


def test_a_disk_that_does_not_answer_is_distress_and_ends_it_when_it_does() -> None:
    rig = Rig(refuses=True)
    rig.held = []
    rig.trail.record("e")
    rig.pass_time(STALL_MS - 1)
    assert rig.trail.blocked == ""
    rig.pass_time(1)
    assert "not written after 5 s" in rig.trail.blocked
    answers, rig.held = rig.held, None
    answers[0](None)
    assert rig.trail.blocked == ""


def test_repeats_are_told_as_a_number_at_the_end_of_their_window() -> None:
    rig = Rig()
    for _ in range(BURST + 5):
        rig.trail.record_limited("denied", ("alice", "t"), source="h", outcome="denied", name="x")
    assert len(rig.first) == BURST
    rig.pass_time(WINDOW_MS)
    assert rig.first[BURST:] == ["audit.repeats"]
    assert rig.trail.left_out == 5
    rig.trail.record_limited("login", ("alice", "t"), source="h", name="y")
    rig.trail.record_limited("denied", ("alice", "t"), source="h", outcome="denied", name="x")
    assert len(rig.first) == BURST + 3


def test_the_rest_can_be_taken_at_the_end() -> None:
    rig = Rig()
    rig.held = []
    rig.trail.record("a")
    rig.trail.record("b")
    assert [event["event"] for event in rig.trail.rest()] == ["a", "b"]
    assert rig.trail.waiting == 0


def short(value: object) -> object:
    return Shortener().short(value)


def test_what_the_first_sink_has_taken_is_no_part_of_the_rest() -> None:
    rig = Rig()
    rig.second_failing = "the loop has ended"
    rig.trail.record("a")
    rig.trail.record("b")
    assert rig.first == ["a"]
    assert [event["event"] for event in rig.trail.rest()] == ["b"]


def test_an_event_is_bounded_however_much_a_client_says() -> None:
    shortener = Shortener()
    wide = {f"{number}": {f"{inner}": "x" * 1_000 for inner in range(100)} for number in range(100)}
    found = shortener.short(wide)
    assert shortener.characters < EVENT_CHARACTERS_MAX + 2 * TEXT_MAX
    assert len(str(found)) < 2 * EVENT_CHARACTERS_MAX


def test_large_events_make_small_batches() -> None:
    rig = Rig()
    rig.held = []
    rig.trail.record("first")
    for number in range(40):
        rig.trail.record("e", name=str(number), before={str(key): "x" * 500 for key in range(50)})
    sizes: list[int] = []
    rig.held[0](None)
    while len(sizes) < 40 and rig.trail.waiting:
        before = rig.trail.waiting
        rig.held[-1](None)
        sizes.append(before - rig.trail.waiting)
    assert max(sizes) <= BATCH_CHARACTERS_MAX // 10_000
    assert sum(sizes) == 40


def test_values_are_cut() -> None:
    assert short("x" * (TEXT_MAX + 1)) == "x" * TEXT_MAX + "…"
    assert short({"a": 1, "b": None, "c": [True, 2.5]}) == {"a": 1, "b": None, "c": [True, 2.5]}
    assert short(list(range(ITEMS_MAX + 2))) == [*range(ITEMS_MAX), "… and 2 more"]
    many = short({str(number): number for number in range(ITEMS_MAX + 2)})
    assert isinstance(many, dict)
    assert (len(many), many["…"]) == (ITEMS_MAX + 1, 2)
    assert short(b"x") == "b'x'"


def test_a_refusal_says_why_and_what_to_do() -> None:
    assert "no room" in audit_trail.refusal_text("no room")
    assert "make room" in audit_trail.refusal_text("x")
