"""The fetches that are for groups with settings for reading (read_settings.py), since a fetch names no group.

A fetch is taken for one of a group's if a member of the group has its client id and its host, and has been
assigned the partition.  If members of another group, which has other settings, are on the same host under
the same client id and have the same partition, there is no telling whose the fetch is: the settings do not
apply, and the log says so.  A reader without a group under a member's client id, on the member's host, that
reads the member's partition, is taken for the member.

    fetch --> is its client a member of a group with settings? --no----------------------> read
                 | yes                                                                      ^
                 `--> has one of its members changed since the last fetch? --no-----------> |
                         | yes                                                              |
                         `--> note those, in steps (client_places.py) --------------------> '

So the first fetch of a client looks at its members, each later one at those that have changed, and none at
any other group.  After a start, fetches wait until the groups with such settings are known.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from broker.catalogue.topics import OFFSETS_TOPIC
from broker.coordinators.client_places import ClientPlaces, Part
from broker.coordinators.read_settings import PLAIN, GroupRead, ReadSettings, read_settings
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Pace, in_thread

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.coordinators.groups import Groups
    from broker.coordinators.node_reads import Told
    from broker.loop.call import Call
    from broker.loop.loop import Loop
    from broker.loop.slices import Offload, Until, WaitingSteps
    from broker.storage.partition import Partition
    from groups.clients import ClientKey, MemberId
    from groups.topics import Client
    from protocol.messages.fetch import FetchRequest

logger = logging.getLogger("kawal.groups")

LOAD_WAIT_MS: Final = 30_000
"""The time after a start for which fetches wait for groups that are not loaded."""

READS_BYTES_MAX: Final = 32 << 20
"""The memory of what is known of clients, some 250,000 partitions; above it those are forgotten that fetched
longest ago, and looked at anew.  To a client that alone has more no settings apply, and the log says so."""

MEMBER_ITEMS: Final = 10
"""The plain items whose time a member takes beside its partitions: 5 us."""

READ_AT_ONCE_BYTES: Final = 8 << 10
"""Assignments of classic members up to this size are read without a thread, in 1 ms."""


@dataclass(slots=True)
class Followed:
    """A client that is followed."""

    places: ClientPlaces
    is_busy: bool = False
    """Whether a fetch notes what has changed."""
    is_outdated: bool = False
    """Whether all is to be noted anew."""
    is_too_wide: bool = False
    """Whether it has more than is kept, so that nothing is."""
    weighed_bytes: int = 0
    told: dict[int, Told] = field(default_factory=dict)
    """What other nodes have told of it, as far as it is noted (reads_elsewhere.py)."""

    @property
    def can_go_on(self) -> bool:
        """Whether it is enough to note what has changed."""
        return not (self.is_outdated or self.is_too_wide)

    def give_up(self) -> WaitingSteps:
        """Keep nothing of a client that has too much."""
        self.is_too_wide = True
        logger.warning(
            "members of client %r on %s have too many partitions: their groups' settings for reading do not"
            " apply to them; give them client ids of their own",
            self.places.key[1],
            self.places.key[0].removeprefix("/"),
        )
        yield from self.places.emptied()


class MemberReads:
    """The settings of all groups, and the clients they are for."""

    def __init__(self, metadata: Metadata, loop: Loop, groups: Callable[[], Groups], now_ms: int) -> None:
        self._metadata = metadata
        self._loop = loop
        self._groups = groups
        self._known_by_ms = now_ms + LOAD_WAIT_MS
        self._settings = {
            group_id: settings
            for group_id, overrides in metadata.catalogue.group_configs.items()
            if (settings := read_settings(overrides, metadata.live_config.layers)) != PLAIN
        }
        metadata.catalogue.listen_to_group_configs(self._configured)
        # The clients that are followed: the one that fetched last is the last.
        self._found: OrderedDict[ClientKey, Followed] = OrderedDict()
        self._size_bytes = 0

    # --- settings --------------------------------------------------------------------------------------

    @property
    def is_used(self) -> bool:
        """Whether any group has such settings."""
        return bool(self._settings)

    @property
    def settings(self) -> Mapping[str, ReadSettings]:
        """The settings of the groups that have any."""
        return self._settings

    def _configured(self, group_id: str) -> None:
        """Read the settings of a group again."""
        overrides = self._metadata.catalogue.group_configs.get(group_id, {})
        settings = read_settings(overrides, self._metadata.live_config.layers)
        if settings == self._settings.get(group_id, PLAIN):
            return
        if settings == PLAIN:
            del self._settings[group_id]
        else:
            self._settings[group_id] = settings
        self._settings_changed(group_id)

    def _settings_changed(self, group_id: str) -> None:
        """Have the clients of a group looked at anew."""
        for followed in self._found.values():
            followed.is_outdated |= followed.places.has_group(group_id)

    # --- for which groups a fetch is -------------------------------------------------------------------

    def position(self, read: GroupRead, partition: Partition) -> int | None:
        """Return the progress of a group in a partition that it reads."""
        topic = partition.topic
        if read.positions is not None:
            return read.positions.get(topic.topic_id, {}).get(partition.index)
        return self._groups().position(read.group_id, topic.name, partition.index)

    def is_unknown(self, call: Call[FetchRequest]) -> bool:
        """Whether it must be found out for which groups a fetch is."""
        return self._has_groups() and (self.is_loading() or not self._is_current(key_of(call)))

    def learn(self, call: Call[FetchRequest], until_ms: int) -> Generator[Until | None, None, bool]:
        """Find out for which groups a fetch is; return whether that is known in time."""
        while self.is_loading():
            if self._loop.clock.turn_ms > until_ms:
                return False
            yield None
        if self._has_groups():
            yield from self._follow(key_of(call))
        return True

    def behind(self, call: Call[FetchRequest]) -> WaitingSteps | None:
        """Return the steps that note what has changed since a fetch came; None: nothing has."""
        if not self.is_used or self._is_current(key := key_of(call)):
            return None
        return self._follow(key)

    def is_loading(self) -> bool:
        """Whether it is not known yet who the members of these groups are."""
        if self._loop.clock.turn_ms >= self._known_by_ms or not self._has_groups():
            return False
        return not self._groups().are_known(self._settings)

    def of(self, client: Client) -> ClientPlaces | None:
        """Return the partitions that the client reads for groups of which one has such settings.

        They are those of which it is not unknown, or has been learned, in this turn.
        """
        key = client.host, client.client_id
        followed = self._found.get(key) if self._is_reader(key) else None
        if followed is None:
            return None
        self._found.move_to_end(key)
        return followed.places if followed.places.has_settings else None

    def _has_groups(self) -> bool:
        return OFFSETS_TOPIC in self._metadata.catalogue.by_name

    # --- what is known of a client ---------------------------------------------------------------------

    def _is_reader(self, key: ClientKey) -> bool:
        """Whether a client is to be followed: it is a member of a group with settings."""
        if not self._has_groups():
            return False
        groups = self._groups().clients.groups_of(key)
        # By the smaller one of the two.
        return not self._settings.keys().isdisjoint(groups.keys())

    def _is_current(self, key: ClientKey) -> bool:
        """Whether all is noted of a client that is followed."""
        if not self._is_reader(key):
            return True
        followed = self._found.get(key)
        return (
            followed is not None
            and not (followed.is_busy or followed.is_outdated)
            and not self._groups().clients.has_changed(key)
        )

    def _follow(self, key: ClientKey) -> WaitingSteps:
        """Note what has changed of a client until now, unless another fetch does so: then after that."""
        while (followed := self._found.get(key)) is not None and followed.is_busy:
            yield None
        if self._is_current(key):
            return
        clients = self._groups().clients
        if followed is None or not followed.can_go_on or not clients.watches(key):
            self._forget(key)
            clients.watch(key)
            followed = self._found[key] = Followed(ClientPlaces(key))
            members: Iterable[MemberId] = clients.members_of(key)
        else:
            members = clients.take(key)
        followed.is_busy, is_done = True, False
        try:
            yield from self._note(key, followed, members)
            is_done = True
        finally:
            followed.is_busy = False
            followed.is_outdated |= not is_done
            self._weigh(key, followed)

    def _note(self, key: ClientKey, followed: Followed, members: Iterable[MemberId]) -> WaitingSteps:
        """Note what these members of a client have now."""
        groups, places, pace = self._groups(), followed.places, Pace(PLAIN_ITEMS_PER_STEP)
        for group_id, member_id in members:
            parts: tuple[Part, ...] = ()
            if groups.clients.has(key, (group_id, member_id)):
                parts = yield from held_steps(groups, group_id, member_id, self._loop.scheduler.offload)
            settings = self._settings.get(group_id, PLAIN)
            yield from places.note(group_id, settings, member_id, parts, pace)
            if places.size_bytes > READS_BYTES_MAX:
                yield from followed.give_up()
                return
            if pace.due(MEMBER_ITEMS):
                yield None

    def _weigh(self, key: ClientKey, followed: Followed) -> None:
        """Count the memory of what is known of a client, and forget others if it is too much."""
        self._size_bytes += followed.places.size_bytes - followed.weighed_bytes
        followed.weighed_bytes = followed.places.size_bytes
        self._found.move_to_end(key)
        for _ in range(len(self._found) - 1):
            if self._size_bytes <= READS_BYTES_MAX:
                return
            oldest = next(iter(self._found))
            if self._found[oldest].is_busy:
                self._found.move_to_end(oldest)
            else:
                self._forget(oldest)

    def _forget(self, key: ClientKey) -> None:
        followed = self._found.pop(key, None)
        if followed is not None:
            self._size_bytes -= followed.weighed_bytes
        self._groups().clients.unwatch(key)


def held_steps(
    groups: Groups, group_id: str, member_id: str, offload: Offload
) -> Generator[Until | None, None, tuple[Part, ...]]:
    """Return the partitions that a member has, by topic id, or of a classic member by name."""
    from groups.fetchers import by_name

    held = groups.held(group_id, member_id)
    if not isinstance(held, bytes):
        return held
    read = partial(by_name, held)
    return (yield from in_thread(offload, read)) if len(held) > READ_AT_ONCE_BYTES else read()


def key_of(call: Call[Any]) -> ClientKey:
    """Return the client that has sent a call."""
    from broker.coordinators.groups import client_of

    client = client_of(call)
    return client.host, client.client_id
