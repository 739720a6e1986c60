"""The checker of simulated share groups: what members were told, and what must therefore be true for ever.

H1   no two members have a record at a time
H2   a record whose acceptance, rejection or gap was answered is never delivered again
H3   deliveries are counted: one more each time, while the state lives in memory; after a start more than what
     was answered as given back.  Only the deliveries of records that members still had may be forgotten by a
     crash (groups/share/states.py; Kafka keeps them in memory alone, too)
H4   the first unfinished offset never goes back, but by a reset, or over offsets without unfinished records
H5   only records are delivered: no marker, nothing deleted, for read_committed nothing aborted
H6   what a member surely has it may acknowledge; an acknowledgement that is refused changes nothing
H7   a member has no more records than its window, but for those that it could not finish

`reset` and `deleted` begin a share-partition anew; what was promised of its records ends with them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

Seat = tuple[str, int]
"""A share group, and a partition of the topic that all groups read."""

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
ENDINGS: Final = frozenset({GAP, ACCEPT, REJECT})

UNKNOWN: Final = -1
"""The life of a share-partition in memory, if the record may have been acquired in one of two."""


class Asked(NamedTuple):
    """The moment at which a request was sent."""

    step: int
    now_ms: int
    lives: dict[Seat, int]


class Given(NamedTuple):
    """Records that an answer gives to a member."""

    first: int
    last: int
    delivery: int


@dataclass(slots=True)
class Hold:
    """A record that a member has."""

    member: str
    count: int
    life: int
    until_ms: int
    """It has it at least until then."""
    is_linked: Callable[[], bool]
    """Whether its connection lives."""
    was_refused: bool = False
    """Whether it has it again, as what it said of it could not be stored."""


class Ending(NamedTuple):
    """An answer that said that a record is finished."""

    kind: int
    step: int
    delivery: int
    """The count of the delivery that was ended."""
    life: int
    """UNKNOWN: the member did not surely have it."""


@dataclass(slots=True)
class Rules:
    """The settings of a group that bound its deliveries."""

    limit: int
    lock_ms: int
    window: int = 0
    reads_committed: bool = False
    letters_topic: str = ""


@dataclass(slots=True)
class Facts:
    """All that is known of a group in a partition, since it began there."""

    begins: int = 0
    """Nothing before this offset need be delivered."""
    generation: int = 0
    life: int = 0
    start_max: int = 0
    log_start: int = 0
    resets_open: int = 0
    """Resets and deletions that are on their way: nothing is sure meanwhile."""
    holds: dict[int, Hold] = field(default_factory=dict)
    endings: dict[int, Ending] = field(default_factory=dict)
    floors: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By offset: the step in which a count was known to be durable, and the count."""
    counts: dict[int, tuple[int, int, set[int]]] = field(default_factory=dict)
    """By offset: the life and step of the newest delivery, and the counts of all deliveries in that life."""
    said: dict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    """By offset: how often members may have ended it, and how."""
    deliveries: Counter[int] = field(default_factory=Counter)


