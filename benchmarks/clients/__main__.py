"""Run one load: `python -m benchmarks.clients KIND JSON`; the last line of standard output is its answer."""

from __future__ import annotations

import importlib
import json
import os
import sys
from dataclasses import fields
from typing import Any

from benchmarks.clients import jobs

KINDS: dict[str, tuple[type[jobs.Job], str]] = {
    "produce": (jobs.ProduceJob, ""),
    "consume": (jobs.ConsumeJob, ""),
    "one_in_flight": (jobs.OneInFlightJob, "raw_loads"),
    "fixed_rate": (jobs.FixedRateJob, "raw_loads"),
    "small_requests": (jobs.SmallRequestsJob, "raw_loads"),
    "small_records": (jobs.SmallRecordsJob, "native"),
    "paced": (jobs.PacedJob, "paced"),
    "filter_topic": (jobs.LateFlightsJob, "late_flights"),
    "read_view": (jobs.LateFlightsJob, "late_flights"),
}
"""Job class and module by kind; an empty module is chosen by the job's client."""

MODULES = {"native": "native", "librdkafka": "rdkafka_loads", "confluent": "confluent", "java": "java"}


def main() -> None:
    """Read the job, run it, print its figures."""
    kind, text = sys.argv[1:]
    job_class, module = KINDS[kind]
    given: dict[str, Any] = json.loads(text)
    job = job_class(**{field.name: given[field.name] for field in fields(job_class) if field.name in given})
    chosen = module or MODULES[given.get("client", jobs.CLIENTS[0])]
    # Imported here: each load brings its own client library, and a raw load none.
    load = getattr(importlib.import_module(f"benchmarks.clients.{chosen}"), kind)
    print(json.dumps(load(job)), flush=True)
    # Not sys.exit: a client library that still tries to deliver what was given up would delay the exit.
    os._exit(0)


if __name__ == "__main__":
    main()
