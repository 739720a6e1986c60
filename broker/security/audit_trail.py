"""The audit trail: events that wait to be written, and what is done while they cannot be.

    record --> queue --> batch --> sink --> sink --> written
                           ^        |
                           \\- RETRY_MS after it has failed

One batch is under way at a time, and a sink that has taken it is not asked again.  While a sink fails, or has
not answered for STALL_MS, or the queue is full, the trail is in distress: with `kawal.audit.when.full=refuse`
logins and changes are refused (`blocked`); with `drop` they go on.  In both cases events wait as long as
there is room, and are counted when there is none; the first event written afterwards says how many were lost.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

from broker.security.audit_repeats import Repeats

logger = logging.getLogger("kawal.audit")

QUEUE_MAX: Final = 10_000
"""The most events that wait, of 1 KB mostly."""

BATCH_MAX: Final = 500
BATCH_CHARACTERS_MAX: Final = 128 << 10
"""A batch is at most 1 MiB as JSON, where a character may take six bytes: segments may be as small."""

EVENT_CHARACTERS_MAX: Final = 16 << 10

RETRY_MS: Final = 1_000
STALL_MS: Final = 5_000
"""A disk that takes longer for a batch is told as one that takes nothing."""

TEXT_MAX: Final = 512
"""Characters of a text that clients have chosen."""

ITEMS_MAX: Final = 50
"""Entries of a list or mapping that are shown."""

Event: TypeAlias = dict[str, Any]
"""An event: `time_ms`, `event`, `outcome` and what else is known."""

After = Callable[[int, Callable[[], None]], None]
"""Calls an action after this many milliseconds."""

Done = Callable[[str | None], None]
"""Called when a sink has taken a batch, or with the reason why it has not."""


class Batch:
    """Events on their way through the sinks; the first sink that needs them makes the lines."""

    __slots__ = ("events", "lines")

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.lines: list[bytes] | None = None


Sink = Callable[[Batch, Done], None]


class AuditTrail:
    """The queue of events; `wall_ms` is their time, `now_ms` a steady clock."""

    def __init__(
        self,
        sinks: Sequence[Sink],
        *,
        refuses: bool,
        now_ms: Callable[[], int],
        wall_ms: Callable[[], int],
        after: After,
        node: int | None = None,
    ) -> None:
        """Events name the `node` if there are several."""
        self._sinks = sinks
        self._refuses = refuses
        self._now_ms = now_ms
        self._wall_ms = wall_ms
        self._after = after
        self._of: Event = {} if node is None else {"node": node}
        # With the characters of each.
        self._queue: deque[tuple[Event, int]] = deque()
        self._batch: Batch | None = None
        self._batches = 0
        self._next_sink = 0
        # By event: what clients without credentials can cause must not hide what others do.
        self._repeats: dict[str, Repeats[tuple[str, ...]]] = {}
        self._lost = 0
        self.distress = ""
        """Why nothing can be written at present; "" if all is well."""
        self.written = self.dropped = self.left_out = 0

    @property
    def blocked(self) -> str:
        """Why logins and changes are to be refused; "" if they are not."""
        return self.distress if self._refuses else ""

    @property
    def waiting(self) -> int:
        """The number of events that are not written yet."""
        return len(self._queue) + (0 if self._batch is None else len(self._batch.events))

    def counts(self) -> dict[str, int]:
        """Return the numbers for metrics."""
        return {
            "written": self.written,
            "dropped": self.dropped,
            "left_out": self.left_out,
            "waiting": self.waiting,
            "failing": int(bool(self.distress)),
        }

    def record(self, event: str, *, outcome: str = "ok", **fields: object) -> None:
        """Have an event written; fields that are None or empty texts are left out."""
        shortener = Shortener()
        shown = {
            name: shortener.short(value)
            for name, value in fields.items()
            if value is not None and value != ""
        }
        made = {"time_ms": self._wall_ms(), "event": event, "outcome": outcome, **self._of, **shown}
        self._put(made, shortener.characters)
        self._start()

    def record_limited(self, event: str, kind: tuple[str, ...], *, source: str, **fields: Any) -> None:
        """Have an event written unless it repeats others of its kind; those left out are counted.

        `source` is the client's address.
        """
        now_ms = self._now_ms()
        repeats = self._repeats.setdefault(event, Repeats())
        if now_ms >= repeats.ends_ms:
            self._tell_repeats(event)
        told = repeats.has_left_out
        if repeats.passes((source, *kind), source, now_ms):
            self.record(event, **fields)
        elif not told:
            self._after(repeats.ends_ms - now_ms, lambda: self._tell_repeats(event))

    def _tell_repeats(self, event: str) -> None:
        """Record how many events of this name the last window has left out."""
        repeats = self._repeats[event]
        if not repeats.has_left_out or self._now_ms() < repeats.ends_ms:
            return
        left_out, others = repeats.take()
        self.left_out += sum(left_out.values()) + others
        for kind, count in left_out.items():
            self.record("audit.repeats", of=event, kind=kind, left_out=count)
        if others:
            self.record("audit.repeats", of=event, left_out=others)

    def _put(self, event: Event, characters: int) -> None:
        if len(self._queue) < QUEUE_MAX:
            self._queue.append((event, characters))
            return
        self.dropped += 1
        self._lost += 1
        self._distressed(f"{QUEUE_MAX} events wait to be written")

    # --- writing -----------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._batch is not None or not self._queue:
            return
        if self._lost:
            gap = {"time_ms": self._wall_ms(), "event": "audit.gap", "outcome": "failed", **self._of}
            self._queue.appendleft(({**gap, "left_out": self._lost}, 0))
            self._lost = 0
        self._batch = Batch(list(self._taken()))
        self._batches += 1
        self._next_sink = 0
        self._pass_on()

    def _taken(self) -> Iterator[Event]:
        """Yield the events of the next batch, at least one."""
        room = BATCH_CHARACTERS_MAX
        for _ in range(BATCH_MAX):
            event, characters = self._queue.popleft()
            yield event
            room -= characters
            if not self._queue or room < self._queue[0][1]:
                return

    def _pass_on(self) -> None:
        assert self._batch is not None, "a batch is under way"
        number, sink = self._batches, self._next_sink
        self._after(STALL_MS, lambda: self._check_stall(number))

        def done(reason: str | None) -> None:
            if number == self._batches and sink == self._next_sink:
                self._answered(reason)

        self._sinks[sink](self._batch, done)

    def _answered(self, reason: str | None) -> None:
        if reason is not None:
            self._distressed(reason)
            self._after(RETRY_MS, self._pass_on)
            return
        self._next_sink += 1
        if self._next_sink < len(self._sinks):
            self._pass_on()
            return
        assert self._batch is not None, "a batch is under way"
        self.written += len(self._batch.events)
        self._batch = None
        if self.distress:
            logger.warning("the audit log is written again; %d events were lost", self._lost)
            self.distress = ""
        self._start()

    def _check_stall(self, number: int) -> None:
        if self._batch is not None and number == self._batches and not self.distress:
            self._distressed(f"a batch of events is not written after {STALL_MS // 1000} s")

    def _distressed(self, reason: str) -> None:
        if not self.distress:
            effect = "logins and changes are refused" if self._refuses else "events are lost in the end"
            logger.error("the audit log cannot be written, and %s: %s", effect, reason)
        self.distress = reason

    def rest(self) -> list[Event]:
        """Take all that the first sink has not taken, for the end of the server."""
        under_way = [] if self._batch is None or self._next_sink else self._batch.events
        events = [*under_way, *(each for each, _ in self._queue)]
        self._batch = None
        self._queue.clear()
        return events


def refusal_text(reason: str) -> str:
    """Return the sentence that refuses a change or a login."""
    return (
        f"the audit log cannot be written ({reason}), and kawal.audit.when.full=refuse allows nothing that it"
        " would have to tell; make room for it"
    )


class Shortener:
    """Makes the values of one event fit for it: texts are cut, and collections have few entries."""

    def __init__(self) -> None:
        self.characters = 0

    def short(self, value: object) -> object:
        """Return a value, or what is left of it."""
        if isinstance(value, bool | int | float) or value is None:
            self.characters += 8
            return value
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list | tuple | set | frozenset):
            listed = [self.short(each) for each in self._some(value)]
            left = len(value) - len(listed)
            return [*listed, f"… and {left} more"] if left else listed
        text = str(value)
        room = min(TEXT_MAX, max(0, EVENT_CHARACTERS_MAX - self.characters))
        self.characters += min(len(text), room) + 4
        return text if len(text) <= room else f"{text[:room]}…"

    def _mapping(self, value: Mapping[Any, object]) -> dict[str, object]:
        cut: dict[str, object] = {}
        for name in self._some(value):
            cut[str(self.short(str(name)))] = self.short(value[name])
        left = len(value) - len(cut)
        return {**cut, "…": left} if left else cut

    def _some(self, values: Iterable[Any]) -> Iterator[Any]:
        """Yield the first entries, as long as there is room."""
        for value in islice(values, ITEMS_MAX):
            if self.characters >= EVENT_CHARACTERS_MAX:
                return
            yield value
