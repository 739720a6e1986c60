"""Starting the server, serving until a signal, and a clean stop."""

from __future__ import annotations

import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from random import SystemRandom
from typing import TYPE_CHECKING, Any, Final

import trio

from broker.config.config import Config
from broker.connections.admission import connection_room
from broker.core import Broker
from broker.loop.stats import Stats
from broker.server import logs, thread_dump
from broker.server.allocator import map_large_blocks
from broker.server.among import Among, Seat
from broker.server.collector import calm_collector
from broker.server.listeners import Listener, StartError, open_listeners
from broker.server.notify import READY, STOPPING, show_life, tell_supervisor
from broker.server.operations import Pages, standard_pages
from broker.server.reactor import Reactor
from broker.server.reload import Load, Reloader
from broker.server.watchdog import Watchdog
from broker.server.web import Web, open_web
from broker.server.workers import DiskWorkers
from broker.start import open_broker
from broker.storage.schemas import Lookups
from wal.disk import OsDisk

if TYPE_CHECKING:
    from broker.server.audit_file import AuditFile
    from broker.server.console_host import ConsoleProgram
    from broker.server.tls_listeners import TlsListeners

logger = logging.getLogger("kawal.server")

THREAD_SWITCH_SECONDS: Final = 0.0001
"""A thread with a commit should not wait the usual 5 ms for the interpreter: it needs it some five times.

Beside a client that creates 20,000 topics commits took 14 to 26 ms in the 99th percentile of two seconds at
0.5 ms, and 5 to 10 ms at 0.1 ms; the loop did no less.
"""


PRIVATE: Final = 0o077
"""The permissions that new files and folders do not have: records are for the server's own user."""

_STARTED_NS: Final = time.time_ns() - time.monotonic_ns()


def now_ms() -> int:
    """Return the broker's clock, for all but timestamps: milliseconds since 1970 at the start, then steady.

    It never jumps with the wall clock, yet continues after a restart, as stored idle times of producers need.
    """
    return (_STARTED_NS + time.monotonic_ns()) // 1_000_000


