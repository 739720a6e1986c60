"""The interpreter's steps in the event loop for a small request: `python -m benchmarks.loop_steps`.

    turns of 20   four clients with five requests in flight, all of which come in one turn
    turns of 4    the same in pairs of clients, whose logs commit in turns: two requests of each in a turn
    alone         one request in its turn and in its commit
    poll          the same, and a fetch that waits for its record
    commit        an offset of a group, in place of the record

Sockets, disk and threads are in memory, and time is what the looks at the clock make of it: but for a
hundredth the count depends on the code alone, however busy the machine is.  `--functions 30` lists those that
take most; `--times 100` has the least time of so many rounds instead, by the real clock.
"""

from __future__ import annotations

import argparse
import gc
import select
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from types import CodeType, FrameType
from typing import Any, Final
from unittest.mock import patch

import trio

from broker.config.endpoints import Endpoint
from broker.server.listeners import Listener
from broker.server.reactor import Reactor
from broker.server.workers import DiskWorkers
from compat_tests.batches import Batch
from protocol.api_keys import ApiKey
from protocol.headers import encode_request_header
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.wire import encode
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import create
from tests.broker.server.fakes import FakeListener, FakeSocket

TOPIC: Final = "small"
PARTITIONS: Final = 4
RECORD: Final = b"x" * 100
FETCH_VERSION: Final = 11
COMMIT_VERSION: Final = 7
LOOK_NS: Final = 5_000
"""The time between two looks at the counted clock: a request has about seven of them."""

WARM_ROUNDS: Final = 60
ROUNDS: Final = 30
TIMED_ROUNDS: Final = 10
NOT_COUNTED: Final = ("loop_steps.py", "fakes.py", "batches.py")


class Socket(FakeSocket):
    """A client's socket that takes all, and keeps nothing."""

    def sendmsg(self, buffers: Any, _ancillary: Any, _flags: int) -> int:
        """Take it."""
        return sum(map(len, buffers))


