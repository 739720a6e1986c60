"""The parent of the workers of a data directory: it binds their sockets, starts them, and only waits then.

    starting   all are forked; one that ends ends the start
       | all answer
    serving    one that ends is started again, after a pause if that happens often
       | SIGTERM, SIGINT
    stopping   the others end first, then the controller, worker 0

It has the lock of the data directory, which its children inherit: the directory stays locked until the last
of them has ended.  It never has threads, an epoll or trio's loop, so that it can fork at any time, and what a
worker needs is imported once, in memory that all share.
"""

from __future__ import annotations

import gc
import logging
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from broker.config.config import Config
from broker.config.several_nodes import check_server
from broker.config.worker_share import of_worker
from broker.handlers import APIS
from broker.server import logs
from broker.server.child import TAKEN, Child, Tell, end_in_words, fork
from broker.server.listeners import StartError
from broker.server.notify import ALIVE, READY, STOPPING, life_interval_ms, tell_supervisor
from broker.server.place import Place
from broker.server.run import PRIVATE, main
from broker.server.worker_sockets import WorkerSockets
from protocol.api_keys import ApiKey
from protocol.messages.kawal_follow import KawalFollowRequest, KawalFollowResponse
from protocol.wire import decode, encode, joined
from wal.disk import OsDisk
from wal.store import make_directories, take_lock

if TYPE_CHECKING:
    from broker.config.config_sources import LoadedConfig
    from broker.server.console_host import ConsoleProgram
    from broker.server.reload import Load

logger = logging.getLogger("kawal.server")

SHARED_APIS: Final = (
    ApiKey.API_VERSIONS,
    ApiKey.METADATA,
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.FIND_COORDINATOR,
    ApiKey.KAWAL_FOLLOW,
)
"""The APIs that almost every client uses: their code is loaded before the workers are forked."""

QUICK_SECONDS: Final = 10.0
"""A worker that ends earlier has ended quickly."""

PAUSE_SECONDS: Final = 0.5
PAUSE_SECONDS_MAX: Final = 30.0

STOPPED: Final = (0, -signal.SIGTERM)
"""Exit statuses of a worker that was stopped; one that had not quite started ends by the signal itself."""


def pause_seconds(quick_ends: int) -> float:
    """Return the pause before a worker is started again that has ended quickly so many times in a row."""
    return min(PAUSE_SECONDS * 2 ** (quick_ends - 2), PAUSE_SECONDS_MAX) if quick_ends > 1 else 0.0


def supervise(
    config: Config,
    *,
    ready: Callable[[str], None],
    load: Load | None = None,
    users: Mapping[str, dict[str, str]] | None = None,
    console: ConsoleProgram | None = None,
) -> int:
    """Serve with several workers until SIGTERM or SIGINT, and return the exit status.

    The parameters are those of `broker.server.run.main`.
    Raises:
        StartError, wal.store.StoreError: the server cannot start; the text says why and what to do.
    """
    logs.set_up(json_lines=config.kawal_log_format == "json", level=config.kawal_log_level)
    os.umask(PRIVATE)
    check_server(config, config.kawal_workers, own_directory=False)
    with ExitStack() as opened:
        disk = OsDisk()
        make_directories(disk, config.log_dirs)
        opened.callback(take_lock(disk, config.log_dirs).release)
        sockets = WorkerSockets(config, opened)
        starter = Starter(config, sockets, life_interval_ms(os.environ), load, users, console)
        _prepare_memory()
        announce = console.announce if console is not None else ready
        return Supervisor(config.kawal_workers, starter.start, ready=ready, console=announce).run()


def _prepare_memory() -> None:
    """Load what workers need, and keep the collector from touching it: pages stay shared."""
    for api in SHARED_APIS:
        APIS[api].load(versions=())
    for message in (KawalFollowRequest(), KawalFollowResponse(records=[])):
        decode(type(message), 0, joined(encode(message, 0)))  # the first time makes their codecs
    # Without a collection before, which would take 30 ms: imports leave little that it would find.
    gc.freeze()


