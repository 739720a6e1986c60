"""A share-partition in its simplest form: one entry for each offset, looked at from the start every time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from groups.share.found import Found
from groups.share.states import FINISHED, AtLimit, Event, RecordState, outcome_of

AVAILABLE, ACQUIRED, ARCHIVED = RecordState.AVAILABLE, RecordState.ACQUIRED, RecordState.ARCHIVED


@dataclass(frozen=True)
class Entry:
    """One record; `busy`: its state is being stored."""

    state: RecordState = AVAILABLE
    count: int = 0
    member: str = ""
    until: int = 0
    busy: bool = False
    cause: str = ""


class Model:
    """The behaviour that the machine is compared with."""

    def __init__(self, limit: int, window: int, lock_ms: int, at_limit: AtLimit = AtLimit.DROP) -> None:
        self.start = self.end = 0
        self.limit, self.window, self.lock_ms, self.at_limit = limit, window, lock_ms, at_limit
        self.entries: dict[int, Entry] = {}
        self.stored: dict[int, Entry] = {}

    def at(self, offset: int) -> Entry:
        return self.entries.get(offset, Entry())

    def put(self, offset: int, entry: Entry) -> None:
        self.entries[offset] = entry
        self.end = max(self.end, offset + 1)

    def free(self, offset: int) -> bool:
        return self.at(offset).state == AVAILABLE and not self.at(offset).busy

    def miss(self, offsets: range) -> None:
        for offset in offsets:
            if self.free(offset):
                self.put(offset, Entry(ARCHIVED))

    def acquire(
        self, member: str, wanted: int, size: int, exact: bool, found: Found, now: int
    ) -> dict[int, int]:
        """Return the delivery counts of the records that the member gets."""
        room = self.window - (self.end - self.start)
        stop = found.end if room > 0 else min(found.end, self.end)
        wanted = min(wanted, room) if room > 0 else wanted
        taken: dict[int, int] = {}
        position, full = max(found.first, self.start), False
        for low, high in found.batches:
            self.miss(range(position, min(low, stop)))
            position = max(position, low)
            for piece in self.pieces(range(position, min(high + 1, stop))):
                count, allowed = self.at(piece[0]).count, 0 if full else len(piece)
                allowed = min(allowed, wanted - len(taken)) if exact else allowed
                if count >= max(2, (self.limit + 1) // 2) and not full:
                    half = size >> (count - max(2, (self.limit + 1) // 2) + 1)
                    alone = self.limit > 2 and count >= self.limit - 1
                    allowed, full = min(allowed, int(not taken) if alone else max(1, half)), True
                for offset in piece[:allowed]:
                    self.put(offset, Entry(ACQUIRED, count + 1, member, now + self.lock_ms))
                    taken[offset] = count + 1
                full = full or (exact and len(taken) >= wanted)
            position = max(position, min(high + 1, stop))
            full = full or len(taken) >= wanted
            if full:
                break
        else:
            self.miss(range(position, stop))
        self.advance()
        return taken

    def pieces(self, offsets: range) -> list[list[int]]:
        """Return the free offsets in runs of equal delivery counts."""
        pieces: list[list[int]] = []
        for offset in filter(self.free, offsets):
            last = pieces[-1][-1] if pieces else -2
            if last == offset - 1 and self.at(last).count == self.at(offset).count:
                pieces[-1].append(offset)
            else:
                pieces.append([offset])
        return pieces

    def change(self, offsets: dict[int, Event], now: int) -> dict[int, Entry]:
        """Begin to store what became of records; return what they were."""
        before = {offset: self.at(offset) for offset in offsets}
        for offset, event in offsets.items():
            entry = self.at(offset)
            outcome = outcome_of(event, is_last=entry.count >= self.limit, at_limit=self.at_limit)
            if outcome.state == ACQUIRED:
                self.put(offset, replace(entry, until=now + self.lock_ms))
                del before[offset]
            else:
                cause = outcome.cause.value if outcome.state == RecordState.ARCHIVING else ""
                self.put(offset, Entry(outcome.state, entry.count, busy=True, cause=cause))
        return before

    def archive(self, offsets: range) -> dict[int, Entry]:
        """Begin to store that records have their dead letters; return what they were."""
        before = {
            offset: self.at(offset)
            for offset in offsets
            if self.at(offset).state == RecordState.ARCHIVING and not self.at(offset).busy
        }
        for offset, entry in before.items():
            self.put(offset, Entry(ARCHIVED, entry.count, busy=True))
        return before

    def settle(self, before: dict[int, Entry]) -> None:
        for offset in before:
            self.stored[offset] = replace(self.at(offset), busy=False)
            if offset >= self.start:
                self.entries[offset] = self.stored[offset]
        self.advance()

    def undo(self, before: dict[int, Entry]) -> None:
        self.entries.update({offset: entry for offset, entry in before.items() if offset >= self.start})

    def advance(self, at_least: int = 0) -> None:
        self.start = max(self.start, at_least)
        while self.at(self.start).state in FINISHED and not self.at(self.start).busy:
            self.start += 1
        self.entries = {offset: entry for offset, entry in self.entries.items() if offset >= self.start}
        self.end = max(self.end, self.start)

    def crash(self, start: int) -> None:
        """Go on from what is stored."""
        self.start = start
        known = {offset: entry for offset, entry in self.stored.items() if entry != Entry()}
        self.entries = {offset: entry for offset, entry in known.items() if offset >= start}
        self.end = max((offset + 1 for offset in self.entries), default=start)
        self.advance()
