"""Tests of groups/share/following.py: a thread tells a member that has very much what it has."""

from __future__ import annotations

import pytest

from groups.offload import Work, WorkDone
from groups.share import following
from groups.share.beat import OUTDATED_MAX
from protocol.error_codes import ErrorCode
from tests.groups.share.members import JOBS, MORE, Members, assigned

ALL = [0, 1, 2, 3]


class World(Members):
    """Members for whom two topics are very many, and a thread that works when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.topics.add("more", MORE)
        self.waiting: list[tuple[Work, WorkDone]] = []
        self.context.offload = lambda work, done: self.waiting.append((work, done))

    def work(self) -> None:
        """Let the thread work, and its results be seen."""
        while self.waiting:
            self.work_once()

    def work_once(self) -> None:
        """Let it do one thing."""
        work, done = self.waiting.pop(0)
        work()
        done(None)
        self.advance(1)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Return the members."""
    monkeypatch.setattr(following, "TOPICS_AT_ONCE", 1)
    return World()


def test_a_thread_brings_a_member_of_very_many_topics_to_the_target(world: World) -> None:
    answers = world.beat("m1", 0, "jobs", "more")
    assert (answers, len(world.waiting)) == ([], 1)
    world.work()
    (answer,) = answers
    assert assigned(answer) == {JOBS: ALL, MORE: ALL}
    assert answer.member_epoch == world.group.target_epoch
    world.start()
    assert world.group.current_of("m1").assigned == {JOBS: frozenset(ALL), MORE: frozenset(ALL)}


def test_few_topics_take_no_thread_and_neither_does_a_member_that_has_followed(world: World) -> None:
    assert assigned(world.join("m1", "jobs")) == {JOBS: ALL}
    world.beat("m2", 0, "jobs", "more")
    world.work()
    epoch = world.group.current_of("m2").epoch
    (answer,) = world.beat("m2", epoch)
    assert (answer.error_code, answer.assignment, world.waiting) == (0, None, [])


def test_a_group_that_changes_meanwhile_has_it_worked_out_again(world: World) -> None:
    answers = world.beat("m1", 0, "jobs", "more")
    world.beat("m2", 0, "jobs")
    world.work()
    (answer,) = answers
    assert answer.member_epoch == world.group.target_epoch == world.group.current_of("m1").epoch
    assert set(assigned(answer) or {}) == {JOBS, MORE}


def test_a_group_that_changes_every_time_gets_its_answer_without_a_thread(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following.Following, "is_current", lambda *_: False)
    answers = world.beat("m1", 0, "jobs", "more")
    for number in range(OUTDATED_MAX):
        assert (answers, len(world.waiting)) == ([], 1), number
        world.work_once()
    assert [answer.error_code for answer in answers] == [0]


def test_a_member_that_leaves_meanwhile_is_refused(world: World) -> None:
    answers = world.beat("m1", 0, "jobs", "more")
    world.beat("m1", -1)
    world.work()
    assert [answer.error_code for answer in answers] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_an_error_of_our_own_ends_the_heartbeat_and_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("on purpose")

    monkeypatch.setattr(following.Following, "work_out", broken)
    answers = world.beat("m1", 0, "jobs", "more")
    with pytest.raises(RuntimeError, match="on purpose"):
        world.work()
    world.pump()
    assert [answer.error_code for answer in answers] == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_a_record_that_is_lost_leaves_the_member_where_it_was(world: World) -> None:
    answers = world.beat("m1", 0, "jobs", "more")
    world.hold = True
    world.work()
    world.lose()
    assert [answer.error_code for answer in answers] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert world.group.current_of("m1").assigned == {}
