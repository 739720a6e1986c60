"""Targets of share groups: small ones at once, large ones by a thread while heartbeats wait."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any
from uuid import UUID

import pytest

from groups import large_target
from groups.consumer_target import NOT_ASSIGNED_HERE, metadata_hash
from groups.effects import EncodedRecord
from groups.offload import MEMBER_WEIGHT, Work, WorkDone
from groups.share import looking, membership, targets
from groups.share.config import ShareGroupConfig
from groups.share.group_records import ShareGroupKey, encode_share_record
from groups.share.targets import Open, ShareTask, Wish
from protocol.error_codes import ErrorCode
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatResponse
from tests.broker.wide_requests import Lines
from tests.groups.share.members import GROUP, JOBS, MORE, Members, assigned

TIMERS = 10
"""More timers than a target here needs: one for each member, and one for the epoch."""


class Thread:
    """A thread that works when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Work, WorkDone]] = []

    def offload(self, work: Work, done: WorkDone) -> None:
        self.waiting.append((work, done))

    def run(self, error: Exception | None = None) -> None:
        work, done = self.waiting.pop(0)
        if error is None:
            work()
        done(error)


def large_group() -> tuple[Members, Thread]:
    """Return a world in which every target is large, and its thread."""
    members, thread = Members(), Thread()
    members.topics.add("more", MORE)
    members.context.weight_max = 0
    members.context.offload = thread.offload
    return members, thread


def finish(members: Members, thread: Thread) -> None:
    """Let the thread and the timers do all they have to do."""
    while thread.waiting:
        thread.run()
        store(members)


def store(members: Members) -> None:
    for _ in range(TIMERS):
        members.advance(1)


def test_a_large_target_is_computed_by_a_thread_and_the_heartbeat_waits_for_it() -> None:
    members, thread = large_group()
    answers = members.beat("m1", 0, "jobs")
    assert (answers, len(thread.waiting)) == ([], 1)
    finish(members, thread)
    (answer,) = answers
    assert assigned(answer) == {JOBS: [0, 1, 2, 3]}
    assert answer.member_epoch == members.group.target_epoch == members.group.epoch
    assert members.group.assigning is None


def test_targets_are_the_same_wherever_they_are_computed() -> None:
    found = []
    for make in (large_group, lambda: (Members(), Thread())):
        members, thread = make()
        members.topics.add("more", MORE)
        for number, topics in enumerate((("jobs",), ("jobs", "more"), ("more",), ("jobs", "more"))):
            members.beat(f"m{number}", 0, *topics)
            finish(members, thread)
        found.append(dict(members.group.target))
    assert found[0] == found[1]
    assert len(found[0]) == 4


def test_a_target_whose_record_a_thread_has_written_is_there_after_a_restart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(large_target, "TOPICS_AT_ONCE", 0)
    monkeypatch.setattr(targets, "encode_share_record", encoding := Noted())
    members, thread = large_group()
    for number in range(3):
        members.beat(f"m{number}", 0, "jobs", "more")
        finish(members, thread)
    before = dict(members.group.target)
    assert len(before) == 3
    assert len(encoding.keys) >= 3
    members.start()
    assert dict(members.group.target) == before


class Noted:
    """The encoder of records, which notes the keys."""

    def __init__(self) -> None:
        self.keys: list[ShareGroupKey] = []

    def __call__(self, key: ShareGroupKey, value: Any) -> EncodedRecord:
        self.keys.append(key)
        return encode_share_record(key, value)


def test_what_changes_meanwhile_makes_the_next_target() -> None:
    members, thread = large_group()
    first = members.beat("m1", 0, "jobs")
    second = members.beat("m2", 0, "jobs")
    assert len(thread.waiting) == 1, "one target of a group at a time"
    finish(members, thread)
    assert len(first) == len(second) == 1
    group = members.group
    assert group.target_epoch == group.epoch
    assert sorted(len(group.target[member][JOBS]) for member in ("m1", "m2")) == [2, 2]
    answers = members.beat("m2", second[0].member_epoch)
    assert members.group.current_of("m2").epoch == answers[0].member_epoch == group.epoch


def test_a_member_that_leaves_meanwhile_gets_no_target() -> None:
    members, thread = large_group()
    members.beat("m1", 0, "jobs")
    finish(members, thread)
    members.beat("m2", 0, "jobs")
    members.beat("m2", -1)
    finish(members, thread)
    assert members.group.target.keys() == {"m1"}
    assert members.group.target["m1"] == {JOBS: frozenset(range(4))}


def test_the_target_of_a_group_that_all_members_leave_meanwhile_is_of_its_last_epoch() -> None:
    members, thread = large_group()
    members.beat("m1", 0, "jobs")
    finish(members, thread)
    members.beat("m2", 0, "jobs")
    for member_id in ("m1", "m2"):
        members.beat(member_id, -1)
    finish(members, thread)
    group = members.group
    assert (group.target, group.target_epoch, group.assigning) == ({}, group.epoch, None)


