"""Sample data for a broker that has nothing: flights with delays, the same ones each time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from console.record_formats import OutgoingRecord
from console.web.topic_requests import create

TOPIC: Final = "flights"
PARTITIONS: Final = 2
RECORDS: Final = 2_000
SPAN_MS: Final = 6 * 3_600_000
"""The flights of so long: enough for a histogram of times."""
COLUMNS: Final = "id bigint, carrier string, origin string, dest string, delay int"
CONFIGS: Final = {"kawal.columns": COLUMNS}

CARRIERS: Final = ("TP", "LH", "AF", "KL", "IB", "BA")
AIRPORTS: Final = ("LIS", "OPO", "FRA", "CDG", "AMS", "MAD", "LHR")
STEP: Final = 2_654_435_761
"""Knuth's multiplier: consecutive numbers are far apart modulo 2**32."""


def flights(now_ms: int) -> Iterator[OutgoingRecord]:
    """Yield the flights of the hours before a time, the oldest first."""
    for number in range(RECORDS):
        mixed = number * STEP % (1 << 32) >> 8
        carrier, origin = CARRIERS[mixed % len(CARRIERS)], mixed // 7 % len(AIRPORTS)
        dest = (origin + 1 + mixed // 61 % (len(AIRPORTS) - 1)) % len(AIRPORTS)
        # Most are on time, some late, one in 20 very late.
        delay = mixed % 21 - 8 + (mixed % 173 if number % 20 == 0 else 0)
        value = {
            "id": number + 1,
            "carrier": carrier,
            "origin": AIRPORTS[origin],
            "dest": AIRPORTS[dest],
            "delay": delay,
        }
        yield OutgoingRecord(
            json.dumps(value, separators=(",", ":")).encode(),
            carrier.encode(),
            timestamp_ms=now_ms - SPAN_MS + number * SPAN_MS // RECORDS,
        )


def create_flights(bootstrap: str, *, dry_run: bool) -> None:
    """Create the topic, or only check whether that would work.  Raises: CommandError."""
    create(bootstrap, TOPIC, PARTITIONS, CONFIGS, dry_run=dry_run)
