"""The tags of a partition's keys at every offset: a batch gives the same whenever it is looked at.

A record without tags has those that its key's earlier records carried, and no later ones.  So a table that
only knows the newest tags would answer differently when an old batch is looked at a second time.

    newest[key]    {tag: value}, since the batch that began at since[key]
    earlier[key]   its tags before that, oldest first: (since, {tag: value})

Dictionaries of tags are never changed, only replaced, so that they can be handed out.  A batch learns through
its `BatchTags`: `commit` makes that count, and `abandon` undoes it for a batch that was left half way.

When its topic has grown, keys lie elsewhere than before.  From the *cut* on, the partition's end at that
moment, a key inherits the tags that it had in any partition, until it is tagged again (`Cut`).

Memory: at most `keys_max` keys and as many earlier states, and TEXT_BYTES_MAX of each.  Anything beyond is
forgotten, oldest first, and with it what batches before that moment would need to know: states are exact from
`begin` on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from views.key_room import NO_ROOM, KeyRoom, Tables
from views.tags import KEYS_MAX, SLACK, KeyTags, Known

Tags = dict[str, Any]

NONE: Final[Tags] = {}

ALIKE_MAX: Final = 10_000
ALIKE_BYTES_MAX: Final = 256
"""Tags are shared by keys that have the same ones while they are few, and short."""

TEXT_BYTES_MAX: Final = 32 << 20
"""The keys and tags of a partition that are remembered, in bytes: 300 for each of 100,000 keys.  Both may be
as long as a record, and a batch that opens to 16 MiB may be a few KB in a request."""

FORGOTTEN_AT_ONCE: Final = 5_000
"""The keys that are forgotten at a time to make room, in some 3 ms; the rest with the next batch."""

KEY_BYTES: Final = 400
"""The memory of a key with one tag, beyond their text (measured: 150 to 400)."""

STATE_BYTES: Final = 200
"""The same of what a key was tagged with before."""


class Cut(NamedTuple):
    """A growth of the topic, as one of its partitions sees it."""

    offset: int
    """The first offset after it."""
    tags: Mapping[bytes, tuple[int, Tags]]
    """By key, the number of growths before it was tagged last, in whatever partition, and its tags."""


def text_bytes(tags: Tags) -> int:
    """Return the bytes that tags take as text, which for numbers is nothing."""
    found = 0
    for value in tags.values():
        if type(value) is str:
            found += len(value) if value.isascii() else 4 * len(value)
        elif type(value) is bytes:
            found += len(value)
    return found


class TagHistory:
    """The tags of one partition's keys, learned batch by batch from the offset `begin` on."""

    def __init__(
        self, begin: int, keys_max: int = KEYS_MAX, cuts: Iterable[Cut] = (), room: KeyRoom = NO_ROOM
    ) -> None:
        self.begin = begin
        """The first offset at which a batch can be looked at."""
        self.end = begin
        """Everything before this offset has been learned."""
        self.keys_max = keys_max
        # True until a batch has been learned.
        self._is_empty = True
        self._is_learning = False
        self.newest: dict[bytes | None, Tags] = {}
        self._since: dict[bytes, int] = {}
        self._earlier: dict[bytes, list[tuple[int, Tags]]] = {}
        self._earlier_count = 0
        # The bytes of keys and their newest tags, and of the tags before those.
        self._newest_text = self._earlier_text = 0
        self._room = room
        self._tables: Tables = [self.newest, self._since, self._earlier]
        room.keep(self, self._tables)
        # Most keys have the same tags as some others: one dictionary serves them all.
        self._alike: dict[tuple[tuple[str, Any], ...], Tags] = {}
        # The cuts that were passed, and those to come.
        self.cuts: list[Cut] = []
        self._to_come = list(cuts)

    def __len__(self) -> int:
        return len(self.newest)

    @property
    def size_bytes(self) -> int:
        """The memory that it takes."""
        states = KEY_BYTES * len(self.newest) + STATE_BYTES * self._earlier_count
        return states + self._newest_text + self._earlier_text

    @property
    def is_learning(self) -> bool:
        """Whether a batch is being learned."""
        return self._is_learning

    def open(self, base_offset: int) -> BatchTags:
        """Return the tags for the batch at `base_offset`; a new batch learns for all that follow.

        The partition may begin in the middle of its first batch, which is learned as a whole.
        """
        if self._is_empty:
            self.begin = self.end = min(self.end, base_offset)
        if base_offset < self.end:
            return BatchTags(Past(self, base_offset))
        assert not self.is_busy(base_offset), f"a batch before {base_offset} is still being learned"
        while self._to_come and self._to_come[0].offset <= base_offset:
            self._pass_cut(self._to_come.pop(0))
        self._is_learning = True
        return NextBatchTags(self, base_offset)

    def add_cut(self, cut: Cut) -> None:
        """Note that the topic has grown; the history has learned nothing from the cut on."""
        self._to_come.append(cut)

    def _pass_cut(self, cut: Cut) -> None:
        """Let keys that were tagged later elsewhere have those tags from here on."""
        for key in tuple(self._since):
            inherited = cut.tags.get(key)
            if inherited is not None and inherited[0] > self._growths_before(self._since[key]):
                self.replace(key, inherited[1], cut.offset - 1)
        self.cuts.append(cut)

    def _growths_before(self, offset: int) -> int:
        return sum(cut.offset <= offset for cut in self.cuts)

    def inherited(self, key: bytes, offset: int) -> Tags | None:
        """Return the tags that a key without any of its own here has inherited where the batch began."""
        for cut in reversed(self.cuts):
            if cut.offset <= offset:
                found = cut.tags.get(key)
                return None if found is None else found[1]
        return None

    def tagged_since(self, offset: int) -> Iterator[tuple[bytes, Tags]]:
        """Yield the keys that were tagged here from an offset on, with their newest tags."""
        for key, since in self._since.items():
            if since >= offset:
                yield key, self.newest[key]

    def is_busy(self, base_offset: int) -> bool:
        """Whether the batch has to wait for one that is being learned: they would see each other's tags."""
        return self._is_learning and base_offset >= self.end

    def end_learning(self) -> None:
        """End learning: the batch is at its end, or will be learned once more."""
        self._is_learning = False

    def before(self, key: bytes, offset: int) -> Tags | None:
        """Return the tags of the key where the batch at `offset` began."""
        since = self._since.get(key)
        if since is not None:
            if since < offset:
                return self.newest[key]
            for since, tags in reversed(self._earlier.get(key, ())):
                if since < offset:
                    return tags
        return self.inherited(key, offset) if self.cuts else None

    def replace(self, key: bytes, tags: Tags, base_offset: int) -> bool:
        """Give the key these tags from the batch at `base_offset` on; True for the first time in it."""
        since = self._since.get(key)
        is_first = since != base_offset
        if since is None:
            self._newest_text += len(key)
        else:
            before_bytes = text_bytes(self.newest[key])
            self._newest_text -= before_bytes
            if is_first:
                self._earlier.setdefault(key, []).append((since, self.newest[key]))
                self._earlier_count += 1
                self._earlier_text += before_bytes
        self._newest_text += text_bytes(tags)
        # In this order: a thread may learn while others ask what was before.
        self._since[key] = base_offset
        self.newest[key] = tags
        return is_first

    def take_back(self, key: bytes) -> None:
        """Give the key the tags that it had before they were replaced."""
        states = self._earlier.get(key)
        self._newest_text -= text_bytes(self.newest[key])
        if not states:
            self._newest_text -= len(key)
            del self.newest[key], self._since[key]
            return
        self._since[key], self.newest[key] = states.pop()
        self._earlier_count -= 1
        before_bytes = text_bytes(self.newest[key])
        self._earlier_text -= before_bytes
        self._newest_text += before_bytes
        if not states:
            del self._earlier[key]

    def alike(self, tags: Tags) -> Tags:
        """Return the same tags, as one dictionary for all keys that have them while they are few."""
        # 0.0 and -0.0 are equal but not the same.
        if text_bytes(tags) > ALIKE_BYTES_MAX or float in map(type, tags.values()):
            return tags
        key = tuple(tags.items())
        found = self._alike.get(key)
        if found is None:
            if len(self._alike) >= ALIKE_MAX:
                self._alike.clear()
            found = self._alike[key] = tags
        return found

    def passed(self, next_offset: int) -> None:
        """Note that everything before `next_offset` is learned, and keep within the bounds."""
        self.end = max(self.end, next_offset)
        self._is_empty = False
        if self._earlier_count > self.keys_max or self._earlier_text > TEXT_BYTES_MAX:
            self._forget_earlier()
        if len(self.newest) > self.keys_max + self.keys_max // SLACK or self._newest_text > TEXT_BYTES_MAX:
            self._forget_oldest()

    def _forget_earlier(self) -> None:
        self._room.free([self._earlier])
        self._tables[2] = self._earlier = {}
        self._earlier_count = self._earlier_text = 0
        self.begin = self.end

    def _forget_oldest(self) -> None:
        """Forget the keys that were tagged first.

        Many at once: to find its first key, a dictionary passes all that were deleted before.
        """
        text_max = TEXT_BYTES_MAX - TEXT_BYTES_MAX // SLACK
        count = len(self.newest) - self.keys_max
        for number, key in enumerate(tuple(islice(self._since, max(count, FORGOTTEN_AT_ONCE)))):
            if number >= count and self._newest_text <= text_max:
                break
            self._newest_text -= len(key) + text_bytes(self.newest[key])
            for _, tags in self._earlier.pop(key, ()):
                self._earlier_count -= 1
                self._earlier_text -= text_bytes(tags)
            del self.newest[key], self._since[key]
        self.begin = self.end
        # What keys inherited may be older than what was forgotten of them.
        self.cuts.clear()


