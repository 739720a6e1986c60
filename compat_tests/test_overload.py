"""Hostile load beside a good client, for seconds; `python -m compat_tests.overload` does it at full size."""

from __future__ import annotations

import pytest

from compat_tests.broker import Broker
from compat_tests.conftest import StartBroker
from compat_tests.overload.good_client import percentile, round_trips
from compat_tests.overload.loads import IDLE_COUNT
from compat_tests.overload.measure import loaded, measure, memory_of, peak_memory_of, prepare
from compat_tests.overload.partitions import measure_partitions

pytestmark = pytest.mark.only_kawal(
    reason="the limits are the gateway's; Kafka's memory is a heap of fixed size"
)

STALL_MS = 500
"""A round trip of the good client takes 2 ms; on a busy machine one in a hundred may take this long."""


@pytest.fixture
def own(start_broker: StartBroker) -> Broker:
    """Start a gateway whose memory only this test uses."""
    return start_broker(kawal_http_listen="none", kawal_max_partitions_per_request="100000")


def test_a_fuzzer_changes_nothing_for_a_good_client(own: Broker) -> None:
    # The good client checks each of its answers.
    figures = measure(own, "fuzz", seconds=10, seed=1, seconds_before=3)
    assert figures.p99_during < max(2 * figures.p99_before, STALL_MS), figures.line
    assert figures.memory_after < figures.memory_before + 32, figures.line
    assert " ERROR " not in own.process.output()


def test_ten_thousand_idle_connections_cost_little_memory(own: Broker) -> None:
    with loaded(own, "idle", seconds=0, seed=1) as load:
        assert memory_of(own) < 250
        output, _ = load.communicate(timeout=30)
    assert output.startswith(f"{IDLE_COUNT} connections answered")


def test_requests_left_half_sent_stop_nobody_and_take_the_memory_that_they_may(own: Broker) -> None:
    prepare(own, "large-requests")
    with loaded(own, "large-requests", seconds=10, seed=1):
        took = round_trips(own, 4)
    # The 400 MiB have to be read once, in turn with the good client; stopped connections stay so for 10 s.
    assert percentile(took, 0.99) < 4
    # 256 MiB for requests (queued.max.request.bytes), an eighth in reserve, and the gateway itself.
    assert peak_memory_of(own) < 400


def test_fifty_thousand_partitions_are_there_again_after_a_kill(own: Broker) -> None:
    figures = measure_partitions(own, partitions=50_000, topics=1, records=5_000, seed=1)
    assert figures.ready_again - own.process.queued_seconds() < 5, figures.line
    assert figures.memory_peak < 400, figures.line
    assert figures.memory_again < 400, figures.line