def wall_ms() -> int:
    """Return the milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def main(
    config: Config,
    *,
    ready: Callable[[str], None],
    pages: Pages = standard_pages,
    load: Load | None = None,
    users: Mapping[str, dict[str, str]] | None = None,
    console: ConsoleProgram | None = None,
    place: Seat | None = None,
    took_over: bool = False,
) -> int:
    """Serve until SIGTERM or SIGINT, and return the exit status, 1 after a failure.

    `ready` is called once, when clients are answered, with HOST:PORT of the first listener; `pages` makes the
    pages of the HTTP server; `load` reads the configuration again on SIGHUP, None: there is no file. `users`
    get these SCRAM credentials unless they exist; `console` is started when its address is first used.
    `place` is that of one of several nodes; None: this process is alone.  `took_over`: the server that kept
    the copy of this directory has just been ended.

    Raises:
        StartError, wal.store.StoreError: the server cannot start; the text says why and what to do.
    """
    logs.set_up(json_lines=config.kawal_log_format == "json", level=config.kawal_log_level)
    thread_dump.prepare()
    _prepare_process()
    sockets = ExitStack()
    added: list[str] = []
    with sockets:
        tls, tls_problem = _open_tls(config)
        listeners = open_listeners(config, tls, place.sockets if place else ())
        for listener in listeners:
            sockets.callback(listener.socket.close)
        web = open_web(config, pages, console, sockets, place)
        # Before anything is changed: what could not be told is not done.
        audit_file = _open_audit_file(config, place)
        workers = DiskWorkers(0)
        sockets.callback(workers.stop)
        among = None if place is None else Among(place, *place.join(config, workers, listeners))
        broker = _open(config, workers, among, users=users, user_added=added.append)
        # A start that ends here must not look like a crash to the next one.
        sockets.callback(lambda: broker.close(now_ms()))
        _adopt_tls(broker, tls, tls_problem)
        finish = _start_audit(broker, config, listeners, workers, audit_file, added)
        sockets.callback(finish)
        waiting = place.alive if place is not None and place.life_ms is not None else _nothing
        _start_what_is_asked_for(broker, config, listeners, workers, took_over=took_over, waiting=waiting)
        if took_over:
            broker.nodes.moves.note(broker.nodes.own_id, now_ms())
        sockets.pop_all()
    status: int = trio.run(_serve, broker, workers, listeners, web, ready, load, tls, among)
    finish()
    return status


def _open(config: Config, workers: DiskWorkers, among: Among | None, **users: Any) -> Broker:
    """Open the data directory.  Raises: as `main`."""
    catalogue = None if among is None else among.catalogue
    broker = open_broker(
        OsDisk(),
        config,
        random=SystemRandom(),
        now_ms=now_ms(),
        wall_ms=wall_ms(),
        stats=Stats(time.monotonic_ns, time.thread_time_ns),
        offload=workers.submit_task,
        lookups=Lookups(registry_of, workers.submit_outside),
        nodes=None if among is None else among.nodes,
        records=None if catalogue is None else catalogue.records,
        **users,
    )
    if among is not None:
        among.place.warn(broker)
    return broker


def _nothing() -> None:
    """Tell nothing while the start waits: there is no supervisor that expects it."""


def _start_what_is_asked_for(
    broker: Broker,
    config: Config,
    listeners: list[Listener],
    workers: DiskWorkers,
    *,
    took_over: bool,
    waiting: Callable[[], None] = _nothing,
) -> None:
    """Start what most servers do not have, and do not import; `waiting` is called while that waits.

    Raises: StartError.
    """
    needing = [vnode.database for vnode in broker.vnodes.every if vnode.log.options.durability == "remote"]
    if needing and config.kawal_remote_store is None:
        text = f"database {needing[-1]!r} has durability=remote, which needs kawal.remote.store"
        raise StartError(text)
    if config.kawal_remote_store is not None:
        from broker.server.remote_setup import start_copy

        start_copy(broker, config, workers, listeners, now_ms, took_over=took_over, waiting=waiting)
    if config.kawal_storage_state_topic:
        from broker.upkeep.storage_topic import StorageTopic

        StorageTopic(broker, broker, broker.vnodes)
    if config.kawal_ledgers_topic:
        from broker.upkeep.ledgers_topic import LedgersTopic

        LedgersTopic(broker, broker, broker.vnodes)
    if any(spec.protocol.sasl for spec in config.specs):
        from broker.server.login_setup import open_logins

        open_logins(broker, config, listeners, workers.submit_outside)


def _prepare_process() -> None:
    """Set what holds for the whole process."""
    os.umask(PRIVATE)
    _raise_open_files_limit()
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    map_large_blocks()
    # A record batch over the process's file size limit must fail one write, not end the process.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    # The file was read a moment ago; until the server runs there is nothing to change.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _open_audit_file(config: Config, place: Seat | None) -> AuditFile | None:
    """Open the file of the audit log, if there is one.  Raises: StartError."""
    if config.kawal_audit_file is None:
        return None
    from broker.server.audit_setup import open_audit_file  # most servers have no audit log

    return open_audit_file(config, place)


def _start_audit(
    broker: Broker,
    config: Config,
    listeners: list[Listener],
    workers: DiskWorkers,
    file: AuditFile | None,
    added: list[str],
) -> Callable[[], None]:
    """Record what happens if that is asked for; return what writes the rest at the end."""
    if not config.audited:
        return lambda: None
    from broker.server.audit_setup import start_audit  # most servers have no audit log

    return start_audit(broker, config, listeners, workers, file=file, added=added)


def _open_tls(config: Config) -> tuple[TlsListeners | None, StartError | None]:
    """Return what the encrypted listeners need, None when there are none, and what is wrong with it.

    Raises: StartError.
    """
    if not any(spec.protocol.encrypted for spec in config.specs):
        return None, None
    from broker.server.tls_setup import open_tls  # OpenSSL takes 10 ms to import

    return open_tls(config)


def _adopt_tls(broker: Broker, tls: TlsListeners | None, problem: StartError | None) -> None:
    """Let clients decide the TLS of encrypted listeners, if there are any.  Raises: StartError."""
    if tls is not None:
        from broker.server.tls_setup import adopt_tls

        adopt_tls(tls, broker.live_config, problem)


def registry_of(config: Config) -> Callable[[str], Any]:
    """Return what asks the configured schema registry for the JSON at a path."""
    from registry.client import Client

    return Client(
        config.kawal_schema_registry_url or "",
        user_info=config.kawal_schema_registry_user_info,
        timeout_seconds=config.kawal_schema_registry_timeout_ms / 1000,
    ).ask


def _raise_open_files_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def _serve(
    broker: Broker,
    workers: DiskWorkers,
    listeners: list[Listener],
    web: Web,
    ready: Callable[[str], None],
    load: Load | None,
    tls: TlsListeners | None,
    among: Among | None = None,
) -> int:
    workers.grow(broker.disk_threads)
    reactor = Reactor(
        broker,
        listeners=listeners,
        workers=workers,
        now_ms=now_ms,
        wall_ms=wall_ms,
        connection_room=connection_room(resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
        door=None if among is None else among.place.door(listeners),
    )
    watchdog = Watchdog(
        broker.stats.turns, lambda: broker.config.kawal_loop_turn_log_ms, threading.get_ident()
    )
    watchdog.start()
    signals = thread_dump.DumpOnSignal(broker)
    signals.start()
    reloader = Reloader(broker, load, tls)
    stopping = (signal.SIGTERM, signal.SIGINT) if among is None else among.place.stops_at
    with trio.open_signal_receiver(*stopping, signal.SIGHUP) as orders:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reactor.run)
            calm_collector()
            if among is not None:
                among.begin(broker, nursery, reloader, now_ms)
            ready(listeners[0].bound.text)
            tell_supervisor(READY, os.environ)
            show_life(broker.timers, now_ms(), os.environ)
            web.start(nursery, broker, listeners, now_ms)
            if web.http is not None:
                reactor.expect_pages(web.http.fileno())
            if tls is not None:
                nursery.start_soon(reloader.watch_certificates)
            _tell_of_passwords(broker, nursery)
            async for number in orders:
                if number == signal.SIGHUP:
                    nursery.start_soon(reloader.reload)
                    continue
                logger.info("%s: stopping", signal.Signals(number).name)
                tell_supervisor(STOPPING, os.environ)
                break
            await _stop(broker, reactor)
            nursery.cancel_scope.cancel()
    watchdog.stop()
    _close(broker, reactor, workers)
    signals.stop()
    return 1 if broker.failure else 0


def _close(broker: Broker, reactor: Reactor, workers: DiskWorkers) -> None:
    """End what is left: from here on nothing is acknowledged."""
    reactor.close()
    # If the disk was too slow, its work is done only now, and the logs must learn the results.
    reactor.take_in(workers.stop(), now_ms())
    if broker.remote is not None and not broker.failure:
        broker.remote.farewell()
    broker.close(now_ms())


def _tell_of_passwords(broker: Broker, nursery: trio.Nursery) -> None:
    """Have the audit log, if there is one, tell of changed files of passwords."""
    audit = broker.stats.audit
    if audit is None:
        return
    from broker.server.password_watch import password_files, watch_passwords

    for path in password_files(broker.config):
        nursery.start_soon(watch_passwords, audit, path)


async def _stop(broker: Broker, reactor: Reactor) -> None:
    """Stop reading, answer parked calls, and let all answers in flight leave, within the time limit."""
    reactor.begin_stop()
    broker.begin_stop(now_ms())
    with trio.move_on_after(broker.config.kawal_shutdown_timeout_ms / 1000):
        while reactor.busy or broker.has_disk_work:
            reactor.turn()
            await trio.sleep(0.005)


__all__ = ["StartError", "main", "now_ms", "wall_ms"]
