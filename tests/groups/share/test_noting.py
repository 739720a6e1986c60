"""A group has states in very many partitions: noted in parts, they are as if they were noted at once."""

from __future__ import annotations

from uuid import UUID

from groups.share.membership import InitOrder
from groups.share.noting import StatesNote
from protocol.error_codes import ErrorCode
from tests.groups.share.members import GROUP, JOBS, MORE, Members, assigned

ALL = [0, 1, 2, 3]


def held() -> Members:
    """Return members of which the first waits for its states."""
    members = Members()
    members.topics.add("more", MORE)
    members.hold_states = True
    return members


def note_of(members: Members, order: InitOrder) -> StatesNote:
    note = members.machine.note(order, {JOBS: "jobs", MORE: "more"}, members.now_ms)
    assert note is not None
    note.prepare()
    return note


def finish(members: Members) -> None:
    members.machine.states_noted(GROUP, members.now_ms)
    members.pump()


def test_the_heartbeat_is_answered_with_the_partitions_when_the_note_is_stored() -> None:
    members = held()
    answers = members.beat("m1", 0, "jobs", "more")
    note = note_of(members, members.orders.pop())
    assert members.machine.noted(note, members.now_ms)
    members.pump()
    assert answers == []
    finish(members)
    assert [assigned(answer) for answer in answers] == [{JOBS: ALL, MORE: ALL}]


def test_the_records_are_those_of_a_note_that_is_made_at_once() -> None:
    logs = []
    for parted in (True, False):
        members = held()
        members.beat("m1", 0, "jobs", "more")
        order = members.orders.pop()
        if parted:
            assert members.machine.noted(note_of(members, order), members.now_ms)
            finish(members)
        else:
            members.machine.initialized(order, members.now_ms)
            members.pump()
        logs.append(members.log)
    assert logs[0] == logs[1]


def test_a_server_that_ends_between_the_note_and_its_assignment_assigns_after_the_start() -> None:
    members = held()
    members.beat("m1", 0, "jobs")
    assert members.machine.noted(note_of(members, members.orders.pop()), members.now_ms)
    members.pump()
    members.start()
    (answer,) = members.beat("m1", 0, "jobs")
    assert assigned(answer) == {JOBS: ALL}
    assert members.orders == []


def test_a_note_that_is_lost_refuses_the_heartbeat_and_is_ordered_again() -> None:
    members = held()
    answers = members.beat("m1", 0, "jobs")
    members.hold = True
    assert members.machine.noted(note_of(members, members.orders.pop()), members.now_ms)
    finish(members)
    members.lose()
    assert [answer.error_code for answer in answers] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    members.hold = members.hold_states = False
    (answer,) = members.beat("m1", 0, "jobs")
    assert assigned(answer) == {JOBS: ALL}


def test_a_note_of_states_that_have_changed_meanwhile_is_not_stored() -> None:
    members = held()
    members.beat("m1", 0, "jobs")
    order = members.orders.pop()
    note = note_of(members, order)
    members.machine.initialized(InitOrder(GROUP, ((MORE, 0),)), members.now_ms)
    members.pump()
    assert not members.machine.noted(note, members.now_ms)
    assert members.machine.noted(note_of(members, order), members.now_ms)
    finish(members)
    assert {topic_id: found.partitions for topic_id, found in members.group.initialized.items()} == {
        MORE: {0},
        JOBS: frozenset(ALL),
    }


def test_a_group_that_ends_meanwhile_needs_no_note() -> None:
    members = held()
    answers = members.beat("m1", 0, "jobs")
    order = members.orders.pop()
    note = note_of(members, order)
    members.machine.unload([0])
    log = list(members.log)
    assert members.machine.noted(note, members.now_ms)
    assert members.machine.note(order, {}, members.now_ms) is None
    finish(members)
    assert members.log == log
    assert [answer.error_code for answer in answers] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_a_topic_that_is_deleted_meanwhile_is_not_assigned_and_its_state_goes() -> None:
    members = held()
    answers = members.beat("m1", 0, "jobs", "more")
    note = note_of(members, members.orders.pop())
    del members.topics.by_id[MORE]
    members.topics.add("more", UUID(int=7))
    members.machine.topics_changed(["more"])
    assert members.machine.noted(note, members.now_ms)
    finish(members)
    assert [assigned(answer) for answer in answers] == [{JOBS: ALL}]
    members.hold_states = False
    (answer,) = members.beat("m1", answers[0].member_epoch)
    assert assigned(answer) == {JOBS: ALL, UUID(int=7): ALL}
    assert MORE not in members.group.initialized