class Starter(NamedTuple):
    """All that the work of a worker begins with; but for the sockets, as `supervise` has it."""

    config: Config
    sockets: WorkerSockets
    life_ms: int | None
    """The interval of signs of life, None: none are expected."""
    load: Load | None
    users: Mapping[str, dict[str, str]] | None
    console: ConsoleProgram | None

    def start(self, number: int, reads_again: bool) -> Child:
        """Start a worker; `reads_again`: it reads the configuration file again."""
        return fork(number, lambda tell: self._work(number, tell, reads_again))

    def _work(self, number: int, tell: Tell, reads_again: bool) -> int:
        """Serve as one worker, in its own process, and return the exit status."""
        config, count, sockets, console = self.config, self.config.kawal_workers, self.sockets, self.console
        sockets.keep(number)
        requests, pages = sockets.inner[number]
        place = Place(
            number=number,
            workers=count,
            sockets=sockets.listeners[number],
            requests=requests,
            pages=pages if number else None,
            directory=sockets.directory,
            life_ms=self.life_ms,
            alive=lambda: tell("alive"),
            reads_again=reads_again,
        )
        if console is not None:
            console = console._replace(announce=lambda url: tell(f"console {url}"))
        status = main(
            of_worker(config, number, count),
            ready=lambda address: tell(f"ready {address}"),
            load=None if self.load is None else partial(self._load, number),
            users=None if number else self.users,
            console=None if number else console,
            place=place,
        )
        if status:
            tell("over")
        return status

    def _load(self, number: int) -> LoadedConfig:
        """Read the configuration again.  Raises: ConfigProblem."""
        assert self.load is not None
        loaded = self.load()
        return replace(loaded, config=of_worker(loaded.config, number, self.config.kawal_workers))


