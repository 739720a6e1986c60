"""Tests of groups/share/beat.py: a heartbeat is answered once, whatever it waits for."""

from __future__ import annotations

import pytest

from groups.share import following
from protocol.error_codes import ErrorCode
from tests.groups.share.members import JOBS, Members, assigned


def test_a_heartbeat_that_waits_for_states_is_answered_when_they_are_there() -> None:
    members = Members()
    members.hold_states = True
    answers = members.beat("m1", 0, "jobs")
    assert answers == []
    members.hold_states = False
    members.pump()
    assert [assigned(answer) for answer in answers] == [{JOBS: [0, 1, 2, 3]}]


def test_one_whose_changes_were_lost_before_a_thread_ends_is_refused_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(following, "TOPICS_AT_ONCE", 0)
    members = Members()
    members.hold_states = True
    answers = members.beat("m1", 0, "jobs")
    members.hold = True
    members.hold_states = False
    members.pump()
    members.lose()
    members.hold = False
    members.advance(5)
    assert [answer.error_code for answer in answers] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
