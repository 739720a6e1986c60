"""Requests in which one array is as wide as one likes, and the work on the event loop that each takes.

    for path in array_paths(request_type, version): request = wide_request(...)
    piece = longest_piece(Loop(...), request, version)       the most lines of Python without a pause

A piece of work is what the event loop does without a look at its sockets: bytes are received, a slice is run,
what a thread has done is taken back, the disk's work is begun or over, a timer is due, a client leaves.  What
threads do is left out.  The lines of a piece do not depend on the machine and what else it does.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple
from uuid import UUID

from broker.core import Broker
from protocol import schema
from protocol.layout import Field, Layout, element_field, layout
from protocol.schema import ArrayOf, Fixed
from tests.broker.gateway import Client, Gateway, request_frame

Path = tuple[str, ...]

NULL: frozenset[str] = frozenset(
    {
        "records",
        "group_instance_id",
        "rack_id",
        "subscribed_topic_regex",
        "server_assignor",
        "transactional_id",
        "user_principal_name",
    }
)
"""The fields that are null if they may: with a value, requests would be refused for it."""

NUMBERS: dict[str, int] = {
    "replica_id": -1,
    "acks": -1,
    "resource_type": 2,
    "key_type": 0,
    "session_epoch": -1,
    "member_epoch": 0,
    "mechanism": 1,
    "iterations": 4096,
    "replication_factor": 1,
    "num_partitions": 1,
    "pattern_type_filter": 1,
    "resource_type_filter": 1,
    "config_operation": 0,
}
"""The numbers of some fields, with which requests are sensible."""


def array_paths(found: Layout, before: Path = ()) -> Iterator[Path]:
    """Yield where a message in one version has arrays: the names of fields from its top to each."""
    for field in (*found.plain, *found.tagged):
        path = (*before, field.name)
        if isinstance(field.kind, ArrayOf):
            yield path
        if field.layout is not None:
            yield from array_paths(field.layout, path)


class Wide(NamedTuple):
    """The way to fill a message: the array at `path` gets `width` elements, all others one or none."""

    path: Path
    width: int
    topic_id: UUID
    same: bool = False
    """Whether all elements have the same name, of something that there is."""
    hollow: bool = False
    """Whether the arrays inside of the elements are empty."""
    flags: bool = False
    """The value of all booleans."""
    nameless: bool = False
    """Whether all names are empty."""

    def message(self, cls: type[Any], version: int) -> Any:
        """Return the request."""
        return self._struct(layout(cls, version), self.path, 0)

    def _struct(self, found: Layout, path: Path, number: int) -> Any:
        return found.cls(
            **{
                field.name: self._value(field, path[1:] if path[:1] == (field.name,) else None, number)
                for field in (*found.plain, *found.tagged)
            }
        )

    def _value(self, field: Field, path: Path | None, number: int) -> Any:
        """Return the value of a field; `path` is the rest of the way to the wide array, None: not in here."""
        if isinstance(field.kind, ArrayOf):
            return self._array(field, path, number)
        if path is None and (field.tag is not None or (field.layout is not None and field.nullable)):
            return field.default if field.tag is not None else None
        if field.layout is not None:
            return self._struct(field.layout, path or (), number)
        return self._scalar(field, number)

    def _array(self, field: Field, path: Path | None, number: int) -> list[Any] | None:
        element = element_field(field)._replace(name=field.name)
        if path is None:
            if field.tag is not None:
                return field.default  # type: ignore[no-any-return]
            if self.hollow:
                return []
            return None if field.nullable else [self._value(element, None, number)]
        count = 1 if path else self.width
        return [self._value(element, path, index) for index in range(count)]

    def _scalar(self, field: Field, number: int) -> Any:
        kind, name = field.kind, field.name
        if kind is schema.Uuid:
            return self.topic_id if self.same else UUID(int=number + 1)
        if isinstance(kind, Fixed):
            return self._number(kind, name, number)
        if field.nullable and name in NULL:
            return None
        if kind is not schema.String:
            return b""
        if self.nameless:
            return ""
        if not self.same:
            return f"n{number}"
        return "t" if "topic" in name or name == "name" else "g" if "group" in name else "x"

    def _number(self, kind: Fixed, name: str, number: int) -> Any:
        if kind is schema.Bool:
            return self.flags
        if kind is schema.Float64:
            return 1.0
        if name in NUMBERS:
            return NUMBERS[name]
        if "partition" in name and "count" not in name:
            return number % 100 if kind is schema.Int8 else 0 if self.same else number
        if "timestamp" in name:
            return -1
        if name.endswith("_ms"):
            return 30_000
        if "bytes" in name:
            return 1 << 20
        return 0 if kind is schema.Int8 else 1


LINE_NS: Final = 100
"""The time of a line by the clock of a measured gateway: about that on a processor (measured: 60 to 115)."""


class Piece(NamedTuple):
    """A piece of work: its size, in lines or in nanoseconds, and where most of it was."""

    size: int = 0
    where: str = ""


class Lines:
    """Counts the lines of Python that pieces of work run; they are the clock of the gateway, too."""

    def __init__(self) -> None:
        self.longest = Piece()
        self._before = 0
        self._lines: Counter[CodeType] = Counter()

    def clock_ns(self) -> int:
        """Return the time by which work is shared out among turns."""
        return (self._before + self._lines.total()) * LINE_NS

    def run(self, what: str, work: Callable[..., Any], *args: Any) -> Any:
        """Do a piece of work."""
        lines = self._lines = Counter()

        def trace(frame: FrameType, event: str, _arg: object) -> Any:
            if event == "line":
                lines[frame.f_code] += 1
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            return work(*args)
        finally:
            sys.settrace(before)
            size = lines.total()
            self._lines = Counter()
            self._before += size
            if size > self.longest.size:
                self.longest = Piece(size, f"{what}: {_most(lines)}")


def _most(lines: Counter[CodeType]) -> str:
    return ", ".join(
        f"{code.co_filename.rpartition('/')[2]}:{code.co_firstlineno} {code.co_name} {count}"
        for code, count in lines.most_common(3)
    )


class Times(Lines):
    """Measures the processor time of pieces of work instead, in nanoseconds."""

    def clock_ns(self) -> int:
        """Return the time by which work is shared out among turns."""
        return time.perf_counter_ns()

    def run(self, what: str, work: Callable[..., Any], *args: Any) -> Any:
        """Do a piece of work."""
        began_ns = time.thread_time_ns()
        try:
            return work(*args)
        finally:
            taken_ns = time.thread_time_ns() - began_ns
            if taken_ns > self.longest.size:
                self.longest = Piece(taken_ns, what)


class Threads:
    """The threads of a gateway: what they have to do is done when the test says so."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Callable[[], object], Callable[[Exception | None], None]]] = []

    def offload(self, work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        """Note work for a thread."""
        self._waiting.append((work, done))

    def take(self) -> list[Callable[[], None]]:
        """Do what there is to do; return what the event loop has to do then."""
        waiting, self._waiting = self._waiting, []
        return [_after(work, done) for work, done in waiting]


def _after(work: Callable[[], object], done: Callable[[Exception | None], None]) -> Callable[[], None]:
    failed: Exception | None = None
    try:
        work()
    except Exception as error:  # noqa: BLE001  (as in a thread)
        failed = error
    return lambda: done(failed)


PASSES_MAX = 500_000
"""No request takes more pieces of work; more than that would be work without an end."""

DEADLINES_MAX = 20
"""The moments that are let pass after the last answer, for what waits."""


class EventLoop:
    """The event loop of a gateway: it does everything there is to do, and measures each piece."""

    def __init__(self, client: Client, threads: Threads, measure: Lines) -> None:
        """`threads` are those of the gateway."""
        self._client = client
        self._gateway = client.gateway
        self._threads = threads
        self._measure = measure

    def _piece(self, what: str, work: Callable[..., Any], *args: Any) -> Any:
        """Do a piece of work in a turn of its own."""
        turns = self._broker.stats.turns
        turns.begin(turns.background)
        try:
            return self._measure.run(what, work, *args)
        finally:
            turns.end()

    @property
    def _broker(self) -> Broker:
        return self._gateway.broker

    def serve(self, request: Any, version: int) -> None:
        """Receive a request, answer it, and have the client leave; what waits for a time gets it."""
        self._client.unread += request_frame(request, version, 1)
        self._receive()
        self._work()
        for _ in range(DEADLINES_MAX):
            deadline_ms = self._broker.next_deadline()
            if deadline_ms is None:
                break
            self._gateway.now_ms = max(self._gateway.now_ms, deadline_ms)
            self._broker.clock.turn_ms = self._gateway.now_ms
            self._piece("a timer", self._broker.tick, self._gateway.now_ms)
            self._work()
        self._piece("the client leaves", self._broker.disconnect, self._client.connection)
        self._work()

    def _receive(self) -> None:
        """Give the broker what the client has sent, as far as it reads."""
        connection, unread = self._client.connection, self._client.unread
        while unread and connection.close_reason is None and not connection.saturated:
            buffer = connection.reader.wanted_buffer()
            size = min(len(buffer), len(unread))
            buffer[:size] = unread[:size]
            del unread[:size]
            receive = self._broker.intake.receive
            self._piece("receiving", receive, connection, size, self._gateway.now_ms)

    def _work(self) -> None:
        for _ in range(PASSES_MAX):
            if not (self._slice() or self._threads_work() or self._disk_work()):
                return
        raise AssertionError("the work has no end")

    def _slice(self) -> bool:
        scheduler = self._broker.scheduler
        pending = scheduler.pending
        if pending:
            self._piece("a slice", scheduler.run)
        return pending

    def _threads_work(self) -> bool:
        done = self._threads.take()
        for after in done:
            self._piece("after a thread", after)
        return bool(done)

    def _disk_work(self) -> bool:
        now_ms = self._gateway.now_ms
        jobs = self._piece("disk work begins", lambda: list(self._broker.take_jobs(now_ms)))
        for vnode, job in jobs:
            job.run()
            self._piece("disk work is done", self._broker.job_done, vnode, job, None, now_ms)
        return bool(jobs)


def let_work(gateway: Gateway, threads: Threads) -> None:
    """Let threads do what waits for them, and the gateway what follows, until nothing is left."""
    while done := threads.take():
        for after in done:
            after()
        gateway.settle()