class Past:
    """The tags known where an old batch began, with those that the batch itself has set since."""

    __slots__ = ("_history", "_offset", "_own")

    def __init__(self, history: TagHistory, offset: int) -> None:
        self._history = history
        self._offset = offset
        self._own: dict[bytes, Tags] = {}

    def get(self, key: bytes | None, /) -> Tags | None:
        """Return the known tags of a key."""
        if key is None:
            return None
        return self._own.get(key) or self._history.before(key, self._offset)

    def set(self, key: bytes, tags: Tags) -> None:
        """Set the tags of a key within the batch."""
        self._own[key] = tags


class Newest:
    """The newest tags of keys, with those that they have inherited."""

    __slots__ = ("_history", "_offset")

    def __init__(self, history: TagHistory, offset: int) -> None:
        self._history = history
        self._offset = offset

    def get(self, key: bytes | None, /) -> Tags | None:
        """Return the known tags of a key."""
        if key is None:
            return None
        return self._history.newest.get(key) or self._history.inherited(key, self._offset)


class BatchTags(KeyTags):
    """The tags for one batch that was learned before: what it sets is for itself."""

    def __init__(self, known: Known) -> None:
        self.by_key = known

    def learn(self, key: bytes, name: str, value: Any) -> None:
        """Set a tag of a key for the rest of the batch."""
        assert isinstance(self.by_key, Past)
        self.by_key.set(key, {**(self.by_key.get(key) or NONE), name: value})

    def commit(self, next_offset: int) -> None:
        """Note that the batch has been looked at, up to `next_offset`."""

    def abandon(self) -> None:
        """Note that the batch has not been looked at to its end."""


class NextBatchTags(BatchTags):
    """The tags for the batch after all others: what it sets is for all that follow."""

    def __init__(self, history: TagHistory, base_offset: int) -> None:
        super().__init__(Newest(history, base_offset) if history.cuts else history.newest)
        self._history = history
        self._base_offset = base_offset
        self._learned: list[bytes] = []

    def learn(self, key: bytes, name: str, value: Any) -> None:
        """Set a tag of a key from here on."""
        tags = self._history.alike({**(self.by_key.get(key) or NONE), name: value})
        if self._history.replace(key, tags, self._base_offset):
            self._learned.append(key)

    def commit(self, next_offset: int) -> None:
        """Keep what it set: the batch has been looked at, up to `next_offset`."""
        self._history.end_learning()
        self._history.passed(next_offset)

    def abandon(self) -> None:
        """Forget what it set: it will be looked at once more."""
        self._history.end_learning()
        for key in self._learned:
            self._history.take_back(key)
        self._learned.clear()
