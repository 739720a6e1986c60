"""The coordinator against a small model: one classic group and its offsets, and a log that may fail."""

from __future__ import annotations

from typing import ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from groups.classic_group import GENERATIONS_SKIPPED, ClassicGroup
from groups.coordinator import Coordinator
from groups.states import GroupState
from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest
from tests.groups.classic import ALL
from tests.groups.driver import Driver, client, codes


class Model:
    """A classic group in the fewest words: all members join again after each change."""

    def __init__(self) -> None:
        self.state = GroupState.EMPTY
        self.generation = 0
        self.members: list[str] = []
        self.joined: set[str] = set()
        self.leader = ""
        self.stored: tuple[int, list[str], str] = (0, [], "")
        self.skip = 0

    def prepare(self, *joined: str) -> None:
        self.state = GroupState.PREPARING_REBALANCE
        self.joined = set(joined)
        self.maybe_complete()

    def maybe_complete(self) -> None:
        if self.joined < set(self.members):
            return
        self.generation += 1 + self.skip
        if self.skip:
            self.stored = (self.generation, *self.stored[1:])
        self.skip = 0
        if self.members:
            if self.leader not in self.members:
                self.leader = self.members[0]
            self.state = GroupState.COMPLETING_REBALANCE
        else:
            self.state, self.leader = GroupState.EMPTY, ""
            self.stored = (self.generation, [], "")

    def join(self, member: str) -> None:
        if member not in self.members:
            self.members.append(member)
            self.leader = self.leader or member
        elif self.tells_generation(member):
            return
        if self.state == GroupState.PREPARING_REBALANCE:
            self.joined.add(member)
            self.maybe_complete()
        else:
            self.prepare(member)

    def tells_generation(self, member: str) -> bool:
        if self.state == GroupState.COMPLETING_REBALANCE:
            return True
        return self.state == GroupState.STABLE and member != self.leader and not self.skip

    def sync(self, member: str) -> None:
        if self.state == GroupState.COMPLETING_REBALANCE and member == self.leader:
            self.state = GroupState.STABLE
            self.stored = (self.generation, list(self.members), self.leader)

    def leave(self, member: str) -> None:
        self.members.remove(member)
        if self.leader == member:
            self.leader = self.members[0] if self.members else ""
        if self.state == GroupState.PREPARING_REBALANCE:
            self.joined.discard(member)
            self.maybe_complete()
        else:
            self.prepare()

    def restart(self) -> None:
        self.generation, members, self.leader = self.stored
        self.members = list(members)
        self.state = GroupState.STABLE if members else GroupState.EMPTY
        self.skip = GENERATIONS_SKIPPED if self.generation else 0

    @property
    def commit_answer(self) -> ErrorCode:
        completing = self.state == GroupState.COMPLETING_REBALANCE
        return ErrorCode.REBALANCE_IN_PROGRESS if completing else ErrorCode.NONE

    @property
    def beat_answer(self) -> ErrorCode:
        preparing = self.state == GroupState.PREPARING_REBALANCE
        return ErrorCode.REBALANCE_IN_PROGRESS if preparing else ErrorCode.NONE


