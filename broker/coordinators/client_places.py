"""The partitions that one client has as a member of groups, and the settings by which it reads each of them.

What a member has is noted when it has changed, and of that what is new and what has ended.  A partition is
counted once for each member that has it, by the settings of its group: whatever their number, a look at it
takes as long.

    of one group, or of several with the same settings      these settings apply
    of groups with different settings, or of several that    none do, as there is no telling whose a fetch is
      begin with a snapshot, each for itself
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from functools import partial
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final, cast
from uuid import UUID

from broker.coordinators.read_settings import PLAIN, GroupRead, ReadSettings
from broker.loop.slices import Pace, Steps, emptied

if TYPE_CHECKING:
    from groups.clients import ClientKey

logger = logging.getLogger("kawal.groups")

Topic = UUID | str
"""By its id; by its name in the assignments of classic members, which mean any topic that has it."""

Place = tuple[Topic, int]
"""A topic, and a partition of it."""

Part = Mapping[UUID, Collection[int]] | Mapping[str, Collection[int]]
"""Partitions by topic."""

PLACE_BYTES: Final = 110
"""The memory of a partition that a member has."""

KIND_BYTES: Final = 300
"""The same of a partition of several members, for each kind of settings that their groups have."""

MEMBER_BYTES: Final = 300
"""The memory of a member that has partitions, beyond those."""

CLIENT_BYTES: Final = 1_000
"""The memory of a client, beyond its members."""

NO_PART: Final[Part] = dict[UUID, Collection[int]]()

NAMED_MAX: Final = 5
"""The groups with the same settings that a warning names, and the settings: a client may be in 20,000."""


class ClientPlaces:
    """The partitions of one client."""

    __slots__ = ("_groups", "_several", "_sole", "_warned", "has_settings", "key", "size_bytes")

    def __init__(self, key: ClientKey) -> None:
        self.key = key
        # By group: its settings, and what each of its members has.
        self._groups: dict[str, tuple[GroupRead, dict[object, tuple[Part, ...]]]] = {}
        # Partitions that one member has; and those of several, by settings, with how many of each group.
        self._sole: dict[Place, GroupRead] = {}
        self._several: dict[Place, dict[ReadSettings, dict[GroupRead, int]]] = {}
        self._warned = False
        self.has_settings = 0
        """The partitions of members whose groups have settings, each counted for each member."""
        self.size_bytes = CLIENT_BYTES + len(key[1])

    def has_group(self, group_id: str) -> bool:
        """Whether the client has partitions for a group."""
        return group_id in self._groups

    def has(self, topic_id: UUID, name: str, index: int) -> bool:
        """Whether the client has a partition for any group."""
        return any(
            place in places
            for place in ((topic_id, index), (name, index))
            for places in (self._sole, self._several)
        )

    def read_of(self, topic_id: UUID, name: str, index: int) -> GroupRead | None:
        """Return the group by whose settings a partition is read; None: as it is stored."""
        by_id, by_name = (topic_id, index), (name, index)
        sole = self._sole.get(by_id)
        if sole is not None and by_name not in self._sole and by_name not in self._several:
            # Mostly: each look-up by id takes a line of Python for its hash.
            return None if sole.settings == PLAIN else sole
        some = [*self._some(by_id), *self._some(by_name)]
        if not some:
            return None
        first, settings = some[0], some[0].settings
        for other in some[1:]:
            if other is not first and (other.settings != settings or settings.begins_with_snapshot):
                self._warn(by_id, by_name)
                return None
        return None if settings == PLAIN else first

    def _some(self, place: Place) -> Iterable[GroupRead]:
        """Return those that decide of all that have a partition: two that differ, if any two do."""
        sole = self._sole.get(place)
        if sole is not None:
            return (sole,)
        by_settings = self._several.get(place)
        if by_settings is None:
            return ()
        if len(by_settings) == 1:
            return islice(next(iter(by_settings.values())), 2)
        return (next(iter(groups)) for groups in islice(by_settings.values(), 2))

    def _warn(self, *places: Place) -> None:
        """Tell once, until something changes, that there is no telling for which group the client reads."""
        if self._warned:
            return
        self._warned = True
        reads = [self._sole[place] for place in places if place in self._sole]
        for place in places:
            for groups in islice(self._several.get(place, {}).values(), NAMED_MAX):
                reads += islice(groups, NAMED_MAX)
        names = sorted({read.group_id for read in reads})
        logger.warning(
            "members of %s are all client %r on %s: their groups' settings for reading do not apply to"
            " partitions that more than one of them has; give them client ids of their own",
            ", ".join(map(repr, names)),
            self.key[1],
            self.key[0].removeprefix("/"),
        )

    # --- changes ---------------------------------------------------------------------------------------

    def note(
        self, group_id: str, settings: ReadSettings, member: object, parts: tuple[Part, ...], pace: Pace
    ) -> Generator[None, None, GroupRead]:
        """Note what a member has from now on, if it has anything; return its group.

        What it has already is there at any time; what is new comes before what it has no longer leaves.
        """
        read, members = self._groups.setdefault(group_id, (GroupRead(group_id, settings), {}))
        before = members.get(member, ())
        if any(parts):
            members[member] = parts
        else:
            members.pop(member, None)
        self.size_bytes += MEMBER_BYTES * ((member in members) - bool(before))
        self._warned = False
        for part, former in zip_longest(parts, before, fillvalue=NO_PART):
            yield from _differing(part, former, partial(self._add, read), pace)
        for part, former in zip_longest(parts, before, fillvalue=NO_PART):
            yield from _differing(former, part, partial(self._remove, read), pace)
        if not members:
            del self._groups[group_id]
        return read

    def emptied(self) -> Steps:
        """Forget all."""
        yield from emptied(self._groups, self._sole, self._several)
        self.has_settings, self.size_bytes = 0, CLIENT_BYTES + len(self.key[1])

    def _add(self, read: GroupRead, place: Place) -> None:
        self.size_bytes += PLACE_BYTES
        self.has_settings += read.settings != PLAIN
        several = self._several.get(place)
        if several is None:
            sole = self._sole.pop(place, None)
            if sole is None:
                self._sole[place] = read
                return
            several = self._several[place] = {sole.settings: {sole: 1}}
            self.size_bytes += KIND_BYTES
        groups = several.get(read.settings)
        if groups is None:
            groups = several[read.settings] = {}
            self.size_bytes += KIND_BYTES
        groups[read] = groups.get(read, 0) + 1

    def _remove(self, read: GroupRead, place: Place) -> None:
        self.size_bytes -= PLACE_BYTES
        self.has_settings -= read.settings != PLAIN
        several = self._several.get(place)
        if several is None:
            del self._sole[place]
            return
        groups = several[read.settings]
        groups[read] -= 1
        if not groups[read]:
            del groups[read]
            if not groups:
                del several[read.settings]
                self.size_bytes -= KIND_BYTES
                if not several:
                    del self._several[place]


def _differing(
    after: Part, before: Part, found: Callable[[Place], None], pace: Pace
) -> Generator[None, None, None]:
    """Call `found` with each partition that is in one and not in the other."""
    former = cast("Mapping[Topic, Collection[int]]", before)
    for topic, indexes in after.items():
        known = former.get(topic, ())
        if indexes is not known:
            for index in indexes:
                if index not in known:
                    found((topic, index))
                if pace.due():
                    yield
        if pace.due():
            yield
