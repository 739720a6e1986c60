"""Large targets of any group: computed elsewhere, stored in parts, void when what they follow is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

import pytest

from groups.assignment import NOTHING, Assignment
from groups.effects import EncodedRecord, Undo
from groups.large_target import TOPICS_AT_ONCE, LargeTarget, MemberTarget
from tests.groups.driver import Driver


class Group:
    """A group of no kind."""

    def __init__(self) -> None:
        self.group_id = "g"
        self.epoch = 7
        self.assigning: list[Callable[[], None]] | None = None


class Target(LargeTarget[Group]):
    """A target that notes what is done with it."""

    AT_ONCE = 2
    TIMER = "store"

    def __init__(self, driver: Driver, group: Group) -> None:
        super().__init__(driver.coordinator._context, group)
        self.stored: list[tuple[list[str], bool]] = []
        self.is_alive = True
        self.next = 0
        self.undo: list[Undo] = []

    def is_there(self) -> bool:
        """Whether the group is there."""
        return self.is_alive

    def store(self, some: Sequence[MemberTarget], *, is_last: bool) -> None:
        """Note the members."""
        self.stored.append(([name for name, _ in some], is_last))

    def encode(self, member_id: str, target: Assignment) -> EncodedRecord:
        """Return something for a record."""
        return member_id.encode(), b"%d topics" % len(target)

    def assign_next(self) -> None:
        """Count."""
        self.next += 1

    def on_undo(self, undo: Undo) -> None:
        """Keep the step, as the changes that it follows."""
        self.undo.append(undo)


def begun(driver: Driver, *members: str) -> Target:
    target = Target(driver, Group())
    target.begin(lambda: dict.fromkeys(members, NOTHING), target)
    return target


def test_it_is_stored_some_members_at_a_time_and_ends_with_the_last(driver: Driver) -> None:
    target = begun(driver, "a", "b", "c")
    went_on: list[str] = []
    assert target.group.assigning is not None
    target.group.assigning.append(lambda: went_on.append("a heartbeat"))
    driver.advance(0)
    assert (target.stored, went_on) == ([(["a", "b"], False)], [])
    driver.advance(1)
    assert target.stored[1:] == [(["c"], True)]
    assert (went_on, target.next) == (["a heartbeat"], 1)
    assert not target.group.assigning


def test_the_last_part_comes_even_if_no_member_is_left_for_it(driver: Driver) -> None:
    target = begun(driver, "a", "b")
    driver.advance(5)
    assert target.stored == [(["a", "b"], False), ([], True)]


def test_it_is_void_when_the_changes_before_it_are_undone(driver: Driver) -> None:
    target = begun(driver, "a")
    target.undo[0]()
    driver.advance(1)
    assert (target.stored, target.group.assigning, target.next) == ([], None, 1)


def test_it_is_void_for_a_group_that_is_another_now(driver: Driver) -> None:
    target = begun(driver, "a", "b", "c")
    driver.advance(0)
    target.is_alive = False
    driver.advance(5)
    assert (len(target.stored), target.group.assigning, target.next) == (1, None, 0)


def test_an_error_of_the_thread_lets_heartbeats_go_on(driver: Driver) -> None:
    target, went_on = Target(driver, Group()), list[str]()

    def fails() -> dict[str, object]:
        raise ZeroDivisionError

    target.begin(fails, target)  # type: ignore[arg-type]
    assert target.group.assigning is not None
    target.group.assigning.append(lambda: went_on.append("a heartbeat"))
    with pytest.raises(ZeroDivisionError):
        driver.advance(1)
    assert (went_on, target.stored) == (["a heartbeat"], [])


def test_a_thread_writes_the_records_of_targets_with_very_many_topics(driver: Driver) -> None:
    driver.threads.hold = True
    target = Target(driver, Group())
    wide = {UUID(int=number): frozenset({0}) for number in range(TOPICS_AT_ONCE + 1)}
    target.begin(lambda: {"a": wide, "b": NOTHING}, target)
    assert target.encoded == {}
    driver.threads.do_work()
    assert target.encoded == {"a": (b"a", b"201 topics")}