class GroupMachine(RuleBasedStateMachine):
    """Members come, go and commit; the disk is slow, fails, or the server crashes."""

    FOREVER_MS: ClassVar[int] = 1_800_000

    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver(group_initial_rebalance_delay_ms=0, partitions=1)
        self.driver.create_topic("t", 3)
        self.model = Model()
        self.offsets: dict[int, int] = {}
        self.on_the_way: list[tuple[int, int]] = []
        self.value = 0

    @property
    def group(self) -> ClassicGroup | None:
        return self.driver.coordinator._context.classic("g")

    def member(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(self.model.members))

    # --- members: with a disk that is quick, as the model has none ------------------------------------------

    @precondition(lambda self: len(self.model.members) < 5 and not self.driver.hold)
    @rule()
    def join_new(self) -> None:
        before = set(self.group.members) if self.group else set()
        self.driver.join(version=3, session_ms=self.FOREVER_MS, rebalance_ms=self.FOREVER_MS)
        assert self.group is not None
        [member] = set(self.group.members) - before
        self.model.join(member)

    @precondition(lambda self: self.model.members and not self.driver.hold)
    @rule(data=st.data())
    def join_again(self, data: st.DataObject) -> None:
        member = self.member(data)
        answer = self.driver.join(
            "g", member, version=3, session_ms=self.FOREVER_MS, rebalance_ms=self.FOREVER_MS
        )
        self.model.join(member)
        if answer.waits:
            assert self.model.state == GroupState.PREPARING_REBALANCE
        else:
            assert answer.value.generation_id == self.model.generation

    @precondition(lambda self: self.model.members and not self.driver.hold)
    @rule(data=st.data())
    def sync(self, data: st.DataObject) -> None:
        member = self.member(data)
        before = self.model.state
        answer = self.driver.sync_group("g", member, self.model.generation, {member: ALL})
        self.model.sync(member)
        if before == GroupState.PREPARING_REBALANCE:
            assert answer.error == ErrorCode.REBALANCE_IN_PROGRESS
        elif self.model.state == GroupState.STABLE:
            assert answer.error == ErrorCode.NONE
        else:
            assert answer.waits

    @precondition(lambda self: self.model.members and not self.driver.hold)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        member = self.member(data)
        self.driver.leave("g", (member, None))
        self.model.leave(member)

    @precondition(lambda self: self.model.members)
    @rule(data=st.data(), behind=st.integers(0, 1))
    def beat(self, data: st.DataObject, behind: int) -> None:
        request = HeartbeatRequest(
            group_id="g", generation_id=self.model.generation - behind, member_id=self.member(data)
        )
        response = self.driver.coordinator.heartbeat(request, client(4), self.driver.now_ms)
        expected = ErrorCode.ILLEGAL_GENERATION if behind else self.model.beat_answer
        assert response.error_code == expected

    # --- offsets --------------------------------------------------------------------------------------------

    @rule(data=st.data(), partition=st.integers(0, 2), behind=st.integers(0, 1))
    def commit(self, data: st.DataObject, partition: int, behind: int) -> None:
        self.value += 1
        if self.model.members:
            member, generation = self.member(data), self.model.generation - behind
            expected = ErrorCode.ILLEGAL_GENERATION if behind else self.model.commit_answer
        else:
            member, generation, expected = "", -1, ErrorCode.NONE
        if not self.model.members and self.model.state != GroupState.EMPTY:
            return
        answer = self.driver.commit(
            "g", {("t", partition): self.value}, member_id=member, generation=generation
        )
        if expected:
            assert codes(answer) == [expected]
        elif self.driver.hold:
            assert answer.waits
            self.on_the_way.append((partition, self.value))
        else:
            assert codes(answer) == [ErrorCode.NONE]
            self.offsets[partition] = self.value

    @rule()
    def slow_down(self) -> None:
        self.driver.hold = True

    @rule()
    def sync_disk(self) -> None:
        self.driver.sync()
        self.driver.hold = False
        self.offsets.update(self.on_the_way)
        self.on_the_way.clear()

    @rule()
    def fail_disk(self) -> None:
        self.driver.fail()
        self.driver.hold = False
        self.on_the_way.clear()

    @rule()
    def crash(self) -> None:
        self.driver.hold = False
        self.driver.restart()
        self.on_the_way.clear()
        self.model.restart()

    # --- what must hold at all times ------------------------------------------------------------------------

    @invariant()
    def the_group_is_the_models(self) -> None:
        group = self.group
        if group is None:
            assert self.model.state == GroupState.EMPTY
            return
        assert (group.state, group.generation) == (self.model.state, self.model.generation)
        assert list(group.members) == self.model.members
        assert (group.leader or "") == self.model.leader

    @invariant()
    def offsets_are_the_last_acknowledged(self) -> None:
        for partition in range(3):
            assert self.driver.committed("g", "t", partition) == self.offsets.get(partition)

    @invariant()
    def the_log_makes_the_same_offsets(self) -> None:
        coordinator = Coordinator(
            config=self.driver.config,
            topics=self.driver.topics,
            random=self.driver.random,
            wall_ms=lambda now_ms: now_ms,
        )
        for key, value in self.driver.log[0]:
            coordinator.replay(0, key, value)
        for partition, offset in self.offsets.items():
            found = coordinator.committed("g", "t", partition)
            assert found is not None
            assert found.offset == offset


TestGroupMachine = GroupMachine.TestCase
TestGroupMachine.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


def test_a_new_coordinator_has_nothing_to_do_but_to_clean_up() -> None:
    driver = Driver()
    assert driver.coordinator.take_effects() == []
    assert driver.coordinator.next_deadline() == driver.config.offsets_retention_check_interval_ms


def test_only_the_first_record_of_a_share_group_needs_a_module() -> None:
    driver = Driver("t")
    share_epoch, classic = b"\x00\x0b\x00\x01g", b"\x00\x02\x00\x01g"
    assert driver.coordinator.needs_module(classic) == ""
    assert driver.coordinator.needs_module(share_epoch) == "groups.share.service"
    driver.coordinator.share(driver.now_ms)
    assert driver.coordinator.needs_module(share_epoch) == ""