class Epoll:
    """One of the reactor's two epolls; while it waits, the course of events goes on."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.watched: dict[int, int] = {}
        self.descriptor = 900 + len(world.epolls)
        world.epolls.append(self)

    def fileno(self) -> int:
        """Return a number of its own."""
        return self.descriptor

    def register(self, descriptor: int, mask: int) -> None:
        """Watch a descriptor."""
        self.watched[descriptor] = mask

    modify = register

    def unregister(self, descriptor: int) -> None:
        """Watch it no more."""
        del self.watched[descriptor]

    def poll(self, seconds: float, _count: int) -> list[tuple[int, int]]:
        """Return what is ready, and have something happen first if nothing is."""
        return self._world.polled(self, goes_on=seconds > 0)


class World:
    """A gateway whose clients and disk do what a course of events says."""

    def __init__(self, options: argparse.Namespace, clients: int) -> None:
        self._options = options
        self.epolls: list[Epoll] = []
        self.ready: dict[int, int] = {}
        self.gateway = Gateway()
        create(self.gateway.client(), TOPIC, PARTITIONS)
        self.gateway.settle()
        self.now_ns = 0
        self._began_ns = time.monotonic_ns()
        turns = self.gateway.broker.stats.turns
        turns.clock_ns = time.monotonic_ns if options.times else self._look
        turns.cpu_ns = time.thread_time_ns if options.times else self._look
        self.workers = DiskWorkers(0)
        self.workers.grow = lambda count: None  # type: ignore[method-assign]
        self._idle = [SimpleQueue[Any]() for _ in range(PARTITIONS)]
        self.workers._jobs._idle += self._idle
        self.listener = FakeListener([f"10.0.0.{number}" for number in range(clients)])
        self.sequences: Counter[int] = Counter()
        self.counts: Counter[CodeType] = Counter()
        self.requests = 0
        self.spent_ns = self._mark_ns = 0
        self.is_counting = self.is_over = False
        self.course: Iterator[None] = iter(())
        listening: Any = self.listener
        with patch.object(select, "epoll", lambda: Epoll(self)):
            self.reactor = Reactor(
                self.gateway.broker,
                listeners=[Listener(listening, Endpoint("127.0.0.1", 9092), None)],
                workers=self.workers,
                now_ms=self._now_ms,
                wall_ms=self._now_ms,
                connection_room=1_000,
            )

    def _look(self) -> int:
        self.now_ns += LOOK_NS
        return self.now_ns

    def _now_ms(self) -> int:
        spent_ns = time.monotonic_ns() - self._began_ns if self._options.times else self.now_ns
        return START_MS + spent_ns // 1_000_000

    # --- what happens outside the loop -----------------------------------------------------------------

    def polled(self, epoll: Epoll, *, goes_on: bool) -> list[tuple[int, int]]:
        """Return what is ready of an epoll; nothing in here is counted."""
        self.pause()
        if goes_on and next(self.course, self) is self:
            self.is_over = True
        own, crowd = self.epolls
        found = [(number, mask) for number, mask in self.ready.items() if number in epoll.watched]
        for number, _ in found:
            del self.ready[number]
        if epoll is own and any(number in crowd.watched for number in self.ready):
            found.append((crowd.descriptor, select.EPOLLIN))
        self.go_on()
        return found

    def send(self, client: int, frames: bytes, *, count: int = 0) -> None:
        """Have a client send these bytes, of which so many requests are counted."""
        sock: FakeSocket = self.listener.accepted[client]
        sock.__class__ = Socket
        sock.incoming.append(frames)
        self.ready[sock.fileno()] = select.EPOLLIN
        self.requests += count

    def produce(self, client: int, count: int) -> None:
        """Have a client send so many Produce requests with a record each, to its own partition."""
        self.send(client, b"".join(self._produce_frame(client) for _ in range(count)), count=count)

    def _produce_frame(self, client: int) -> bytes:
        stamp: dict[str, Any] = {}
        if self._options.idempotent:
            stamp = {"producer_id": client, "producer_epoch": 0, "base_sequence": self.sequences[client]}
            self.sequences[client] += 1
        batch = Batch(values=[RECORD], base_timestamp=self._now_ms(), **stamp).encode()
        data = PartitionProduceData(index=client % PARTITIONS, records=batch)
        request = ProduceRequest(
            acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])]
        )
        return frame(ApiKey.PRODUCE, self._options.version, request)

    def fetch(self, client: int) -> None:
        """Have a client wait for the next record of the first partition."""
        end = self.gateway.partition(TOPIC, 0).high_watermark
        wanted = [FetchPartition(partition=0, fetch_offset=end, partition_max_bytes=1 << 20)]
        request = FetchRequest(
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=50_000_000,
            topics=[FetchTopic(topic=TOPIC, partitions=wanted)],
        )
        self.send(client, frame(ApiKey.FETCH, FETCH_VERSION, request))

    def commit(self, client: int) -> None:
        """Have a client commit an offset."""
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="")
        topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])
        request = OffsetCommitRequest(
            group_id="g", generation_id_or_member_epoch=-1, member_id="", topics=[topic]
        )
        self.send(client, frame(ApiKey.OFFSET_COMMIT, COMMIT_VERSION, request), count=1)

    def work(self) -> None:
        """Let the disk threads work."""
        for inbox in self._idle:
            while not inbox.empty():
                task = inbox.get()
                self.workers._jobs._idle.append(inbox)
                task()
                self.ready[self.workers.event_descriptor] = select.EPOLLIN

    # --- counting --------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Count nothing from here on."""
        if self.is_counting:
            sys.settrace(None)
        self.spent_ns += time.perf_counter_ns() - self._mark_ns

    def go_on(self) -> None:
        """Count from here on."""
        self._mark_ns = time.perf_counter_ns()
        if self.is_counting:
            sys.settrace(self._trace)

    def _trace(self, at: FrameType, _event: str, _argument: object) -> Any:
        if at.f_code.co_filename.endswith(NOT_COUNTED):
            return None
        at.f_trace_opcodes, at.f_trace_lines = True, False
        return self._step

    def _step(self, at: FrameType, event: str, _argument: object) -> Any:
        if event == "opcode":
            self.counts[at.f_code] += 1
        return self._step

    async def run(self) -> None:
        """Take turns until the course of events is over."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.reactor._timer.run, self.reactor.tick)
            await trio.lowlevel.checkpoint()
            while not self.is_over:
                self.go_on()
                self.reactor.take_turns()
                self.pause()
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()


class CountedClock(trio.abc.Clock):
    """Trio's time, by the counted clock."""

    def __init__(self, world: World) -> None:
        self._world = world

    def start_clock(self) -> None:
        """Do nothing: it goes."""

    def current_time(self) -> float:
        """Return the seconds."""
        return self._world.now_ns / 1e9

    def deadline_to_sleep_time(self, _deadline: float) -> float:
        """Wait for nothing."""
        return 0.0


