"""The state that all handlers of group requests share: the groups, their timers, and the way to the log."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import filterfalse
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from uuid import UUID

from groups.classic_group import ClassicGroup
from groups.config import NO_SETTINGS, GroupConfig, GroupSettings
from groups.consumer_group import ConsumerGroup, ConsumerGroupKey
from groups.consumer_member import MemberAssignment
from groups.effects import Done, Journal, Stamp, Undo
from groups.errors import CoordinatorNotAvailable, GroupNotFound, NotCoordinator, NotLoaded
from groups.hidden_offsets import StagedKeys
from groups.lost import LostConsumer
from groups.memory import GroupMemory
from groups.misread import MisreadRecords
from groups.offload import Background, Offload, at_once
from groups.offset_room import OffsetRoom
from groups.offset_values import is_of_another
from groups.offsets import OffsetTable
from groups.ownership import Owners
from groups.record_keys import ClassicGroupKey, CurrentKey, Key, OffsetKey, partition_for
from groups.regexes import RegexIndex
from groups.split_facts import NO_SPLITS, SplitFacts
from groups.staged_offsets import StagedOffsets
from groups.timers import TimerKey, Timers
from groups.topics import Topics
from groups.weights import count_group, count_record
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from random import Random

Group = ClassicGroup | ConsumerGroup

LOST_CONSUMERS_MAX = 256
"""The most vanished consumers still shown: enough to review a night, 100 KB at most."""


GATES: Final = TimerKey("gates", "")
_WITHHELD: Final = TimerKey("gates again", "")

GATHER_MS: Final = 100
"""The time to gather commits before gates are looked at: a group commits all of its partitions together."""

LOOK_AGAIN_MS: Final = 5_000
"""The time after which withheld partitions are looked at again."""


def no_gates(_now_ms: int) -> None:
    """Follow no gates: the coordinator sets what does."""


def every_offset(_topic: str, _partition: int, start: int, end: int) -> int:
    """Return how many records there are between two offsets, if each offset has one."""
    return end - start


def no_settings(_: str) -> GroupSettings:
    """Return the settings of a group that has none of its own."""
    return NO_SETTINGS


class InternalError(NamedTuple):
    """An error of our own in the work on a group, outside its requests."""

    partition: int | None
    """The partition of the group, None for work on all groups."""
    group_id: str
    error: Exception


class Deletion(Protocol):
    """A deletion of very many offsets that goes on (groups/wide_deletion.py)."""

    @property
    def group_id(self) -> str:
        """The group whose offsets are deleted."""

    def end(self, code: ErrorCode) -> None:
        """End it, and tell the outcome."""


class Context:
    """The state of the coordinator.

    A group that has nothing but offsets has no object. `now_ms` is the monotonic time of the current step.
    """

    __slots__ = (
        "_rows_between",
        "_settings",
        "_wall_ms",
        "background",
        "changed_topics",
        "config",
        "counts",
        "doomed_staged",
        "elsewhere",
        "follow_gates",
        "forgets",
        "gated",
        "groups",
        "internal_errors",
        "journal",
        "loaded",
        "lost",
        "memory",
        "misread",
        "now_ms",
        "offload",
        "offset_room",
        "offsets",
        "quarantined",
        "random",
        "regexes",
        "replayed",
        "share_groups",
        "splits",
        "staged",
        "timers",
        "topics",
        "weight_max",
        "wide_deletions",
        "withholding",
    )

    def __init__(
        self,
        *,
        config: GroupConfig,
        topics: Topics,
        random: Random,
        wall_ms: Callable[[int], int],
        settings: Callable[[str], GroupSettings],
        rows_between: Callable[[str, int, int, int], int],
        offload: Offload,
        weight_max: int,
        splits: SplitFacts = NO_SPLITS,
        background: Background = at_once,
    ) -> None:
        self.config = config
        self.offload = offload
        # Takes the steps of long work, between which requests are served.
        self.background = background
        self.weight_max = weight_max
        self.topics = topics
        self.random = random
        self._wall_ms = wall_ms
        self._settings = settings
        self._rows_between = rows_between
        self.now_ms = 0
        self.groups: dict[str, Group] = {}
        self.regexes = RegexIndex(topics)
        self.memory = GroupMemory(self.regexes.told)
        # Share groups (groups/share/), whose code is loaded with the first of them.
        self.share_groups: Mapping[str, object] = {}
        self.offsets = OffsetTable(self.loading)
        self.staged = StagedOffsets()
        self.offset_room = OffsetRoom(self.offsets, self.staged)
        self.timers = Timers()
        self.journal = Journal()
        self.changed_topics: set[str] = set()
        # What was staged in deleted topics, and whether the deletion of offsets is on its way to the disk.
        self.doomed_staged: deque[StagedKeys] = deque()
        self.forgets = False
        self.wide_deletions: set[Deletion] = set()
        self.loaded: set[int] = set()
        # Those that another node leads; they count as loaded.
        self.elsewhere: Collection[int] = frozenset()
        # Groups with records in partitions that are being loaded.
        self.replayed: dict[str, None] = {}
        self.lost: deque[LostConsumer] = deque(maxlen=LOST_CONSUMERS_MAX)
        self.counts: Counter[str] = Counter()
        # Errors that the driver has not taken yet, and the groups that could not be loaded because of one.
        self.internal_errors: list[InternalError] = []
        self.quarantined: dict[str, str] = {}
        self.misread = MisreadRecords()
        self.splits = splits
        # Groups whose gates are to be looked at, and those from which something is withheld.
        self.gated: set[str] = set()
        self.withholding: set[str] = set()
        self.follow_gates: Callable[[int], None] = no_gates

    @property
    def wall_ms(self) -> int:
        """The time of day, in ms since 1970; it may jump."""
        return self._wall_ms(self.now_ms)

    def count_rows(self, key: OffsetKey, start: int | None, end: int) -> None:
        """Count the records that a commit has passed; a first one, or one that goes back, passes none."""
        count = 0
        if start is not None and end > start:
            count = self._rows_between(key.topic, key.partition, start, end)
        self.offsets.count_rows(key, count, self.wall_ms)

    def has_memory(self, key: OffsetKey, value: bytes) -> bool:
        """Whether there is room for an offset."""
        return self.offset_room.has(key, value, self.config.kawal_offsets_max_bytes)

    def may_stage(self, stamp: Stamp, key: OffsetKey, value: bytes) -> bool:
        """Whether a transaction may stage an offset: there is room, and few others have one of the key."""
        partition = self.partition(key.group_id)
        added_bytes = self.staged.added_bytes(partition, stamp, key, value)
        return self.staged.may_stage(partition, stamp, key) and self.offset_room.has_to_stage(
            added_bytes, self.config.kawal_offsets_max_bytes
        )

    def settings(self, group_id: str) -> GroupSettings:
        """Return the settings of a group that differ from the broker's."""
        return self._settings(group_id)

    # --- groups ---------------------------------------------------------------------------------------------

    def partition(self, group_id: str) -> int:
        """Return the partition of __consumer_offsets that holds the group."""
        return partition_for(group_id, self.config.offsets_topic_num_partitions)

    def loading(self, group_id: str) -> int | None:
        """Return the group's partition, if it is not loaded."""
        partition = self.partition(group_id)
        return None if partition in self.loaded else partition

    def check_here(self, group_id: str) -> None:
        """Check that the group's partition is loaded, and served here.

        Raises: NotLoaded; NotCoordinator.
        """
        partition = self.partition(group_id)
        if partition not in self.loaded:
            raise NotLoaded
        if partition in self.elsewhere:
            raise NotCoordinator

    def check_loaded(self, group_id: str) -> None:
        """Check that the group is loaded, and served here.

        Raises: NotLoaded; NotCoordinator; CoordinatorNotAvailable for a group that could not be.
        """
        self.check_here(group_id)
        if group_id in self.quarantined:
            raise CoordinatorNotAvailable(f"group {group_id!r} is quarantined: {self.quarantined[group_id]}")

    def failed(self, group_id: str, error: Exception) -> None:
        """Keep an error of our own, which is this group's alone, for the driver."""
        self.internal_errors.append(
            InternalError(self.partition(group_id) if group_id else None, group_id, error)
        )

    def exists(self, group_id: str) -> bool:
        """Whether there is such a group other than a share group, if only as the owner of offsets."""
        return (
            group_id in self.groups
            or self.offsets.holds(group_id)
            or bool(self.staged and self.staged.holds(group_id))
        )

    def check_no_share(self, group_id: str, wanted: str) -> None:
        """Check that an id is not that of a share group, where another type is wanted.

        Raises: GroupNotFound.
        """
        if group_id in self.share_groups:
            raise GroupNotFound(f"Group {group_id} is not a {wanted} group.")

    def classic(self, group_id: str) -> ClassicGroup | None:
        """Return the classic group of that id, if it is one."""
        group = self.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def consumer(self, group_id: str) -> ConsumerGroup | None:
        """Return the consumer group of that id, if it is one."""
        group = self.groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) else None

    def new_uuid(self) -> UUID:
        """Return a random id."""
        return UUID(int=self.random.getrandbits(128), version=4)

    def topic_ids(self, names: Collection[str]) -> set[UUID]:
        """Return the ids of those topics that exist."""
        # Without a line of Python for each: a member may have 20,000. One look-up of each: a thread may ask.
        found = filterfalse(partial(is_, None), map(self.topics.by_name.get, names))
        return set(map(attrgetter("topic_id"), found))

    # --- records --------------------------------------------------------------------------------------------

    @property
    def forgetting(self) -> bool:
        """Whether offsets of deleted topics are out of sight, and not all of them deleted from the log."""
        return self.forgets or bool(self.offsets.hidden) or self.offsets.has_doomed

    def is_of_former(self, key: OffsetKey, value: bytes) -> bool:
        """Whether an offset is of a deleted topic, after which another has got its name."""
        topic = self.topics.by_name.get(key.topic)
        return topic is not None and topic.recorded and is_of_another(value, topic.topic_id)

    def put_offset(self, key: OffsetKey, value: bytes | None) -> None:
        """Apply the durable record of an offset that was committed, or deleted, outside of transactions."""
        self.offsets.replay(key, value)
        if self.splits.topics:
            self.committed_in(key)

    def committed_in(self, key: OffsetKey) -> None:
        """Note that a group has committed: in a topic with splits its gates may open, or close."""
        if key.topic in self.splits.topics:
            self.look_soon(key.group_id)

    def look_soon(self, group_id: str) -> None:
        """Have a group look at its gates (groups/gate_changes.py)."""
        self.gated.add(group_id)
        self.timers.set_once(GATES, self.now_ms + GATHER_MS, lambda now_ms: self.follow_gates(now_ms))

    def look_again(self, group_id: str) -> None:
        """Have a group look at its gates some seconds later, as something is withheld from it."""
        self.withholding.add(group_id)
        self.timers.set_once(_WITHHELD, self.now_ms + LOOK_AGAIN_MS, self._look_at_withheld)

    def _look_at_withheld(self, now_ms: int) -> None:
        self.gated |= self.withholding
        self.withholding.clear()
        self.follow_gates(now_ms)

    def offset_keys(self, group_id: str) -> list[OffsetKey]:
        """Return every partition in which the group has, or may come to have, an offset; sorted."""
        return sorted({*self.offsets.keys(group_id), *self.staged.keys(group_id=group_id)})

    def replay(self, key: Key, value: Any) -> Undo | None:
        """Apply one record, at load and at run time alike; None if it changed nothing that can be undone."""
        if isinstance(key, OffsetKey):
            self.put_offset(key, value)
            self.staged.supersede(key)
            return None
        if isinstance(key, ClassicGroupKey):
            return self.put_group(
                key.group_id, None if value is None else ClassicGroup.from_record(key.group_id, value)
            )
        group = self.consumer(key.group_id)
        if group is None:
            if value is None:
                return None
            group = ConsumerGroup(key.group_id)
            undo_creation = self.put_group(key.group_id, group)
            return _both(self._replay(group, key, value), undo_creation)
        undo = self._replay(group, key, value)
        if value is None and group.blank:
            return _both(self.put_group(key.group_id, None), undo)
        return undo

    def _replay(self, group: ConsumerGroup, key: ConsumerGroupKey, value: Any) -> Undo:
        undo = group.replay(key, value)
        count_record(self.memory, group, key)
        return _both(undo, lambda: count_record(self.memory, group, key))

    def adopt(self, key: CurrentKey, value: MemberAssignment, owners: Owners) -> Undo:
        """Apply what a member has next, with its group's table of owners after it."""
        group = self.consumer(key.group_id)
        assert group is not None, f"a step of a member of group {key.group_id!r}, which does not exist"
        undo = group.adopt(key.member_id, value, owners)
        count_record(self.memory, group, key)
        return _both(undo, lambda: count_record(self.memory, group, key))

    def put_group(self, group_id: str, group: Group | None) -> Undo:
        """Set or remove a group."""
        old = self.groups.get(group_id)
        if group is None:
            self.groups.pop(group_id, None)
            self.memory.forget(group_id)
        else:
            self.groups[group_id] = group
            count_group(self.memory, group)

        def undo() -> None:
            made_since = self.groups.get(group_id)
            if isinstance(made_since, ClassicGroup) and made_since is not old:
                # Members wait in it that would never be answered.
                made_since.dissolve(ErrorCode.NOT_COORDINATOR, self.wall_ms)
            self.put_group(group_id, old)

        return undo

    def after_writes(self, group_id: str, done: Done) -> None:
        """Call `done` when all pending writes of the group's partition are durable, maybe at once."""
        self.journal.after_writes(self.partition(group_id), done, self.now_ms)


def _both(first: Undo, second: Undo) -> Undo:
    def undo() -> None:
        first()
        second()

    return undo
