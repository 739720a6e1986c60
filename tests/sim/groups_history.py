"""The events of a simulated world, and the invariants that they must keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from groups.classic_group import ClassicGroup
from groups.consumer_group import ConsumerGroup
from groups.coordinator import Coordinator
from groups.offset_values import read_committed
from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import OffsetCommitRequest

if TYPE_CHECKING:
    from tests.sim.groups_member import Member, Place
    from tests.sim.groups_world import World


def group_of(coordinator: Coordinator, group_id: str) -> ClassicGroup | ConsumerGroup | None:
    """Return the server's own view of a group: simulations may look inside."""
    return coordinator._context.groups.get(group_id)


class History:
    """A recorder of events that checks the invariants as they happen."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.members: list[Member] = []
        self._value = 0
        # (group, generation, partition) -> member id
        self._owners: dict[tuple[str, int, Place], str] = {}
        self._generations: dict[str, int] = {}
        self._epochs: dict[str, int] = {}
        # (group, partition) -> values in the order acknowledged; and those without a known outcome
        self._acknowledged: dict[tuple[str, Place], int] = {}
        self._open: dict[tuple[str, Place], set[int]] = {}
        self._refused: set[int] = set()
        # What happened, and how often: a simulation in which nothing goes wrong proves nothing.
        self.counts: Counter[str] = Counter()
        # group -> newest generation or epoch that any member was told, and the holders of each partition
        self._newest: dict[str, int] = {}
        world.observers.append(self.check_holders)

    def happened(self) -> Counter[str]:
        """Return what happened, and how often."""
        found = Counter(self.counts)
        found["restarts"] = self.world.restarts
        found["members"] = len(self.members)
        found["static members"] = sum(member.instance_id is not None for member in self.members)
        for member in self.members:
            found[member.kind] += 1
        return found

    # --- generations and epochs --------------------------------------------------------------------------

    def generation_told(self, member: Member, generation: int) -> None:
        """Check that a member hears of no older generation than before."""
        known = self._generations.get(member.member_id, -1)
        assert generation >= known, f"{member.name}: generation {generation} after {known}"
        self._generations[member.member_id] = generation
        self.counts["assignments"] += 1

    def epoch_told(self, member: Member, epoch: int) -> None:
        """Check that a member hears of no older epoch than before."""
        known = self._epochs.get(member.member_id, 0)
        assert epoch >= known, f"{member.name}: epoch {epoch} after {known}"
        self._epochs[member.member_id] = epoch
        self.counts["epochs"] += epoch > known

    # --- owners ------------------------------------------------------------------------------------------

    def kind(self, coordinator: Coordinator, group_id: str) -> str:
        """Return the protocol that the group speaks now."""
        return "consumer" if isinstance(group_of(coordinator, group_id), ConsumerGroup) else "classic"

    def assigned(self, member: Member, generation: int, places: set[Place]) -> None:
        """Check that partitions given to a member in a generation have no other owner in it."""
        # A static member that starts again takes the place of its former self, which is fenced.
        name = member.instance_id or member.member_id
        for place in places:
            owner = self._owners.setdefault((member.group_id, generation, place), name)
            assert owner == name, f"{place} has two owners in generation {generation}: {owner} and {name}"

    def check_holders(self) -> None:
        """Check that the server knows what is held by each consumer that reads and is not fenced."""
        coordinator = self.world.coordinator
        if coordinator is None:
            return
        for member in self.members:
            if not member.held or not member.alive:
                continue
            group = group_of(coordinator, member.group_id)
            if not isinstance(group, ConsumerGroup) or member.member_id not in group.metadata:
                continue
            if group.metadata[member.member_id].classic is not None:
                continue
            current = group.assignment(member.member_id)
            if current.epoch < member.generation:
                continue
            for topic, index in member.held:
                topic_id = self.world.topics.by_name[topic].topic_id
                known = index in current.assigned.get(topic_id, ()) or index in current.revoking.get(
                    topic_id, ()
                )
                assert known, f"{member.name} reads {topic}-{index}, which the server took away unasked"

    # --- commits -----------------------------------------------------------------------------------------

    def next_value(self) -> int:
        """Return an offset that has not been committed yet."""
        self._value += 1
        return self._value

    def commit_arrives(
        self, coordinator: Coordinator, member: Member, request: OffsetCommitRequest, place: Place, value: int
    ) -> Callable[[Any], None]:
        """Remember a commit that the server gets; return the function to call with its answer."""
        legal = self._is_legal(coordinator, request, place)
        key = (member.group_id, place)
        self._open.setdefault(key, set()).add(value)

        def told(response: Any) -> None:
            code = ErrorCode(response.topics[0].partitions[0].error_code)
            self._open[key].discard(value)
            if code == ErrorCode.NONE:
                assert legal, f"the commit of {member.name} was accepted: {request}"
                self._acknowledged[key] = value
                self.counts["acknowledged"] += 1
            elif code == ErrorCode.COORDINATOR_NOT_AVAILABLE:
                # Its record may or may not have reached the disk before the failure.
                self._refused.add(value)
            else:
                self.counts["refused"] += 1
                self._refused.add(value)

        return told

    def _is_legal(self, coordinator: Coordinator, request: OffsetCommitRequest, place: Place) -> bool:
        group = group_of(coordinator, request.group_id)
        epoch = request.generation_id_or_member_epoch
        if isinstance(group, ClassicGroup):
            return request.member_id in group.members and epoch == group.generation
        if group is None or request.member_id not in group.metadata:
            return False
        current = group.assignment(request.member_id)
        topic_id = self.world.topics.by_name[place[0]].topic_id
        since = {**current.assigned.get(topic_id, {}), **current.revoking.get(topic_id, {})}.get(place[1])
        return epoch == current.epoch or (since is not None and since <= epoch < current.epoch)

    def check_offsets(self) -> None:
        """Check that what is committed was acknowledged last, or was on its way when the server crashed."""
        coordinator = self.world.coordinator
        if coordinator is None:
            return
        for (group_id, place), value in self._acknowledged.items():
            found = coordinator.committed(group_id, *place)
            assert found is not None, f"the offset of {group_id} in {place} is lost"
            assert found.offset not in self._refused, f"{place}: {found.offset} was refused and is there"
            allowed = {value} | self._open.get((group_id, place), set())
            assert found.offset in allowed, f"{place}: {found.offset} is there, {value} was acknowledged last"

    # --- the end -----------------------------------------------------------------------------------------

    def check_settled(self) -> None:
        """Check that all partitions are read by exactly one living member of each group."""
        coordinator = self.world.coordinator
        assert coordinator is not None
        for group_id in {member.group_id for member in self.members}:
            living = [member for member in self.members if member.alive and member.group_id == group_id]
            if not living:
                continue
            wanted = {
                (topic, index)
                for member in living
                for topic in member.topics
                for index in range(self.world.topics.by_name[topic].partition_count)
            }
            holders: dict[Place, list[str]] = {}
            for member in living:
                for place in member.held:
                    holders.setdefault(place, []).append(member.name)
            twice = {place: names for place, names in holders.items() if len(names) > 1}
            assert not twice, f"group {group_id}: read by more than one: {twice}"
            missing = wanted - set(holders)
            assert not missing, f"group {group_id}: no member reads {sorted(missing)}"

    def check_replay(self) -> None:
        """Check that a coordinator loaded from the log is in the same state as the one that wrote it."""
        coordinator = self.world.coordinator
        assert coordinator is not None
        live = coordinator._context
        loaded = self.world.replayed_coordinator()._context
        for group_id, group in live.groups.items():
            other = loaded.groups.get(group_id)
            if isinstance(group, ConsumerGroup):
                assert isinstance(other, ConsumerGroup), f"{group_id} is loaded as {other}"
                for name in ("epoch", "metadata", "current", "target", "target_epoch", "owners", "instances"):
                    assert getattr(group, name) == getattr(other, name), (group_id, name)
            elif group.members:
                assert isinstance(other, ClassicGroup), f"{group_id} is loaded as {other}"
                assert group.generation == other.generation
                assert {name: member.assignment for name, member in group.members.items()} == {
                    name: member.assignment for name, member in other.members.items()
                }
        for group_id in live.offsets.groups():
            for key, value in live.offsets.iterate(group_id):
                found = loaded.offsets.topics(group_id)[key.topic][key.partition]
                assert read_committed(value) == read_committed(found), key
