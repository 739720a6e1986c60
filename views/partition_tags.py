"""The tags of one partition, for readers at any offset, and the room that they take among all others."""

from __future__ import annotations

from collections.abc import Sequence

from views.key_room import NO_ROOM, KeyRoom
from views.tag_history import Cut, TagHistory
from views.tags import KEYS_MAX


class PartitionTags:
    """The histories of one partition.

    One follows the partition's end and serves all readers but those that come back to where it has
    forgotten too much: for them a second one learns everything again from the beginning.
    """

    def __init__(self, keys_max: int = KEYS_MAX, room: KeyRoom = NO_ROOM) -> None:
        self._keys_max = keys_max
        self._room = room
        self._newest: TagHistory | None = None
        self._again: TagHistory | None = None
        self._compaction = 0
        self._cuts: tuple[Cut, ...] = ()

    def at(
        self, offset: int, log_start: int, compaction: int = 0, cuts: Sequence[Cut] = ()
    ) -> tuple[TagHistory, int]:
        """Return the history for looking at `offset`, and the offset at which looking has to begin for that.

        `log_start`: where the partition begins; what was learned from records before it is kept.
        `compaction`: a number that changes when records are erased; then everything is learned again.
        `cuts`: the growths of the topic so far.
        """
        self._follow(compaction, tuple(cuts))
        self._room.weigh(self)
        if self._newest is None:
            self._newest = TagHistory(log_start, self._keys_max, cuts, self._room)
        newest = self._newest
        if offset >= newest.begin:
            return newest, min(offset, max(newest.end, log_start))
        again = self._again
        if again is None or offset < again.begin:
            again = self._again = TagHistory(log_start, self._keys_max, cuts, self._room)
        return again, min(offset, max(again.end, log_start))

    @property
    def size_bytes(self) -> int:
        """The memory of what is known."""
        return sum(history.size_bytes for history in (self._newest, self._again) if history is not None)

    @property
    def is_learning(self) -> bool:
        """Whether a history is being taught."""
        return any(history.is_learning for history in (self._newest, self._again) if history is not None)

    def make_room(self) -> None:
        """Forget what was learned: the next reader has everything learned again."""
        self._newest = self._again = None

    def _follow(self, compaction: int, cuts: tuple[Cut, ...]) -> None:
        """Learn everything again if it may be wrong now, or note that the topic has grown."""
        known = len(self._cuts)
        if compaction != self._compaction or [id(cut.tags) for cut in cuts[:known]] != [
            id(cut.tags) for cut in self._cuts
        ]:
            self._newest = self._again = None
        else:
            for history in (self._newest, self._again):
                if history is not None:  # an empty one is false
                    for cut in cuts[known:]:
                        history.add_cut(cut)
        self._compaction, self._cuts = compaction, cuts
