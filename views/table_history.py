"""The sub-tables that a view has told of at every position: which there are, and whether their tags are new.

A record tells of its sub-table by the key and the tags that it has.  Each batch is taken in once, in order;
what its records change is the same whenever it is looked at again:

    newest[key]    the tags that it was last told with, None if it was dropped; since[key]: by which batch
    earlier[key]   what was told before that, oldest first: (since, tags)
    seen[key]      position and offset of its last record: when all of them have been deleted it is unknown

Positions are those of the view, over all topics in it, and keys begin with the number of their stream.  Of
tags only equality counts, so long ones are kept as digests.

Memory: about 340 bytes for each of at most `keys_max` keys, and as many earlier states.  What is beyond is
forgotten, oldest first: a sub-table that was forgotten is created once more.  States are exact from `begin`
on; for readers before that `TableHistories` learns a second time, from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from hashlib import blake2b
from itertools import islice
from typing import Final

from views.key_room import NO_ROOM, KeyRoom, Tables
from views.tags import KEYS_MAX, SLACK

PLAIN_BYTES: Final = 32
DIGEST_BYTES: Final = 16

STREAM_BYTES: Final = 8

KEY_BYTES: Final = 340
STATE_BYTES: Final = 200
"""The memory of a key, and of one of its earlier states."""

NAMES_PER_STEP: Final = 1_000
"""Sub-tables taken in between two looks at the time: about 1 ms."""


class Change(Enum):
    """The effect of a record on its sub-table."""

    NONE = ""
    CREATE = "create table"
    ALTER = "alter table"
    DROP = "drop table"


class _Unknown(Enum):
    UNKNOWN = 0


Place = tuple[int, int]
"""The position of a record in the view, and its offset in its stream."""

Starts = Callable[[bytes], int]
"""Returns the first offset of a stream, by its number as names begin with it; what is below was deleted."""

State = bytes | None | _Unknown
"""Tags, None of a dropped sub-table, UNKNOWN of one that has not been told of."""

UNKNOWN: Final = _Unknown.UNKNOWN


def whole(_stream: bytes) -> int:
    """Return 0, the first offset of streams in which nothing was deleted."""
    return 0


def stream_name(stream_id: int) -> bytes:
    """Return what the names of a stream's keys begin with."""
    return stream_id.to_bytes(STREAM_BYTES, "big")


def name_of(stream: bytes, key: bytes) -> bytes:
    """Return the name of a stream's key; long keys are digests, one byte longer than plain ones."""
    if len(key) > PLAIN_BYTES:
        key = b"\xff" + blake2b(key, digest_size=PLAIN_BYTES).digest()
    return stream + key


def _kept(tags: bytes) -> bytes:
    return tags if len(tags) <= 2 * PLAIN_BYTES else blake2b(tags, digest_size=DIGEST_BYTES).digest()


class TableHistory:
    """The sub-tables of one partition of a view, taken in batch by batch from the position `begin` on."""

    def __init__(self, begin: int, keys_max: int = KEYS_MAX, room: KeyRoom = NO_ROOM) -> None:
        self.begin = begin
        """The first position at which a batch can be looked at."""
        self.end = begin
        """Everything before this position has been taken in."""
        self.is_learning = False
        """A batch at the end is being taken in, over several turns of the loop."""
        self._keys_max = keys_max
        self._newest: dict[bytes, bytes | None] = {}
        self._since: dict[bytes, int] = {}
        self._seen: dict[bytes, Place] = {}
        self._earlier: dict[bytes, list[tuple[int, bytes | None]]] = {}
        self._earlier_count = 0
        self._room = room
        self._tables: Tables = [self._newest, self._since, self._seen, self._earlier]
        room.keep(self, self._tables)
        # What is below this position, or in a stream below this offset, has been deleted.
        self._first = begin
        self._start_of: Starts = whole

    def __len__(self) -> int:
        return len(self._newest)

    @property
    def size_bytes(self) -> int:
        """The memory that it takes."""
        return KEY_BYTES * len(self._newest) + STATE_BYTES * self._earlier_count

    def is_busy(self, position: int) -> bool:
        """Whether the batch has to wait for the one before it."""
        return self.is_learning and position >= self.end

    def truncated(self, first: int, start_of: Starts) -> None:
        """Note the first position, and what tells those of streams, after records have been deleted."""
        self._first, self._start_of = first, start_of
        self._forget_past()

    def before(self, name: bytes, position: int) -> State:
        """Return the state of a sub-table where the batch at `position` began."""
        since = self._since.get(name)
        if since is None or self._is_deleted(name):
            return UNKNOWN
        if since < position:
            return self._newest[name]
        for since, tags in reversed(self._earlier.get(name, ())):
            if since < position:
                return tags
        return UNKNOWN

    def _is_deleted(self, name: bytes) -> bool:
        position, offset = self._seen[name]
        return position < self._first or offset < self._start_of(name[:STREAM_BYTES])

    def learn(
        self, told: dict[bytes, bytes | None], seen: dict[bytes, Place], position: int
    ) -> Iterator[None]:
        """Take in the batch at `position`: the states that it leaves, and the last record of each key.

        Yields now and then: looks at what was before are right meanwhile, and if the rest is given up, the
        batch can be taken in again.
        """
        for number, (name, place) in enumerate(seen.items(), 1):
            if not number % NAMES_PER_STEP:
                yield
            is_deleted = name in self._since and self._is_deleted(name)
            self._seen[name] = place
            if name in told:
                self._replace(name, told[name], position, is_deleted=is_deleted)

    def _replace(self, name: bytes, tags: bytes | None, position: int, *, is_deleted: bool) -> None:
        since = self._since.get(name)
        if is_deleted:
            self._earlier_count -= len(self._earlier.pop(name, ()))
        elif since is not None and since != position:
            self._earlier.setdefault(name, []).append((since, self._newest[name]))
            self._earlier_count += 1
        self._newest[name] = tags
        self._since[name] = position

    def passed(self, position: int) -> None:
        """Note that everything before `position` is taken in, and keep within the bounds."""
        self.end = max(self.end, position)
        if self._earlier_count > self._keys_max:
            self._forget_past()
        if len(self._newest) > self._keys_max + self._keys_max // SLACK:
            # Many at once: to find its first key, a dictionary passes all that were deleted before.
            for name in tuple(islice(self._newest, len(self._newest) - self._keys_max)):
                del self._newest[name], self._since[name], self._seen[name]
            self._forget_past()

    def _forget_past(self) -> None:
        self._room.free([self._earlier])
        self._tables[3] = self._earlier = {}
        self._earlier_count = 0
        self.begin = self.end


