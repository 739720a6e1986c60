"""A share-partition in its simplest form: one entry for each offset, looked at from the start every time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from groups.share.delivery import AcquireMode, Limits, Wish
from groups.share.found import Found, Later
from groups.share.states import FINISHED, Event, RecordState, outcome_of

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
    size: int = 0
    priority: int = 0

    def free(self, member: str, now: int, priority: int | None = None) -> bool:
        """Whether the member may have it; `until` keeps it from `member`, or from all."""
        is_now = self.until <= now or self.member not in ("", member)
        return self.state == AVAILABLE and not self.busy and is_now and priority in (None, self.priority)


class Model:
    """The behaviour that the machine is compared with."""

    def __init__(self, limits: Limits) -> None:
        self.start = self.end = 0
        self.limits, self.limit, self.window = limits, limits.delivery_count_max, limits.in_flight_max
        self.entries: dict[int, Entry] = {}
        self.stored: dict[int, Entry] = {}

    def at(self, offset: int) -> Entry:
        return self.entries.get(offset, Entry())

    def put(self, offset: int, entry: Entry) -> None:
        self.entries[offset] = entry
        self.end = max(self.end, offset + 1)

    def miss(self, offsets: range) -> None:
        for offset in offsets:
            if self.at(offset).state == AVAILABLE and not self.at(offset).busy:
                self.put(offset, Entry(ARCHIVED))

    def postpone(self, offsets: range, later: Later) -> None:
        for offset in offsets:
            entry = self.at(offset)
            if entry.state == AVAILABLE and not entry.busy:
                self.put(offset, replace(entry, member="", until=later.until_ms, priority=later.priority))

    def next_fetch_offset(self, member: str, now: int) -> int:
        known = range(self.start, self.end)
        return next((offset for offset in known if self.at(offset).free(member, now)), self.end)

    def best(self, member: str, now: int) -> tuple[int, int] | None:
        known = range(self.start, self.end)
        free = [(self.at(offset).priority, -offset) for offset in known if self.at(offset).free(member, now)]
        return (max(free)[0], -max(free)[1]) if free else None

    def acquire(self, wish: Wish, found: Found, now: int) -> dict[int, int]:
        """Return the delivery counts of the records that the member gets."""
        room = self.window - (self.end - self.start)
        stop = found.end if room > 0 else min(found.end, self.end)
        wanted = min(wish.max_records, room) if room > 0 else wish.max_records
        exact = wish.mode == AcquireMode.RECORD_LIMIT
        held = sum(entry.size for entry in self.entries.values() if entry.state == ACQUIRED)
        spare = self.limits.in_flight_bytes_max - held
        suspect = max(2, (self.limit + 1) // 2)
        taken: dict[int, int] = {}
        position, full = max(found.first, self.start), False
        for low, high, later, size in found.pieces():
            high = min(high, stop - 1)
            if high < position:
                continue
            self.miss(range(position, min(low, stop)))
            position = max(position, min(low, stop))
            if later is not None:
                self.postpone(range(position, high + 1), later)
                position = high + 1
                continue
            known = (
                range(position, high + 1)
                if wish.priority is None
                else range(position, min(high + 1, self.end))
            )
            for piece in self.pieces(known, wish, now):
                count, allowed = self.at(piece[0]).count, 0 if full else len(piece)
                allowed = min(allowed, max(wanted - len(taken), 0)) if exact else allowed
                if count >= suspect and not full:
                    half = wish.batch_size >> (count - suspect + 1)
                    alone = self.limit > 2 and count >= self.limit - 1
                    allowed, full = min(allowed, int(not taken) if alone else max(1, half)), True
                if self.limits.in_flight_bytes_max and size and allowed:
                    fitting = max(spare, 0) // size or int(not held and not taken)
                    allowed, full = min(allowed, fitting), full or fitting < allowed
                    spare -= allowed * size
                for offset in piece[:allowed]:
                    before = self.at(offset)
                    until = now + self.limits.lock_ms
                    self.put(
                        offset,
                        Entry(ACQUIRED, count + 1, wish.member_id, until, False, "", size, before.priority),
                    )
                    taken[offset] = count + 1
                full = full or (exact and len(taken) >= wanted)
            position = high + 1
            full = full or len(taken) >= wanted
            if full:
                break
        else:
            self.miss(range(position, stop))
        self.advance()
        return taken

    def pieces(self, offsets: range, wish: Wish, now: int) -> list[list[int]]:
        """Return the free offsets in runs that are alike."""
        pieces: list[list[int]] = []
        for offset in offsets:
            if not self.at(offset).free(wish.member_id, now, wish.priority):
                continue
            last = pieces[-1][-1] if pieces else -2
            if (
                last == offset - 1
                and self.at(last) == self.at(offset)
                and (last < self.end) == (offset < self.end)
            ):
                pieces[-1].append(offset)
            else:
                pieces.append([offset])
        return pieces

    def change(self, offsets: dict[int, Event], now: int) -> dict[int, Entry]:
        """Begin to store what became of records; return what they were."""
        before = {offset: self.at(offset) for offset in offsets}
        for offset, event in offsets.items():
            entry = self.at(offset)
            outcome = outcome_of(event, is_last=entry.count >= self.limit, at_limit=self.limits.at_limit)
            if outcome.state == ACQUIRED:
                self.put(offset, replace(entry, until=now + self.limits.lock_ms))
                del before[offset]
            else:
                cause = outcome.cause.value if outcome.state == RecordState.ARCHIVING else ""
                after = Entry(outcome.state, entry.count, busy=True, cause=cause, priority=entry.priority)
                avoids = self.limits.avoid_last_ms and event != Event.SESSION_CLOSED
                if outcome.state == AVAILABLE and avoids:
                    after = replace(after, member=entry.member, until=now + self.limits.avoid_last_ms)
                self.put(offset, after)
        return before

    def end_delays(self, now: int) -> None:
        """Let be delivered to all what was for later."""
        for offset, entry in self.entries.items():
            if entry.state == AVAILABLE and not entry.busy and 0 < entry.until <= now:
                self.entries[offset] = replace(entry, member="", until=0)

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
        stored = {
            offset: Entry(entry.state, entry.count, cause=entry.cause)
            for offset, entry in self.stored.items()
        }
        known = {offset: entry for offset, entry in stored.items() if entry != Entry()}
        self.entries = {offset: entry for offset, entry in known.items() if offset >= start}
        self.end = max((offset + 1 for offset in self.entries), default=start)
        self.advance()