def frame(api_key: int, version: int, request: Any) -> bytes:
    """Return a request with its length."""
    header = encode_request_header(api_key=api_key, api_version=version, correlation_id=7, client_id="client")
    body = header + b"".join(encode(request, version))  # type: ignore[arg-type]  # no file ranges
    return struct.pack(">i", len(body)) + body


def turns_of_20(world: World) -> Iterator[None]:
    """One round: all clients send all that they may have in flight, then the disk works."""
    for client in range(4):
        world.produce(client, 5)
    yield
    world.work()
    yield


def turns_of_4(world: World) -> Iterator[None]:
    """One round: the clients of one log send and are answered, then those of the other."""
    for pair in ((0, 2), (1, 3)):
        for client in pair:
            world.produce(client, 2)
        yield
        world.work()
        yield


def alone(world: World) -> Iterator[None]:
    """One round: one request."""
    world.produce(0, 1)
    yield
    world.work()
    yield


def poll(world: World) -> Iterator[None]:
    """One round: a fetch, and the record for which it waits."""
    world.fetch(1)
    yield
    yield from alone(world)


def commit(world: World) -> Iterator[None]:
    """One round: an offset, alone."""
    world.commit(0)
    yield
    world.work()
    yield


COURSES: Final[dict[str, tuple[Callable[[World], Iterator[None]], int]]] = {
    "turns of 20": (turns_of_20, 4),
    "turns of 4": (turns_of_4, 4),
    "alone": (alone, 1),
    "poll": (poll, 2),
    "commit": (commit, 1),
}


def course(world: World, rounds: Callable[[World], Iterator[None]], times: list[float]) -> Iterator[None]:
    """Yield while anything is to happen; fill the counts of the world, or the µs of each round."""
    while world.listener.waiting:
        world.ready[world.listener.fileno()] = select.EPOLLIN
        yield
    for _ in range(WARM_ROUNDS):
        yield from rounds(world)
    gc.collect()
    gc.disable()
    world.requests = 0
    if not world._options.times:
        world.is_counting = True
        for _ in range(ROUNDS):
            yield from rounds(world)
        world.is_counting = False
        return
    for _ in range(world._options.times):
        before, world.spent_ns = world.requests, 0
        for _ in range(TIMED_ROUNDS):
            yield from rounds(world)
        times.append(world.spent_ns / (world.requests - before) / 1e3)


def main() -> int:
    """Count, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("courses", nargs="*", choices=[*COURSES, []], help="all, unless named")
    parser.add_argument("--version", type=int, default=7, help="of Produce")
    parser.add_argument("--idempotent", action="store_true", help="the batches have producer ids")
    parser.add_argument("--functions", type=int, default=0, help="list so many functions")
    parser.add_argument("--times", type=int, default=0, help="take the time of so many rounds instead")
    options = parser.parse_args()
    for name in options.courses or COURSES:
        rounds, clients = COURSES[name]
        world = World(options, clients)
        times: list[float] = []
        world.course = course(world, rounds, times)
        trio.run(world.run, clock=None if options.times else CountedClock(world))
        gc.enable()
        if times:
            print(f"{name:<12} {min(times):>8.1f} µs a request at the least")
            continue
        print(f"{name:<12} {world.counts.total() / world.requests:>8,.0f} bytecodes a request")
        for code, count in world.counts.most_common(options.functions):
            place = "/".join(code.co_filename.rsplit("/", 3)[1:])
            print(f"    {count / world.requests:>8,.1f}  {place} {code.co_qualname}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
