"""A client that behaves, and records how long each of its round trips takes."""

from __future__ import annotations

import time

from compat_tests.batches import Batch
from compat_tests.broker import Broker
from compat_tests.requests import fetch_request, produce_request
from compat_tests.wire import raw_client

TOPIC = "good"

ROUNDS_PER_SECOND = 50


def round_trips(broker: Broker, seconds: float) -> list[float]:
    """Produce a record and read it back, 50 times a second; return each round's seconds from its due time.

    Counting from when a round was due, not from when it began, lets one stall show in every round it delays.
    Raises: AssertionError if an answer is wrong.
    """
    took: list[float] = []
    with raw_client(broker) as client:
        began = time.monotonic()
        while (due := began + len(took) / ROUNDS_PER_SECOND) < began + seconds:
            time.sleep(max(0.0, due - time.monotonic()))
            produced = client.call(produce_request(TOPIC, Batch(values=[b"x" * 100])), 9)
            part = produced.responses[0].partition_responses[0]
            assert part.error_code == 0, part
            fetched = client.call(fetch_request(TOPIC, part.base_offset, max_wait_ms=1_000), 11)
            data = fetched.responses[0].partitions[0]
            assert data.error_code == 0, data
            assert data.records, "the record that was acknowledged is not there"
            took.append(time.monotonic() - due)
    return took


def percentile(values: list[float], share: float) -> float:
    """Return the value below which this share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