def test_a_heartbeat_that_waits_is_refused_when_its_group_is_unloaded() -> None:
    members, thread = large_group()
    answers = members.beat("m1", 0, "jobs")
    members.machine.unload([0])
    finish(members, thread)
    assert [answer.error_code for answer in answers] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_a_target_of_changes_that_were_lost_is_void() -> None:
    members, thread = large_group()
    members.hold = True
    answers = members.beat("m1", 0, "jobs")
    members.lose()
    finish(members, thread)
    assert [answer.error_code for answer in answers] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert members.machine.table.groups == {}
    members.hold = False
    again = members.beat("m1", 0, "jobs")
    finish(members, thread)
    assert assigned(again[0]) == {JOBS: [0, 1, 2, 3]}


# --- the interval of assignments ----------------------------------------------------------------------------


def gathering() -> Members:
    """Return a world in which assignments of a group are a second apart, and its first member."""
    members = Members(ShareGroupConfig(group_share_assignment_interval_ms=1_000))
    members.advance(5_000)
    assert assigned(members.join("m1")) == {JOBS: [0, 1, 2, 3]}, "the first is made at once"
    return members


def test_changes_within_the_interval_are_assigned_together_at_its_end() -> None:
    members = gathering()
    before = members.group.target_epoch
    for name in ("m2", "m3"):
        members.advance(300)
        answer = members.join(name)
        assert (assigned(answer), answer.member_epoch) == ({}, before)
    assert members.group.epoch == before + 2
    members.advance(399)
    assert members.group.target_epoch == before
    members.advance(1)
    assert members.group.target_epoch == members.group.epoch
    given = [sum(map(len, members.group.target[name].values())) for name in ("m1", "m2", "m3")]
    assert sorted(given) == [1, 1, 2]
    (answer,) = members.beat("m2", before)
    assert answer.member_epoch == members.group.epoch
    assert assigned(answer)


def test_a_change_after_the_interval_is_assigned_at_once() -> None:
    members = gathering()
    members.advance(1_000)
    assert assigned(members.join("m2"))


def test_a_heartbeat_after_a_restart_makes_the_assignment_that_was_due() -> None:
    members = gathering()
    members.join("m2")
    members.start()
    assert members.group.epoch != members.group.target_epoch
    (answer,) = members.beat("m2", members.group.current_of("m2").epoch)
    assert assigned(answer)
    assert answer.member_epoch == members.group.epoch == members.group.target_epoch


def test_a_large_target_that_a_crash_prevented_is_made_with_the_next_heartbeat() -> None:
    members, thread = large_group()
    members.beat("m1", 0, "jobs")
    assert thread.waiting
    members.start()
    assert members.group.target_epoch != members.group.epoch
    members.beat("m1", 0, "jobs")
    assert members.group.target_epoch == members.group.epoch
    assert members.group.target["m1"] == {JOBS: frozenset({0, 1, 2, 3})}


def test_a_fault_in_the_thread_lets_heartbeats_go_on_and_is_told() -> None:
    members, thread = large_group()
    answers = members.beat("m1", 0, "jobs")
    thread.run(ValueError("ours"))
    with pytest.raises(ValueError, match="ours"):
        store(members)
    members.pump()
    assert len(answers) == 1
    finish(members, thread)
    assert members.group.target["m1"] == {JOBS: frozenset(range(4))}


@pytest.mark.parametrize("held_back", [frozenset[int](), frozenset({1})])
def test_a_task_returns_what_differs_from_the_last_target(held_back: frozenset[int]) -> None:
    topics = {"jobs": Open(JOBS, 3, held_back), "more": Open(MORE, 1, frozenset())}

    def task(had: Callable[[str], dict[str, object]]) -> ShareTask:
        wishes = [Wish("a", ("jobs", "none"), had("a")), Wish("b", ("jobs", "more"), had("b"))]  # type: ignore[arg-type]
        return ShareTask(wishes, lambda: topics)

    first = task(lambda _: {}).run()
    given = {index for target in first.values() for index in target.get(JOBS, ())}
    assert given == {0, 1, 2} - held_back
    assert first["b"][MORE] == {0}
    assert task(lambda member: first[member]).run() == {}  # type: ignore[arg-type, return-value]
    assert task(lambda _: {}).weight == 4 + 4 + 2 * MEMBER_WEIGHT
    assert ShareTask([], dict).run() == {}


