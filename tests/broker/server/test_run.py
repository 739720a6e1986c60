"""The stop of a server: answers in flight leave within the time limit, and the logs get every result."""

from __future__ import annotations

import errno
import select
from dataclasses import replace
from typing import Any

import pytest
import trio
import trio.testing

from broker.config.config import Config
from broker.server import run
from broker.server.listeners import StartError
from tests.broker.databases import create_database
from tests.broker.gateway import Gateway, request_frame
from tests.broker.kit import batch, create, fetching, producing, read
from tests.broker.server.fakes import FakeSocket
from tests.broker.server.loop import Loop
from wal.memory_faults import failing

IN = select.EPOLLIN


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    loop = Loop(monkeypatch, kawal_shutdown_timeout_ms=4_000)
    client = loop.gateway.client()
    create(client, "t")
    client.close()
    return loop


def stop(loop: Loop, *, works: bool = True) -> float:
    """Run the stop of a server on a clock that jumps; return the seconds it took."""

    async def main() -> float:
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            if works:
                nursery.start_soon(_work, loop)
            await run._stop(loop.gateway.broker, loop.reactor)
            nursery.cancel_scope.cancel()
        return trio.current_time() - began

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def _work(loop: Loop) -> None:
    """Threads and epoll: jobs end after a while, and their results make the epoll ready."""
    while True:
        await trio.sleep(0.02)
        loop.workers.work()
        if loop.workers.results:
            loop.epoll.events.append((loop.workers.event_descriptor, IN))


def sent(loop: Loop, request: Any, version: int) -> FakeSocket:
    sock = loop.connect()
    sock.incoming.append(request_frame(request, version, 1))
    loop.turn((sock, IN))
    return sock


def test_an_idle_server_stops_at_once(loop: Loop) -> None:
    loop.connect()
    assert stop(loop) < 0.5


def test_what_waits_for_the_disk_is_answered_and_who_polls_keeps_nobody(loop: Loop) -> None:
    producer = sent(loop, producing(("t", 0, batch(b"a"))), 9)
    poller = sent(loop, fetching({("t", 0): 0}, max_wait_ms=60_000), 12)
    poller.incoming.append(request_frame(fetching({("t", 0): 0}, max_wait_ms=60_000), 12, 2))
    assert stop(loop) < 1
    assert producer.taken
    assert poller.taken


def test_a_reader_that_takes_nothing_keeps_the_server_no_longer_than_it_may(loop: Loop) -> None:
    sock = loop.connect()
    sock.room = 0
    sock.incoming.append(request_frame(fetching({("none", 0): 0}), 12, 1))
    loop.turn((sock, IN))
    assert 3.9 < stop(loop) < 4.5


def test_disk_work_that_does_not_end_in_time_is_told_to_the_logs_afterwards(loop: Loop) -> None:
    sent(loop, producing(("t", 0, batch(b"slow"))), 9)
    assert 3.9 < stop(loop, works=False) < 4.5
    assert loop.gateway.broker.has_disk_work
    loop.reactor.close()
    loop.workers.work()
    loop.reactor.take_in(loop.workers.results, loop.gateway.now_ms)
    loop.gateway.broker.close(loop.gateway.now_ms)
    loop.gateway.open_again()
    assert read(loop.gateway.client(), "t") == [b"slow"]


def test_a_job_that_fails_during_the_stop_does_not_keep_the_server(loop: Loop) -> None:
    sock = sent(loop, producing(("t", 0, batch(b"a"))), 9)
    loop.gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode", times=1_000))
    assert stop(loop) < 4.5
    assert sock.taken


def test_listeners_are_bound_before_the_data_directory_is_touched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> None:
        raise StartError("the port is in use")

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("the data directory was opened")

    monkeypatch.setattr(run, "open_listeners", refuse)
    monkeypatch.setattr(run, "open_broker", never)
    monkeypatch.setattr("broker.server.run.logs.set_up", lambda **_: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("broker.server.thread_dump.prepare", lambda: None)
    monkeypatch.setattr("sys.setswitchinterval", lambda _: None)
    monkeypatch.setattr("resource.setrlimit", lambda *_: None)
    with pytest.raises(StartError, match="in use"):
        run.main(Config(), ready=lambda _: None)


def test_the_steady_clock_begins_at_the_time_of_day() -> None:
    before = run.wall_ms()
    steady = run.now_ms()
    assert abs(steady - before) < 60_000
    assert run.now_ms() >= steady


def test_a_database_of_durability_remote_does_not_start_without_the_store_that_it_waits_for() -> None:
    gateway = Gateway(kawal_remote_store="s3://bucket")
    create_database(gateway.client(), "events", durability="remote")
    gateway.settle()
    gateway.config = replace(gateway.config, kawal_remote_store=None)
    gateway.open_again()
    sentence = "database 'events' has durability=remote, which needs kawal.remote.store"
    with pytest.raises(StartError, match=sentence):
        run._start_what_is_asked_for(gateway.broker, gateway.config, [], None, took_over=False)  # type: ignore[arg-type]