class BatchTables:
    """The changes that the records of one batch make, one after the other; nothing counts until `commit`."""

    def __init__(self, history: TableHistory, position: int) -> None:
        self._history = history
        self._position = position
        self._is_new = position >= history.end
        self._told: dict[bytes, bytes | None] = {}
        self._seen: dict[bytes, Place] = {}

    def shown(self, name: bytes, tags: bytes, place: Place) -> Change:
        """Return the effect of a record of a sub-table that has these tags."""
        self._seen[name] = place
        state, kept = self._state(name), _kept(tags)
        if state == kept:
            return Change.NONE
        self._told[name] = kept
        return Change.CREATE if state is UNKNOWN or state is None else Change.ALTER

    def dropped(self, name: bytes, place: Place) -> Change:
        """Return the effect of a tombstone: none if there is no such sub-table."""
        state = self._state(name)
        if state is UNKNOWN:
            return Change.NONE
        self._seen[name] = place
        if state is None:
            return Change.NONE
        self._told[name] = None
        return Change.DROP

    def _state(self, name: bytes) -> State:
        return self._told[name] if name in self._told else self._history.before(name, self._position)

    def commit(self, next_position: int) -> Iterator[None]:
        """Keep what was told, if the batch is a new one; it reaches up to `next_position`."""
        if self._is_new:
            yield from self._history.learn(self._told, self._seen, self._position)
            self._history.passed(next_position)


class TableHistories:
    """The sub-tables of one partition of a view, for readers at any position.

    One history follows the end and serves all readers but those that come back to where it has forgotten too
    much: for them a second one learns everything again from the beginning.
    """

    def __init__(self, keys_max: int = KEYS_MAX, room: KeyRoom = NO_ROOM) -> None:
        self._keys_max = keys_max
        self._room = room
        self._newest: TableHistory | None = None
        self._again: TableHistory | None = None
        self.revision = 0
        """A number that changes when what was told of before may be wrong now."""

    def at(self, position: int, start: int) -> tuple[TableHistory, int]:
        """Return the history for looking at `position`, and where looking has to begin for that."""
        self._room.weigh(self)
        newest = self._newest
        if newest is None:
            newest = self._newest = TableHistory(start, self._keys_max, self._room)
        if position >= newest.begin:
            return newest, min(position, max(newest.end, start))
        again = self._again
        if again is None or position < again.begin:
            again = self._again = TableHistory(start, self._keys_max, self._room)
        return again, min(position, max(again.end, start))

    @property
    def size_bytes(self) -> int:
        """The memory of what is known."""
        return sum(history.size_bytes for history in (self._newest, self._again) if history is not None)

    @property
    def is_learning(self) -> bool:
        """Whether a history is being taught."""
        return any(history.is_learning for history in (self._newest, self._again) if history is not None)

    def make_room(self) -> None:
        """Forget what was learned: it is right, and the next reader has it learned again."""
        self._newest = self._again = None

    def forget(self) -> None:
        """Learn everything again."""
        self.make_room()
        self.revision += 1

    def truncated(self, first: int, start_of: Starts) -> None:
        """Note the first position, and what tells those of streams, after records have been deleted."""
        for history in (self._newest, self._again):
            if history is not None:
                history.truncated(first, start_of)
        self.revision += 1