@pytest.mark.parametrize("seed", range(10))
def test_whatever_comes_while_targets_are_made_every_partition_has_a_member_in_the_end(seed: int) -> None:
    chance, (members, thread) = Random(seed), large_group()
    wanted: dict[str, tuple[str, ...]] = {}
    answers: list[ShareGroupHeartbeatResponse] = []
    for _ in range(60):
        member_id = f"m{chance.randrange(4)}"
        match chance.randrange(5):
            case 0 if member_id in wanted:
                members.hold = False
                members.store()
                answers += members.beat(member_id, -1)
                del wanted[member_id]
            case 1 if thread.waiting:
                thread.run()
            case 2:
                members.advance(1)
            case 3:
                members.hold = not members.hold
                members.store()
            case _:
                topics = chance.choice([("jobs",), ("more",), ("jobs", "more")])
                answers += members.beat(member_id, 0, *topics)
                wanted[member_id] = topics
    members.hold = False
    members.store()
    members.pump()
    for member_id, topics in wanted.items() or [("m0", ("jobs",))]:
        members.beat(member_id, 0, *topics)
        # What a thread has done before may still wait for its moment.
        store(members)
        finish(members, thread)
    group = members.group
    assert group.assigning is None
    assert group.target_epoch == group.epoch
    assert group.target.keys() == group.members.keys()
    for name, topic_id in (("jobs", JOBS), ("more", MORE)):
        subscribed = {member_id for member_id, member in group.members.items() if name in member.topics}
        given = {member_id: set(target.get(topic_id, ())) for member_id, target in group.target.items()}
        assert {member_id for member_id, indexes in given.items() if indexes} == subscribed
        assert set().union(*given.values()) == (set(range(4)) if subscribed else set())


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> tuple[Members, Thread]:
    """Return a world in which two names are very many: a thread looks their topics up."""
    for module in (targets, membership, looking):
        monkeypatch.setattr(module, "NAMES_AT_ONCE", 1)
    return large_group()


def test_the_hash_of_very_many_topics_is_stored_with_their_target(many: tuple[Members, Thread]) -> None:
    members, thread = many
    members.beat("m1", 0, "jobs", "more")
    assert members.group.metadata_hash == NOT_ASSIGNED_HERE
    finish(members, thread)
    found = metadata_hash(members.context, frozenset({"jobs", "more"}))
    assert members.group.metadata_hash == found != NOT_ASSIGNED_HERE
    epoch = members.group.epoch
    members.beat("m1", members.group.current_of("m1").epoch)
    finish(members, thread)
    assert members.group.epoch == epoch


def test_a_topic_that_grows_while_a_thread_looks_very_many_up_is_assigned(
    many: tuple[Members, Thread],
) -> None:
    members, thread = many
    members.beat("m1", 0, "jobs", "more")
    work, done = thread.waiting.pop(0)
    work()
    members.topics.by_name["jobs"].partition_count = 6
    members.machine.topics_changed(["jobs"])
    done(None)
    store(members)
    finish(members, thread)
    for _ in range(3):
        answers = members.beat("m1", members.group.current_of("m1").epoch)
        store(members)
        finish(members, thread)
        assert [answer.error_code for answer in answers] == [0]
    assert members.group.target["m1"][JOBS] == frozenset(range(6))


def test_states_that_cannot_be_made_of_very_many_topics_count_no_change(
    many: tuple[Members, Thread],
) -> None:
    members, thread = many
    members.hold_states = True
    answers = members.beat("m1", 0, "jobs", "more")
    for _ in range(3):
        finish(members, thread)
        members.machine.not_initialized(members.orders.pop(), members.now_ms)
        members.pump()
        answers += members.beat("m1", members.group.current_of("m1").epoch)
    assert [answer.error_code for answer in answers] == [0] * len(answers)
    assert members.group.epoch == 1


def test_the_loop_takes_no_line_of_python_for_each_of_very_many_names() -> None:
    members, thread = large_group()
    names = [f"many{number}" for number in range(1_500)]
    for number, name in enumerate(names):
        members.topics.add(name, UUID(int=100 + number))
    lines = Lines()
    members.hold_states = True
    first = lines.run("joining", members.beat, "m1", 0, *names)
    thread.run()
    lines.run("ordering states", store, members)
    order = members.orders.pop()
    note = members.machine.note(order, {topic_id: "x" for topic_id, _ in order.partitions}, members.now_ms)
    assert note is not None
    note.prepare()
    assert lines.run("noting", members.machine.noted, note, members.now_ms)
    lines.run("assigning", members.machine.states_noted, GROUP, members.now_ms)
    answers = [first]
    for member_id in ("m1", "m2", "m1"):
        while thread.waiting:
            thread.run()
            lines.run("what a thread has done", store, members)
        answers.append(lines.run("a heartbeat", members.beat, member_id, 0, *names))
    while thread.waiting:
        thread.run()
        lines.run("what a thread has done", store, members)
    assert [len(assigned(answer) or {}) for found in answers for answer in found] == [1_500] * 4
    assert lines.longest.size < len(names), lines.longest
