"""Tests of groups/share/looking.py: a thread looks at very many topics, and heartbeats wait until it has."""

from __future__ import annotations

import pytest

from groups.offload import Work, WorkDone
from groups.share import looking, membership, targets
from protocol.error_codes import ErrorCode
from tests.groups.share.members import JOBS, MORE, Members, assigned

ALL = [0, 1, 2, 3]


class World(Members):
    """Members for whom two names are very many, and a thread that works when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.topics.add("more", MORE)
        self.waiting: list[tuple[Work, WorkDone]] = []
        self.context.offload = lambda work, done: self.waiting.append((work, done))

    def work(self, error: Exception | None = None) -> None:
        """Let the thread work, and its results be seen."""
        while self.waiting:
            work, done = self.waiting.pop(0)
            if error is None:
                work()
            done(error)
            self.advance(1)

    def beat_again(self, member_id: str = "m1") -> None:
        """Send an ordinary heartbeat; it must be answered."""
        answers = self.beat(member_id, self.group.current_of(member_id).epoch)
        for _ in range(3):
            self.work()
            self.advance(1)
        assert [answer.error_code for answer in answers] == [0]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Return the members."""
    for module in (looking, membership, targets):
        monkeypatch.setattr(module, "NAMES_AT_ONCE", 1)
    return World()


def test_a_heartbeat_waits_for_the_look_and_then_for_the_states(world: World) -> None:
    world.hold_states = True
    answers = world.beat("m1", 0, "jobs", "more")
    assert world.orders == []
    world.work()
    assert {place for order in world.orders for place in order.partitions} == {
        (topic_id, index) for topic_id in (JOBS, MORE) for index in ALL
    }
    assert answers == []
    world.hold_states = False
    world.pump()
    world.work()
    assert [assigned(answer) for answer in answers] == [{JOBS: ALL, MORE: ALL}]


def test_few_names_take_no_thread(world: World) -> None:
    assert assigned(world.join("m1", "jobs")) == {JOBS: ALL}
    assert world.waiting == []


def test_a_topic_that_grows_gets_states_and_is_assigned(world: World) -> None:
    world.beat("m1", 0, "jobs", "more")
    world.work()
    world.topics.by_name["jobs"].partition_count = 6
    world.machine.topics_changed(["jobs"])
    for _ in range(2):
        world.beat_again()
    assert world.group.current_of("m1").assigned[JOBS] == frozenset(range(6))


def test_a_topic_that_is_deleted_loses_its_states_for_good(world: World) -> None:
    world.beat("m1", 0, "jobs", "more")
    world.work()
    del world.topics.by_name["more"], world.topics.by_id[MORE]
    world.machine.topics_changed(["more"])
    for _ in range(2):
        world.beat_again()
    assert world.group.initialized.keys() == world.group.current_of("m1").assigned.keys() == {JOBS}
    world.start()
    assert world.group.initialized.keys() == {JOBS}


def test_a_look_that_finds_nothing_new_changes_nothing(world: World) -> None:
    world.beat("m1", 0, "jobs", "more")
    world.work()
    world.beat_again()
    epoch, records = world.group.epoch, len(world.log)
    world.group.make_stale()
    world.beat_again()
    assert (world.group.epoch, len(world.log), world.orders) == (epoch, records, [])


def test_an_error_of_our_own_lets_the_heartbeats_go_on_and_the_next_one_look_again(world: World) -> None:
    answers = world.beat("m1", 0, "jobs", "more")
    with pytest.raises(ValueError, match="ours"):
        world.work(ValueError("ours"))
    world.pump()
    assert [answer.error_code for answer in answers] == [0]
    for _ in range(2):
        world.beat_again()
    assert world.group.current_of("m1").assigned == {JOBS: frozenset(ALL), MORE: frozenset(ALL)}


def test_a_group_that_is_unloaded_meanwhile_is_left_alone(world: World) -> None:
    answers = world.beat("m1", 0, "jobs", "more")
    world.machine.unload([0])
    world.work()
    assert [answer.error_code for answer in answers] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert world.machine.table.groups == {}


def test_a_topic_that_is_deleted_while_a_thread_assigns_is_not_assigned_in_the_end(world: World) -> None:
    world.context.weight_max = 0
    world.beat("m1", 0, "jobs", "more")
    look, seen = world.waiting.pop(0)
    look()
    seen(None)
    world.advance(1)
    ((assign, assigned_then),) = world.waiting
    world.waiting.clear()
    assign()
    del world.topics.by_name["more"], world.topics.by_id[MORE]
    world.machine.topics_changed(["more"])
    world.beat("m1", 0, "jobs", "more")
    world.work()
    assigned_then(None)
    for _ in range(5):
        world.advance(1)
        world.work()
    for _ in range(2):
        world.beat_again()
    assert world.group.current_of("m1").assigned == {JOBS: frozenset(ALL)}
