"""Members of share groups: epochs, assignments, states, losses, restarts."""

from __future__ import annotations

from uuid import UUID

import pytest

from groups.memory import ASSIGNED_BYTES
from groups.share.config import ShareGroupConfig
from groups.share.share_group import ShareGroupState
from protocol.error_codes import ErrorCode
from tests.groups.share.driver import Topic
from tests.groups.share.members import GROUP, JOBS, MORE, Members, assigned

ALL = [0, 1, 2, 3]


def test_the_first_member_gets_every_partition_once_the_group_has_a_state_there() -> None:
    members = Members()
    members.hold_states = True
    answers = members.beat("m1", 0, "jobs")
    assert answers == []
    assert members.orders[0].partitions == tuple((JOBS, index) for index in ALL)
    members.hold_states = False
    members.pump()
    (answer,) = answers
    assert (answer.error_code, answer.member_epoch, answer.heartbeat_interval_ms) == (0, 2, 5_000)
    assert assigned(answer) == {JOBS: ALL}
    assert members.group.state == ShareGroupState.STABLE


def test_a_state_is_ordered_once() -> None:
    members = Members()
    members.join("m1")
    members.join("m2")
    members.beat("m1", members.group.epoch - 1)
    assert members.orders == []


def test_states_that_could_not_be_made_are_ordered_by_the_next_heartbeat() -> None:
    members = Members()
    members.hold_states = True
    answers = members.beat("m1", 0, "jobs")
    members.machine.not_initialized(members.orders.pop(), 0)
    members.pump()
    assert [assigned(answer) for answer in answers] == [{}]
    members.hold_states = False
    (answer,) = members.beat("m1", answers[0].member_epoch)
    assert assigned(answer) == {JOBS: ALL}


def test_partitions_are_divided_and_a_member_follows_with_its_own_heartbeat() -> None:
    members = Members()
    first = members.join("m1")
    second = members.join("m2")
    assert assigned(second) == {JOBS: [0, 1]} or assigned(second) == {JOBS: [2, 3]}
    (followed,) = members.beat("m1", first.member_epoch)
    assert followed.member_epoch == second.member_epoch
    mine, others = assigned(followed), assigned(second)
    assert mine is not None
    assert others is not None
    assert sorted(mine[JOBS] + others[JOBS]) == ALL
    (quiet,) = members.beat("m1", followed.member_epoch)
    assert quiet.assignment is None


def test_more_members_than_partitions_share_them() -> None:
    members = Members()
    answers = [members.join(f"m{number}") for number in range(6)]
    assert all(assigned(answer) for answer in answers[4:])


def test_a_lost_answer_may_be_asked_for_again() -> None:
    members = Members()
    first = members.join("m1")
    members.join("m2")
    members.beat("m1", first.member_epoch)
    (again,) = members.beat("m1", first.member_epoch)
    assert again.error_code == 0


