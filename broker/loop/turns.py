"""The turns of the event loop, and the work that takes their time.

While a turn lasts, nothing else is served.  Each turn is split without gaps into the times of its tasks:

    begin ── sockets ── enter(call) ── leave ── sockets ── enter(SENDING) ── … ── end
                        the call's time                     sending's time

A task is a call, which works for its API, or work of another kind (`Work`).  A turn is counted under the work
that took the most of it; so the label has as many values as there are APIs and kinds, whatever clients send.
Costs: two looks at the clock for each task, and no allocation.

Other threads may read the attributes at any time (broker/server/watchdog.py does, while a turn lasts).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Final, Protocol

from broker.loop.histogram import Histogram
from protocol.api_keys import ApiKey

PAGE_NS: Final = 50_000_000
"""The time for which a page counts as being made, if its end is not told: some turns of a busy loop."""

SENT_NS: Final = 10_000_000
"""The same from when there is only left to send it."""

BUDGET_NS: Final = 5_000_000
"""The processor time that a turn may take: with it, a client waits some milliseconds for any other."""

WINDOW_BITS: Final = 36
"""Recent maxima are kept for windows of 2^36 ns, 69 s: longer than monitoring waits between scrapes."""


class Task(Protocol):
    """A piece of work on the event loop."""

    local_ns: int
    """The time it has taken so far."""

    @property
    def work(self) -> Work:
        """The kind of work under which its time is counted."""


class Work:
    """A kind of work: an API, or something that the loop does for all; also the task of all such pieces."""

    __slots__ = ("local_ns", "name", "over_budget", "turn_ns", "turn_number", "turns_ns", "work")

    def __init__(self, name: str) -> None:
        self.name = name
        self.work = self
        self.local_ns = 0
        # The time taken of the turn with this number.
        self.turn_number = 0
        self.turn_ns = 0
        # The whole durations of turns of which it took the most, and the number of those over budget.
        self.turns_ns = Histogram()
        self.over_budget = 0


class Turns:
    """The present turn, and the counts of all before."""

    __slots__ = (
        "accept",
        "apis",
        "asleep",
        "background",
        "began_cpu_ns",
        "began_ns",
        "clock_ns",
        "cpu_ns",
        "disk",
        "http",
        "longest",
        "longest_before_ns",
        "longest_ns",
        "longest_task_ns",
        "mark_ns",
        "number",
        "on_slow",
        "page_until_ns",
        "running",
        "sending",
        "sockets",
        "task",
        "timers",
        "touched",
        "unknown",
        "wake",
        "window",
    )

    def __init__(
        self, clock_ns: Callable[[], int] | None = None, cpu_ns: Callable[[], int] | None = None
    ) -> None:
        """`clock_ns`: a steady clock; `cpu_ns`: the loop's processor time; without them no durations."""
        self.clock_ns = clock_ns or _zero
        self.cpu_ns = cpu_ns or _zero
        self.apis = {int(key): Work(key.name.lower()) for key in ApiKey}
        self.unknown = Work("unknown")
        # Reading from sockets, decoding headers and whatever has no name of its own.
        self.sockets = Work("sockets")
        self.accept = Work("accept")
        self.sending = Work("sending")
        # Results of disk work, and handing out more of it.
        self.disk = Work("disk")
        self.timers = Work("timers")
        self.background = Work("background")
        self.http = Work("http")
        self.number = 0
        self.running = False
        self.began_ns = self.mark_ns = 0
        self.began_cpu_ns = 0
        self.task: Task = self.sockets
        # The kinds of work that have taken some of this turn, and the task with the longest single piece.
        self.touched = [self.sockets]
        self.longest: Task = self.sockets
        self.longest_task_ns = 0
        # The longest turn of this window of time and of the one before.
        self.window = 0
        self.longest_ns = 0
        self.longest_before_ns = 0
        # A watcher that sleeps while no turn lasts is woken by the next.
        self.asleep = False
        # The moment until which a page is made, outside the turns.
        self.page_until_ns = 0
        self.wake: Callable[[], None] = _nothing
        # Called at the end of a turn over budget with its duration and processor time.
        self.on_slow: Callable[[int, int], None] | None = None

    @property
    def works(self) -> list[Work]:
        """Every kind of work."""
        others = (self.accept, self.background, self.disk, self.http, self.sending, self.sockets)
        return [*self.apis.values(), *others, self.timers, self.unknown]

    def begin(self, task: Task) -> None:
        """Begin a turn with this task."""
        self.began_ns = self.mark_ns = self.clock_ns()
        self.began_cpu_ns = self.cpu_ns()
        self.number += 1
        self.task = self.longest = task
        self.longest_task_ns = 0
        work = task.work
        work.turn_number, work.turn_ns = self.number, 0
        self.touched = [work]
        self.running = True
        if self.asleep:
            self.wake()

    def enter(self, task: Task) -> Task:
        """Begin a task inside another, which is returned for `leave`; `mark_ns` is the moment."""
        now_ns = self.clock_ns()
        before = self.task
        spent_ns = now_ns - self.mark_ns
        self.mark_ns = now_ns
        self.task = task
        before.local_ns += spent_ns
        if spent_ns > self.longest_task_ns:
            self.longest_task_ns = spent_ns
            self.longest = before
        work = before.work
        if work.turn_number == self.number:
            work.turn_ns += spent_ns
        else:
            work.turn_number, work.turn_ns = self.number, spent_ns
            self.touched.append(work)
        return before

    leave = enter
    """Go on with the task from before; `mark_ns` is the moment."""

    @property
    def most(self) -> Work:
        """The work that has taken the most of the present turn, or of the last one."""
        return max(self.touched, key=_turn_ns)

    def end(self) -> None:
        """Count the turn."""
        self.enter(self.sockets)
        self.running = False
        duration_ns = self.mark_ns - self.began_ns
        most = self.most
        most.turns_ns.add(duration_ns)
        if duration_ns > self.longest_ns or self.mark_ns >> WINDOW_BITS != self.window:
            self._note_longest(duration_ns)
        if duration_ns > BUDGET_NS:
            cpu_ns = self.cpu_ns() - self.began_cpu_ns
            if cpu_ns > BUDGET_NS:
                most.over_budget += 1
            if self.on_slow is not None:
                self.on_slow(duration_ns, cpu_ns)
        # A finished call must not be kept in memory by an idle loop.
        self.longest = self.sockets

    def asked_for_page(self) -> None:
        """Note that a page is made for a client of HTTP, which takes some visits to trio."""
        self.page_until_ns = self.clock_ns() + PAGE_NS

    def page_is_made(self) -> None:
        """Note that a page is to be sent."""
        self.page_until_ns = self.clock_ns() + SENT_NS

    def no_page(self) -> None:
        """Note that no client of HTTP is there any more."""
        self.page_until_ns = 0

    @contextmanager
    def aside(self, task: Task) -> Iterator[None]:
        """Count work on the loop's thread outside of the reactor's turns as a turn of its own."""
        self.begin(task)
        try:
            yield
        finally:
            self.end()

    def _note_longest(self, duration_ns: int) -> None:
        window = self.mark_ns >> WINDOW_BITS
        if window != self.window:
            self.longest_before_ns = self.longest_ns if window == self.window + 1 else 0
            self.window = window
            self.longest_ns = 0
        self.longest_ns = max(self.longest_ns, duration_ns)

    def recent_longest_ns(self) -> int:
        """Return the longest turn of the last one to two minutes."""
        windows_ago = (self.clock_ns() >> WINDOW_BITS) - self.window
        if windows_ago > 1:
            return 0
        return max(self.longest_ns, self.longest_before_ns if windows_ago == 0 else 0)


_turn_ns = attrgetter("turn_ns")


def _zero() -> int:
    return 0


def _nothing() -> None:
    return
