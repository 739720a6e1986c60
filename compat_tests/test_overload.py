"""Hostile load beside good clients, for seconds; `python -m compat_tests.overload` does it at full size."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from compat_tests.broker import Broker, wait_until_it_answers
from compat_tests.overload.crowds import IDLE_COUNT
from compat_tests.overload.figures import internal_errors, memory_of, metrics_of, peak_memory_of
from compat_tests.overload.good_client import TOPIC, GoodClients, percentile
from compat_tests.overload.load import Load
from compat_tests.overload.loads import LOADS
from compat_tests.overload.measure import gateway_for, http_port_of, loaded, measure
from compat_tests.overload.memory import LIMIT_MIB, peak_under
from compat_tests.overload.memory_group import MemoryGroup
from compat_tests.overload.partitions import measure_partitions
from compat_tests.overload.processors import Others, process_seconds
from compat_tests.times import quickest, yardstick_seconds
from compat_tests.topics import create_topic, delete_topic

pytestmark = pytest.mark.only_kawal(
    reason="the limits are the gateway's; Kafka's memory is a heap of fixed size"
)

STALL_MS = 500
"""A round trip of the good client takes 2 ms; on a busy machine it should not take this long by itself.

Single ones may: such a machine stops processes for longer.  What the server computes is judged without them.
"""

PLAIN = Load("plain", lambda _: "", "nothing but a gateway")

QUICK_SECONDS = 0.3
QUICK_FACTOR = 0.01

QUICK = (
    "http-wrong",
    "short-records",
    "wrong-regex",
    "long-client-id",
    "lying-counts",
    "client-ids",
    "unopenable",
    "fetch-sessions",
    "join-metadata",
    "pinned-requests",
    "describe-configs",
    "offset-commit",
    "offsets-wide",
    "producers-wide",
    "wake-ups",
)
"""Loads that once ended or stopped the server, each in another place."""


def test_what_processes_without_a_part_in_a_measurement_take_is_told() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            with_it, without_it = Others([]), Others([busy.pid])
            time.sleep(2)
            taken = process_seconds(busy.pid)
            assert with_it.cores() - without_it.cores() > taken / 2 / 3
            assert taken > 0
        finally:
            busy.kill()
    assert process_seconds(busy.pid) == 0


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Broker]:
    """Start a gateway whose memory only this test uses."""
    broker = gateway_for(PLAIN, tmp_path)
    broker.start()
    yield broker
    broker.kill()


@pytest.mark.timeout(300, method="signal")
def test_small_doses_of_many_loads_end_nothing_and_meet_no_fault_of_ours(tmp_path: Path) -> None:
    # One after the other, at one gateway; bars of time are for a machine that does nothing else.
    broker = gateway_for(every(LOADS[name] for name in QUICK), tmp_path)
    broker.start()
    create_topic(broker, TOPIC)
    with GoodClients(broker) as good:
        for name in QUICK:
            with loaded(broker, LOADS[name], seconds=QUICK_SECONDS, seed=1, factor=QUICK_FACTOR) as load:
                output, _ = load.communicate(timeout=120)
                assert load.returncode == 0, (name, output, broker.process.tail())
    assert good.failures == []
    assert internal_errors(metrics_of(http_port_of(broker))) == {}, broker.process.tail()
    assert peak_memory_of(broker) < 512
    broker.kill()
    broker.restart()
    wait_until_it_answers(broker, within_seconds=60)
    broker.kill()


@pytest.mark.parametrize("name", ["wrong-logins", "half-handshakes", "first-bytes"])
def test_clients_that_are_not_let_in_keep_no_other_waiting(tmp_path: Path, name: str) -> None:
    broker = gateway_for(LOADS[name], tmp_path)
    broker.start()

    def later() -> float:
        """Return by how much a round took longer than two of before."""
        figures = measure(broker, LOADS[name], seconds=2, seed=1, factor=0.1, seconds_before=1, settle=False)
        assert figures.faults == [], figures.line
        assert figures.loop_ms < STALL_MS, figures.line
        delete_topic(broker, TOPIC)
        return (figures.during["records"].p99 - 2 * figures.before["records"].p99) / 1000

    try:
        quickest(later, below_seconds=STALL_MS / 1000, attempts=4)
        assert " ERROR " not in broker.process.output()
    finally:
        broker.kill()


def every(loads: Iterable[Load]) -> Load:
    """Return the settings of some loads as those of one."""
    settings = {key: value for load in loads for key, value in load.settings.items()}
    return Load("all", lambda _: "", "one after the other", settings=settings)


def test_a_fuzzer_changes_nothing_for_a_good_client(own: Broker) -> None:
    # The good clients check each of their answers.
    figures = measure(own, LOADS["fuzz"], seconds=10, seed=1, seconds_before=3)
    assert figures.faults == [], figures.line
    # Not from when a round was due: a machine that is too slow for 50 of them in a second falls behind.
    assert figures.own_p98_ms < STALL_MS, figures.line
    assert figures.loop_ms < STALL_MS, figures.line
    assert figures.memory_after < figures.memory_before + 32, figures.line
    assert " ERROR " not in own.process.output()


def test_ten_thousand_idle_connections_cost_little_memory(own: Broker) -> None:
    with loaded(own, LOADS["idle"], seconds=0, seed=1) as load:
        assert memory_of(own) < 250
        output, _ = load.communicate(timeout=120)
    assert output.startswith(f"{IDLE_COUNT} connections answered")


def test_requests_left_half_sent_stop_nobody_and_take_the_memory_that_they_may(own: Broker) -> None:
    create_topic(own, TOPIC)
    with loaded(own, LOADS["large-requests"], seconds=10, seed=1), GoodClients(own) as good:
        time.sleep(4)
    took = [found.took for found in good.rounds("records", 0, float("inf"))]
    assert took
    assert good.failures == []
    # The 400 MiB have to be read once, in turn with the good client; stopped connections stay so for 10 s.
    assert percentile(took, 0.99) < 8
    # Half of 128 MiB for requests from one address, a quarter in reserve, and the gateway itself.
    assert peak_memory_of(own) < 250


@pytest.mark.parametrize(
    "files",
    [
        {"memory.limit_in_bytes": "536870912\n", "memory.oom_control": "under_oom 0\noom_kill 3\n"},
        {"memory.max": "536870912\n", "memory.events": "oom 9\noom_kill 3\noom_group_kill 1\n"},
    ],
    ids=["version 1", "version 2"],
)
def test_a_gateway_runs_in_a_control_group_of_either_version(tmp_path: Path, files: dict[str, str]) -> None:
    group = MemoryGroup(tmp_path)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert (group.limit_mib, group.ended()) == (512, 3)
    broker = gateway_for(PLAIN, tmp_path / "gateway", group=group)
    broker.start()
    try:
        assert int((tmp_path / "cgroup.procs").read_text()) == broker.process.pid
    finally:
        broker.kill()


def test_fifty_thousand_partitions_are_there_again_after_a_kill(own: Broker) -> None:
    figures = measure_partitions(own, partitions=50_000, topics=1, records=5_000, seed=1)
    # Five seconds where the yardstick takes 0.13 s.
    allowed_seconds = max(5.0, 38 * yardstick_seconds())
    assert figures.ready_again - own.process.queued_seconds() < allowed_seconds, figures.line
    assert figures.memory_peak < 400, figures.line
    assert figures.memory_again < 400, figures.line


def test_memory_stays_bounded_whatever_clients_name_join_and_leave_unread(
    own: Broker,
) -> None:
    # Each leaves behind what it may: sessions, members of groups, recent records.
    for load in ("sessions", "parked", "large-joins", "tails", "many-names", "sentences"):
        peak, _ = peak_under(own, load, seconds=2)
        assert peak < LIMIT_MIB, f"{peak:.0f} MiB after {load}"
    assert " ERROR " not in own.process.output()