class ShareHistory:
    """All promises made so far."""

    def __init__(self, rules: dict[str, Rules], partitions: int) -> None:
        self.rules = rules
        self.facts = {(group, index): Facts() for group in rules for index in range(partitions)}
        self.step = 0
        self.now_ms = 0
        self.unseen: Counter[str] = Counter()
        """By group: the fetches whose records, if any, no member saw."""
        self.happened: Counter[str] = Counter()
        self.rejected: Counter[tuple[Seat, int]] = Counter()
        """By record: the rejections that were not refused, over all resets."""
        self.deliveries: Counter[tuple[Seat, int]] = Counter()
        """All deliveries, over all resets."""
        self.deleted_below: dict[int, tuple[int, int]] = {}
        """By partition: the step in which a deletion was answered, and its offset."""
        self._shapes: dict[Seat, Hashable] = {}

    def asked(self) -> Asked:
        """Return the present moment, for a request that is sent now."""
        return Asked(self.step, self.now_ms, {seat: facts.life for seat, facts in self.facts.items()})

    # --- what the server has in memory ------------------------------------------------------------------

    def look(
        self,
        seat: Seat,
        shape: Hashable,
        start: int | None,
        is_due: Callable[[int], bool] | None,
        log_start: int,
    ) -> None:
        """Look at a share-partition: `shape` is another one when its state was made anew or read again.

        `is_due(end)`: whether the state has unfinished records before an offset.
        """
        facts = self.facts[seat]
        facts.log_start = log_start
        if self._shapes.get(seat) is not shape:
            self._shapes[seat] = shape
            facts.life += 1
            facts.holds.clear()
        if start is None or is_due is None or facts.resets_open:
            return
        if start < facts.start_max:
            # Offsets without a record are found anew, as nothing is stored of them.
            assert not is_due(facts.start_max), (
                f"{seat}: the start went back from {facts.start_max} to {start} (H4)"
            )
        facts.start_max = max(start, facts.start_max)

    # --- resets and deletions ---------------------------------------------------------------------------

    def reset_begins(self, seat: Seat) -> None:
        """Note that a share-partition may begin anew from now on."""
        facts = self.facts[seat]
        facts.resets_open += 1
        facts.holds.clear()
        facts.endings.clear()
        facts.floors.clear()
        facts.counts.clear()

    def reset_ends(self, seat: Seat, begins: int | None) -> None:
        """Note the outcome: it begins at an offset, or (None) maybe there and maybe not at all."""
        facts = self.facts[seat]
        facts.resets_open -= 1
        facts.generation += 1
        facts.start_max = 0
        facts.endings.clear()
        facts.floors.clear()
        facts.counts.clear()
        if begins is not None:
            self.happened["resets"] += 1
            facts.begins = begins
            facts.said.clear()
            facts.deliveries.clear()

    def may_begin(self, seat: Seat, begins: int) -> None:
        """Note an offset at which a share-partition may begin, if a request arrives."""
        facts = self.facts[seat]
        facts.begins = max(facts.begins, begins)

    # --- deliveries -------------------------------------------------------------------------------------

    def delivered(
        self, seat: Seat, given: Given, asked: Asked, member: str, is_linked: Callable[[], bool]
    ) -> None:
        """Check records that a member was given, and note that it has them."""
        facts, rules = self.facts[seat], self.rules[seat[0]]
        assert 1 <= given.delivery <= rules.limit, f"{seat} {given}: the limit is {rules.limit} (H3)"
        life = facts.life if asked.lives[seat] == facts.life and not facts.resets_open else UNKNOWN
        hold = Hold(member, given.delivery, life, asked.now_ms + rules.lock_ms, is_linked)
        for offset in range(given.first, given.last + 1):
            where = f"{seat} {offset}, delivery {given.delivery} to {member}"
            self._check_deleted(seat, offset, asked, where)
            if not facts.resets_open:
                self._check_ending(facts, offset, asked, given.delivery, life, where)
                self._check_count(facts, offset, asked, given.delivery, life, where)
            if self._is_sure(facts, offset, hold):
                self._check_holds(facts, offset, where)
                facts.holds[offset] = replace(hold)
            self.happened["redeliveries"] += given.delivery > 1
            facts.deliveries[offset] += 1
            self.deliveries[seat, offset] += 1
        self.happened["deliveries"] += given.last - given.first + 1

    def _check_deleted(self, seat: Seat, offset: int, asked: Asked, where: str) -> None:
        step, low = self.deleted_below.get(seat[1], (0, 0))
        assert offset >= low or asked.step < step, f"{where}: it was deleted (H5)"

    @staticmethod
    def _check_ending(facts: Facts, offset: int, asked: Asked, count: int, life: int, where: str) -> None:
        ending = facts.endings.get(offset)
        if ending is None:
            return
        assert asked.step < ending.step, f"{where}: it was finished, {ending} (H2)"
        is_later = UNKNOWN != life == ending.life and count > ending.delivery
        assert not is_later, f"{where}: it was finished after fewer deliveries, {ending} (H2)"

    @staticmethod
    def _check_count(facts: Facts, offset: int, asked: Asked, count: int, life: int, where: str) -> None:
        step, floor = facts.floors.get(offset, (asked.step + 1, 0))
        assert asked.step < step or count > floor, f"{where}: after {floor} that were durable (H3)"
        if life == UNKNOWN:
            return
        before = facts.counts.get(offset)
        if before is None or before[0] != life:
            facts.counts[offset] = life, asked.step, {count}
            return
        _, last_step, counts = before
        assert count not in counts, f"{where}: a second one with this count (H3)"
        assert asked.step < last_step or count > max(counts), f"{where}: after {sorted(counts)} (H3)"
        counts.add(count)
        facts.counts[offset] = life, max(last_step, asked.step), counts

    def _check_holds(self, facts: Facts, offset: int, where: str) -> None:
        hold = facts.holds.get(offset)
        if hold is not None and self._is_sure(facts, offset, hold):
            raise AssertionError(f"{where}: {hold.member} has it, by delivery {hold.count} (H1)")

    def _is_sure(self, facts: Facts, offset: int, hold: Hold) -> bool:
        is_there = hold.life == facts.life and offset >= facts.log_start
        return is_there and self.now_ms < hold.until_ms and hold.is_linked()

    def check_window(self, group: str, member: str) -> None:
        """Check that a member has no more than it may."""
        window = self.rules[group].window
        if not window:
            return
        count = sum(
            hold.member == member and not hold.was_refused and self._is_sure(facts, offset, hold)
            for (of, _), facts in self.facts.items()
            if of == group
            for offset, hold in facts.holds.items()
        )
        assert count <= window, f"{member} of {group} has {count} records, its window is {window} (H7)"

    # --- acknowledgements -------------------------------------------------------------------------------

    def says(self, seat: Seat, member: str, said: Iterable[tuple[int, int]]) -> dict[int, Hold]:
        """Note what a member is about to say; return those of its records that it surely has.

        What it does not renew it has no longer for sure.
        """
        facts = self.facts[seat]
        sure: dict[int, Hold] = {}
        for offset, kind in said:
            hold = facts.holds.get(offset)
            if hold is not None and hold.member == member:
                if self._is_sure(facts, offset, hold):
                    sure[offset] = hold
                if kind != RENEW:
                    del facts.holds[offset]
            if kind in ENDINGS:
                facts.said[offset][kind] += 1
            if kind == REJECT:
                self.rejected[seat, offset] += 1
        return sure

    def answered(
        self, seat: Seat, said: dict[int, int], sure: dict[int, Hold], asked: Asked, code: int
    ) -> None:
        """Note the outcome of what a member has said of records in a partition."""
        facts = self.facts[seat]
        still = {offset for offset, hold in sure.items() if self._is_sure(facts, offset, hold)}
        if code:
            self.happened["refused"] += 1
            self._refused(seat, said, sure, still)
            return
        if facts.resets_open or asked.lives[seat] != facts.life:
            # It may have been said of the state before.
            return
        for offset, kind in said.items():
            is_sure = offset in still
            if kind in ENDINGS:
                life = facts.life if is_sure else UNKNOWN
                count = sure[offset].count if is_sure else 0
                facts.endings.setdefault(offset, Ending(kind, self.step, count, life))
                self.happened[f"ended {kind}"] += 1
            elif kind == RELEASE and is_sure:
                facts.floors[offset] = self.step, max(sure[offset].count, facts.floors.get(offset, (0, 0))[1])
                self.happened["released"] += 1
            elif kind == RENEW and is_sure and offset in facts.holds:
                self.happened["renewed"] += 1
                facts.holds[offset].until_ms = max(
                    facts.holds[offset].until_ms, asked.now_ms + self.rules[seat[0]].lock_ms
                )

    def _refused(self, seat: Seat, said: dict[int, int], sure: dict[int, Hold], still: set[int]) -> None:
        """Take back what was refused: it is with its member still, or with none."""
        facts = self.facts[seat]
        for offset, kind in said.items():
            if kind in ENDINGS:
                facts.said[offset][kind] -= 1
            if kind == REJECT:
                self.rejected[seat, offset] -= 1
            if offset in still:
                facts.holds.setdefault(offset, replace(sure[offset], was_refused=True))

    def check_refusal(self, seat: Seat, said: dict[int, int], sure: dict[int, Hold], code: int) -> None:
        """Check that a member was not refused what it surely may."""
        facts = self.facts[seat]
        may = all(offset in sure and self._is_sure(facts, offset, sure[offset]) for offset in said)
        assert not may or facts.resets_open, f"{seat} {said}: refused with {code}, and surely held (H6)"

    def left(self, group: str, member: str) -> None:
        """Note that a member gave back all that it had, or lost its connection."""
        for (of, _), facts in self.facts.items():
            if of == group:
                facts.holds = {at: hold for at, hold in facts.holds.items() if hold.member != member}

    def records_deleted(self, index: int, low: int) -> None:
        """Note that a deletion of records was answered."""
        self.happened["deletions"] += 1
        self.deleted_below[index] = self.step, max(low, self.deleted_below.get(index, (0, 0))[1])

    # --- the end ----------------------------------------------------------------------------------------

    def check_records(self, seat: Seat, offsets: Iterable[int], letters: Counter[int]) -> None:
        """Check that of these records, which are all there are, none was lost.

        `letters`: the number of dead letters by offset.
        """
        facts, rules = self.facts[seat], self.rules[seat[0]]
        for offset in offsets:
            if offset < facts.begins or facts.said[offset].total() > 0 or letters[offset]:
                continue
            count = facts.deliveries[offset]
            tried = count + self.unseen[seat[0]]
            assert not rules.letters_topic, f"{seat} {offset} is lost, after {count} deliveries"
            assert tried >= rules.limit, f"{seat} {offset} is lost, after {count} deliveries"

    def check_letters(self, seat: Seat, letters: Counter[int], *, is_exact: bool) -> None:
        """Check that there are letters of the right records, each once if that is promised."""
        facts, rules = self.facts[seat], self.rules[seat[0]]
        for offset, count in letters.items():
            tried = self.deliveries[seat, offset] + self.unseen[seat[0]]
            has_cause = self.rejected[seat, offset] > 0 or tried >= rules.limit
            assert has_cause, f"{seat} {offset} has a letter, after {tried} deliveries and no rejection"
            assert not is_exact or count <= 1 + facts.generation, f"{seat} {offset} has {count} letters"
        for offset, ending in facts.endings.items():
            if ending.life == UNKNOWN:
                continue
            if ending.kind == REJECT:
                has_letter = letters[offset] or not rules.letters_topic
                assert has_letter, f"{seat} {offset} was rejected and has no letter"
            elif not facts.generation:
                assert not letters[offset], f"{seat} {offset} has a letter, and was finished by {ending}"