@pytest.mark.parametrize("epoch", [1, 99])
def test_another_epoch_is_fenced(epoch: int) -> None:
    members = Members()
    members.join("m1")
    members.beat("m1", 0, "jobs")
    members.join("m2")
    members.beat("m1", 2)
    (answer,) = members.beat("m1", epoch)
    assert answer.error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_strangers_are_refused() -> None:
    members = Members()
    assert members.beat("m1", 5)[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert members.beat("m1", -1)[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
    members.join("m1")
    assert members.beat("m2", 5)[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert members.beat("m2", -1)[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_id_of_a_group_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    members = Members()
    monkeypatch.setattr(type(members.context), "exists", lambda *_: True)
    assert members.beat("m1", 0, "jobs")[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_full_group_takes_no_other_member() -> None:
    members = Members(ShareGroupConfig(group_share_max_size=1))
    members.join("m1")
    assert members.join("m2").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert members.join("m1").error_code == 0


def test_a_partition_that_is_not_loaded_is_refused() -> None:
    members = Members()
    members.context.loaded.clear()
    assert members.join("m1").error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_a_member_that_leaves_or_falls_silent_gives_its_partitions_to_the_others() -> None:
    members = Members()
    members.join("m1")
    members.join("m2")
    (left,) = members.beat("m2", -1)
    assert (left.error_code, left.member_epoch) == (0, -1)
    members.join("m3")
    members.advance(44_999)
    members.beat("m1", 0, "jobs")
    members.advance(1)
    assert set(members.group.members) == {"m1"}
    (answer,) = members.beat("m1", members.group.current["m1"].epoch)
    assert assigned(answer) == {JOBS: ALL}


def test_a_group_without_members_is_empty_and_keeps_its_states() -> None:
    members = Members()
    members.join("m1")
    members.beat("m1", -1)
    members.start()
    assert members.group.state == ShareGroupState.EMPTY
    assert members.group.initialized[JOBS].partitions == frozenset(ALL)
    assert members.context.memory.group_bytes(GROUP) == len(ALL) * ASSIGNED_BYTES


def test_a_restart_changes_nothing() -> None:
    members = Members()
    members.join("m1")
    second = members.join("m2")
    before = sorted(map(repr, members.group.records()))
    memory = members.context.memory.group_bytes(GROUP)
    members.start()
    assert sorted(map(repr, members.group.records())) == before
    assert members.context.memory.group_bytes(GROUP) == memory
    (answer,) = members.beat("m2", second.member_epoch)
    assert (answer.error_code, answer.assignment) == (0, None)
    members.advance(45_000)
    assert not members.group.members


def test_what_could_not_be_stored_is_taken_back() -> None:
    members = Members()
    first = members.join("m1")
    before = sorted(map(repr, members.group.records()))
    members.hold = True
    joining = members.beat("m2", 0, "jobs")
    leaving = members.beat("m1", -1)
    members.lose()
    assert [answer.error_code for answer in [*joining, *leaving]] == [15, 15]
    assert sorted(map(repr, members.group.records())) == before
    members.hold = False
    assert members.beat("m1", first.member_epoch)[0].error_code == 0
    members.advance(45_000)
    assert not members.group.members


def test_a_topic_that_grows_or_is_created_reaches_members_with_their_next_heartbeat() -> None:
    members = Members()
    first = members.join("m1", "jobs", "more")
    assert assigned(first) == {JOBS: ALL}
    members.topics.add("more", MORE)
    members.topics.by_name["jobs"] = members.topics.by_id[JOBS] = Topic("jobs", JOBS, 5)
    members.machine.topics_changed(["more", "jobs"])
    (second,) = members.beat("m1", first.member_epoch)
    assert assigned(second) == {JOBS: [*ALL, 4], MORE: ALL}


def test_a_deleted_topic_is_taken_from_the_members_and_its_states_are_forgotten() -> None:
    members = Members()
    members.topics.add("more", MORE)
    first = members.join("m1", "jobs", "more")
    del members.topics.by_name["jobs"], members.topics.by_id[JOBS]
    members.machine.topics_changed(["jobs"])
    (second,) = members.beat("m1", first.member_epoch)
    assert assigned(second) == {MORE: ALL}
    members.topics.add("jobs", UUID(int=3))
    members.machine.topics_changed(["jobs"])
    members.beat("m1", second.member_epoch)
    assert JOBS not in members.group.initialized


def test_states_that_are_lost_on_their_way_to_the_group_are_ordered_again() -> None:
    members = Members()
    members.hold_states = True
    waiting = members.beat("m1", 0, "jobs")
    members.hold = True
    members.machine.initialized(members.orders.pop(), 0)
    members.pump()
    assert members.beat("m1", 0, "jobs") == []
    members.lose()
    assert [answer.error_code for answer in waiting] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    members.hold = members.hold_states = False
    (answer,) = members.beat("m1", 0, "jobs")
    assert assigned(answer) == {JOBS: ALL}


def test_topics_asked_for_while_states_are_made_come_with_the_next_heartbeat() -> None:
    members = Members()
    members.topics.add("more", MORE)
    members.hold_states = True
    members.beat("m1", 0, "jobs")
    second = members.beat("m2", 0, "more")
    members.hold_states = False
    members.pump()
    assert [assigned(answer) for answer in second] == [{}]
    (third,) = members.beat("m2", second[0].member_epoch)
    assert assigned(third) == {MORE: ALL}


def test_unloading_refuses_the_heartbeats_that_wait() -> None:
    members = Members()
    members.hold_states = True
    answers = members.beat("m1", 0, "jobs")
    members.machine.unload([0])
    members.pump()
    assert [answer.error_code for answer in answers] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert not members.machine.table.groups
    assert members.context.memory.group_bytes(GROUP) == 0


def test_states_that_come_while_their_group_is_replayed_change_nothing() -> None:
    members = Members()
    members.hold_states = True
    members.beat("m1", 0, "jobs")
    order = members.orders[0]
    log = list(members.log)
    members.machine.unload([0])
    members.context.loaded.clear()
    members.replay()
    members.machine.initialized(order, 0)
    members.machine.not_initialized(order, 0)
    members.advance(60_000)
    assert members.log == log
    assert set(members.group.members) == {"m1"}
    members.context.loaded.add(0)
    members.machine.loaded(["g"])
    members.advance(45_000)
    assert not members.group.members
