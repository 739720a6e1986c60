"""Costs beside many members and committed offsets, for bench_growth."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from time import process_time
from typing import Any

from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import committing
from tests.broker.kit import creation
from tests.broker.wide_requests import Threads
from tests.groups.classic import join_waiting
from tests.groups.driver import Driver

Unit = Callable[[], float]

SESSIONS_END_MS = 1_000_000


def _timed(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began


def _driver() -> Driver:
    """Return a coordinator; the check that ends each step of a test counts the memory of all members."""
    driver = Driver("t")
    driver.checks_memory = False
    return driver


def _gathering(members: int) -> tuple[Driver, list[str]]:
    """Return a classic group whose members wait for the end of the gathering."""
    driver = _driver()
    return driver, [join_waiting(driver)[0] for _ in range(members)]


def _stable(members: int) -> tuple[Driver, list[str], int]:
    """Return a stable classic group, its members and its generation."""
    driver = _driver()
    joins = [join_waiting(driver) for _ in range(members)]
    while joins[0][1].waits:
        driver.advance(driver.config.group_initial_rebalance_delay_ms)
    generation = joins[0][1].value.generation_id
    member_ids = [member_id for member_id, _ in joins]
    for member_id in member_ids[1:]:
        driver.sync_group("g", member_id, generation)
    driver.sync_group("g", member_ids[0], generation, dict.fromkeys(member_ids, b"part"))
    return driver, member_ids, generation


def classic_join(members: int) -> Unit:
    """Let one more member join: both of its requests."""
    driver, _ = _gathering(members)
    return lambda: _timed(lambda: join_waiting(driver))


def classic_heartbeat(members: int) -> Unit:
    """Let each member send a heartbeat; the cost of one."""
    driver, member_ids, generation = _stable(members)

    def beats() -> None:
        for member_id in member_ids:
            driver.heartbeat("g", member_id, generation)

    return lambda: _timed(beats) / members


def consumer_join(members: int) -> Unit:
    """Let one more member join a group of the new protocol."""
    driver = _driver()
    for number in range(members):
        driver.join_consumer("g", f"m{number}", "t")
    numbers = count()
    return lambda: _timed(lambda: driver.join_consumer("g", f"new{next(numbers)}", "t"))


def session_ends(members: int) -> Unit:
    """Let the sessions of all members end in one moment; the longest of the ticks that this takes."""

    def unit() -> float:
        driver = _driver()
        for number in range(members):
            driver.join_consumer("g", f"m{number}", "t")
        driver.now_ms += SESSIONS_END_MS
        driver.threads.hold = True
        coordinator, longest = driver.coordinator, 0.0
        while (due_ms := coordinator.next_deadline()) is not None and due_ms <= driver.now_ms:
            longest = max(longest, _timed(lambda: coordinator.tick(driver.now_ms)))
            driver.threads.do_work()
            driver.flush()
        return longest

    return unit


class _Loop:
    """A broker whose threads do their work apart, so that only the event loop's is measured."""

    def __init__(self) -> None:
        self.gateway = Gateway(kawal_vnodes=1)
        self._threads = Threads()
        self.gateway.broker.scheduler.offload = self._threads.offload

    def client(self) -> Client:
        client = self.gateway.client()
        client.connection.offload = self._threads.offload
        return client

    def call(self, client: Client, request: Any, version: int) -> float:
        """Send a request and do all there is to do for it; return the longest step."""
        frame = client.frame(request, version)  # its encoding is the client's work
        longest = _timed(lambda: client.send_bytes(frame))
        scheduler = self.gateway.broker.scheduler
        while True:
            if scheduler.pending:
                longest = max(longest, _timed(scheduler.run))
            elif done := self._threads.take():
                longest = max(longest, *map(_timed, done))
            elif not self.gateway.run_jobs():
                break
        assert len(client.answers()) == 1
        return longest


def _committed(partitions: int) -> tuple[_Loop, list[tuple[str, int, int]]]:
    """Return a broker, and a commit of so many partitions that was made."""
    loop = _Loop()
    client = loop.client()
    loop.call(client, CreateTopicsRequest(topics=[creation("wide", partitions)], timeout_ms=1_000), 7)
    offsets = [("wide", index, 5) for index in range(partitions)]
    loop.call(client, committing("g", *offsets), 9)
    return loop, offsets


def commit_of_many(partitions: int) -> Unit:
    """Commit the offsets of so many partitions; the longest of its steps."""
    loop, offsets = _committed(partitions)
    return lambda: loop.call(loop.client(), committing("g", *offsets), 9)


def fetch_of_many(partitions: int) -> Unit:
    """Fetch the offsets of so many partitions; the longest of its steps."""
    loop, _ = _committed(partitions)
    group = OffsetFetchRequestGroup(group_id="g", topics=None)
    return lambda: loop.call(loop.client(), OffsetFetchRequest(groups=[group], require_stable=False), 9)