class Supervisor:
    """Starts workers, and acts on their ends and on signals."""

    def __init__(
        self,
        count: int,
        start: Callable[[int, bool], Child],
        *,
        ready: Callable[[str], None],
        console: Callable[[str], None],
    ) -> None:
        """`start(number, reads_again)` forks a worker; `ready` and `console` announce an address once."""
        self._count = count
        self._start = start
        self._ready = ready
        self._console = console
        self._children: dict[int, Child] = {}
        # The moments at which workers are to be started, and how often each has ended quickly in a row.
        self._due = dict.fromkeys(range(count), 0.0)
        self._quick_ends = [0] * count
        self._address = self._console_at = ""
        self._announced = False
        self._served = False
        self._stopping = False
        self._reads_again = False
        self._failure = ""
        self._status = 0

    def run(self) -> int:
        """Supervise until all have been stopped; return the exit status.  Raises: StartError."""
        hearing, telling = socket.socketpair()
        with hearing, telling:
            hearing.setblocking(False)
            telling.setblocking(False)
            before = {number: signal.signal(number, lambda *_: None) for number in TAKEN}
            signal.set_wakeup_fd(telling.fileno(), warn_on_full_buffer=False)
            try:
                while not self._finished:
                    self._start_due()
                    for number in self._wait(hearing):
                        self._take(signal.Signals(number))
                    self._hear()
                    self._bury()
            finally:
                signal.set_wakeup_fd(-1)
                for number, handler in before.items():
                    signal.signal(number, handler)
        if self._failure:
            raise StartError(self._failure)
        return self._status

    @property
    def _finished(self) -> bool:
        return self._stopping and not self._children

    def _start_due(self) -> None:
        now = time.monotonic()
        for number in [number for number, due in self._due.items() if due <= now]:
            del self._due[number]
            self._children[number] = self._start(number, self._reads_again)

    def _wait(self, hearing: socket.socket) -> bytes:
        """Wait until something happens or is due; return the numbers of the signals that have come."""
        poll = select.poll()
        for descriptor in (hearing.fileno(), *(child.pipe for child in self._children.values())):
            poll.register(descriptor, select.POLLIN)
        due = min(self._due.values(), default=None)
        found = poll.poll(None if due is None else max(0.0, due - time.monotonic()) * 1000 + 1)
        if hearing.fileno() in (descriptor for descriptor, _ in found):
            return hearing.recv(1024)
        return b""

    def _take(self, number: signal.Signals) -> None:
        """Act on a signal; SIGCHLD has no act of its own, as ends are looked for after each wait."""
        if number in (signal.SIGTERM, signal.SIGINT) and not self._stopping:
            logger.info("%s: stopping", number.name)
            self._stop()
        elif number == signal.SIGHUP:
            self._reads_again = True
            began = f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}"
            tell_supervisor(began, os.environ)
            self._send_all(number)
            tell_supervisor(READY, os.environ)
        elif number == signal.SIGQUIT:
            self._send_all(number)

    def _send_all(self, number: int) -> None:
        for child in self._children.values():
            child.send(number)

    def _stop(self) -> None:
        """Have all workers but the controller end; it follows when they have."""
        tell_supervisor(STOPPING, os.environ)
        self._stopping = True
        self._due.clear()
        for child in self._children.values():
            if child.number:
                child.send(signal.SIGTERM)
        self._stop_controller()

    def _stop_controller(self) -> None:
        if list(self._children) == [0]:
            self._children[0].send(signal.SIGTERM)

    # --- what workers say ------------------------------------------------------------------------------

    def _hear(self) -> None:
        for child in self._children.values():
            self._hear_one(child)
        if not self._served and len(self._children) == self._count and self._all_are("ready"):
            self._served = True
            self._ready(self._address)
            tell_supervisor(READY, os.environ)
        if self._served and self._console_at and not self._announced:
            self._announced = True
            self._console(self._console_at)
        if self._served and self._children and self._all_are("alive"):
            for child in self._children.values():
                child.alive = False
            tell_supervisor(ALIVE, os.environ, wait_seconds=0)

    def _all_are(self, attribute: str) -> bool:
        return all(getattr(child, attribute) for child in self._children.values())

    def _hear_one(self, child: Child) -> None:
        for line in child.lines():
            kind, _, text = line.partition(" ")
            match kind:
                case "ready":
                    child.ready = True
                    if not child.number:
                        self._address = text
                    if self._served:
                        logger.info("worker %d answers again", child.number)
                case "failed":
                    child.failure = text
                case "over":
                    child.is_over = True
                case "console" if not self._announced:
                    self._console_at = text
                case "alive":
                    child.alive = True

    # --- ends ------------------------------------------------------------------------------------------

    def _bury(self) -> None:
        """Act on the ends of workers."""
        for child in list(self._children.values()):
            status = child.ended()
            if status is not None:
                self._hear_one(child)
                child.close()
                del self._children[child.number]
                self._ended(child, status)

    def _ended(self, child: Child, status: int) -> None:
        if child.is_over and not self._stopping:
            # Other processes have its logs, or will: it would end theirs if it were started again.
            logger.critical("worker %d can acknowledge nothing more: the server ends", child.number)
            self._status = 1
            self._stop()
        elif self._stopping:
            if status not in STOPPED and not self._failure:
                logger.error("worker %d ended with %s", child.number, end_in_words(status))
                self._status = 1
            self._stop_controller()
        elif not self._served:
            reason = child.failure or f"it ended with {end_in_words(status)}"
            self._failure = (
                reason if not child.number and child.failure else f"worker {child.number}: {reason}"
            )
            self._stop()
        else:
            self._start_again(child, status)

    def _start_again(self, child: Child, status: int) -> None:
        lived = time.monotonic() - child.began
        self._quick_ends[child.number] = self._quick_ends[child.number] + 1 if lived < QUICK_SECONDS else 0
        pause = pause_seconds(self._quick_ends[child.number])
        self._due[child.number] = time.monotonic() + pause
        logger.error(
            "worker %d (process %d) ended with %s%s; it is started again%s",
            child.number,
            child.pid,
            end_in_words(status),
            f": {child.failure}" if child.failure else "",
            f" in {pause:g} s" if pause else "",
        )
