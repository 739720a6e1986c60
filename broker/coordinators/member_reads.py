"""The settings by which groups read, and the fetches they are for, since a fetch names no group.

    kawal.consume.excluded    without the records that a restoring client wrote
    kawal.min.poll.rows       wait for so many records
    kawal.enable.batch.meta   changes of topics in one batch
    kawal.snapshot.enable     the last record of each key first

A fetch is taken for one of a group's if a member of the group has its client id and its host, and has been
assigned the partition.  If members of another group, which has other settings, are on the same host under
the same client id and have the same partition, there is no telling whose the fetch is: the settings do not
apply, and the log says so.  A reader without a group under a member's client id, on the member's host, that
reads the member's partition, is taken for the member.

After a start, fetches wait until the groups with such settings are known.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from broker.catalogue.topics import OFFSETS_TOPIC

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.coordinators.groups import Groups
    from broker.loop.call import Call
    from broker.loop.loop import Loop
    from broker.loop.slices import Until
    from broker.storage.partition import Partition
    from groups.topics import Client
    from protocol.messages.fetch import FetchRequest

logger = logging.getLogger("kawal.groups")

LOAD_WAIT_MS: Final = 30_000
"""The time after a start for which fetches wait for groups that are not loaded."""

CLIENTS_MAX: Final = 1_000
PLACES_MAX: Final = 200_000
"""The clients whose partitions are remembered, and the partitions of all of them, at 140 bytes each; those
of others are looked up again."""

EXCLUDED: Final = "kawal.consume.excluded"
MIN_ROWS: Final = "kawal.min.poll.rows"
BATCH_META: Final = "kawal.enable.batch.meta"
SNAPSHOT: Final = "kawal.snapshot.enable"
NAMES: Final = frozenset({EXCLUDED, MIN_ROWS, BATCH_META, SNAPSHOT})


class ReadSettings(NamedTuple):
    """The settings by which one group reads."""

    excludes: bool = False
    min_rows: int = 0
    packs_changes: bool = False
    begins_with_snapshot: bool = False


Place = tuple[UUID, int]
"""A topic's id, and a partition of it."""


class GroupRead(NamedTuple):
    """A group that reads a partition, and its settings."""

    group_id: str
    settings: ReadSettings
    positions: Mapping[Place, int | None] | None = None
    """Its progress, by partition; None: it is coordinated here."""


Reads = Mapping[Place, GroupRead]

_NOTHING: Final[Reads] = {}


class MemberReads:
    """The settings of all groups, and the clients they are for."""

    def __init__(self, metadata: Metadata, loop: Loop, groups: Callable[[], Groups], now_ms: int) -> None:
        self._metadata = metadata
        self._loop = loop
        self._groups = groups
        self._known_by_ms = now_ms + LOAD_WAIT_MS
        self._changes = -1
        self._settings: dict[str, ReadSettings] = {}
        # The reads of each client, with the state of the groups for which they were looked up.
        self._found: dict[tuple[str, str], tuple[tuple[int, int], Reads]] = {}
        # The partitions in there, and in what has been replaced since it was emptied.
        self._places = 0

    @property
    def is_used(self) -> bool:
        """Whether any group has such settings."""
        if self._changes != self._metadata.catalogue.changes:
            self._refresh()
        return bool(self._settings)

    @property
    def settings(self) -> Mapping[str, ReadSettings]:
        """The settings of the groups that have any."""
        return self._settings if self.is_used else {}

    def position(self, read: GroupRead, partition: Partition) -> int | None:
        """Return the progress of a group in a partition that it reads."""
        topic = partition.topic
        if read.positions is not None:
            return read.positions.get((topic.topic_id, partition.index))
        return self._groups().position(read.group_id, topic.name, partition.index)

    def is_unknown(self, _call: Call[FetchRequest]) -> bool:
        """Whether it must be found out for which groups a fetch is."""
        return self.is_loading()

    def learn(self, _call: Call[FetchRequest], until_ms: int) -> Generator[Until | None, None, bool]:
        """Find out for which groups a fetch is; return whether that is known in time."""
        while self.is_loading():
            if self._loop.clock.turn_ms > until_ms:
                return False
            yield None
        return True

    def is_loading(self) -> bool:
        """Whether it is not known yet who the members of these groups are."""
        if self._loop.clock.turn_ms >= self._known_by_ms or not self._has_groups():
            return False
        with self._groups().step(self._loop.clock.turn_ms) as coordinator:
            return not all(map(coordinator.is_known, self._settings))

    def of(self, client: Client) -> Reads:
        """Return the partitions that the client reads for a group with such settings."""
        if not self._has_groups():
            return _NOTHING
        key = client.host, client.client_id
        with self._groups().step(self._loop.clock.turn_ms) as coordinator:
            state = self._changes, coordinator.membership_changes
            known = self._found.get(key)
            if known is not None and known[0] == state:
                return known[1]
            held = coordinator.fetched_by(client, self._settings.keys())
            every = coordinator.fetched_by(client) if held else {}
        reads = self._reads(client, every)
        self._places += len(reads)
        if len(self._found) >= CLIENTS_MAX or self._places > PLACES_MAX:
            self._found.clear()
            self._places = len(reads)
        self._found[key] = state, reads
        return reads

    def _has_groups(self) -> bool:
        return OFFSETS_TOPIC in self._metadata.catalogue.by_name

    def _reads(self, client: Client, held: Mapping[str, set[Place]]) -> Reads:
        found: dict[Place, GroupRead] = {}
        doubtful: set[Place] = set()
        for group_id, places in held.items():
            settings = self._settings.get(group_id, ReadSettings())
            own = GroupRead(group_id, settings)
            for place in places:
                other = found.setdefault(place, own)
                if other.group_id != group_id and (
                    other.settings != settings or settings.begins_with_snapshot
                ):
                    doubtful.add(place)
        if doubtful:
            logger.warning(
                "members of %s are all client %r on %s: their groups' settings for reading do not apply to %d"
                " partitions; give them client ids of their own",
                ", ".join(map(repr, sorted(held))),
                client.client_id,
                client.host.removeprefix("/"),
                len(doubtful),
            )
        return {
            place: read
            for place, read in found.items()
            if place not in doubtful and read.settings != ReadSettings()
        }

    def _refresh(self) -> None:
        """Read the settings of all groups again."""
        from broker.config import group_configs

        catalogue, layers = self._metadata.catalogue, self._metadata.live_config.layers
        self._changes = catalogue.changes
        settings: dict[str, ReadSettings] = {}
        for group_id, own in catalogue.group_configs.items():
            if NAMES.isdisjoint(own):
                continue
            values = {name: group_configs.value(name, own, layers) for name in NAMES}
            rows = values[MIN_ROWS]
            assert isinstance(rows, int)
            read = ReadSettings(
                excludes=bool(values[EXCLUDED]),
                min_rows=rows,
                packs_changes=bool(values[BATCH_META]),
                begins_with_snapshot=bool(values[SNAPSHOT]),
            )
            if read != ReadSettings():
                settings[group_id] = read
        self._settings = settings
