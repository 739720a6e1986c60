"""A worker: a member of a share group that takes jobs and says of each what became of it, until SIGTERM.

python -m compat_tests.worker_pool.worker BOOTSTRAP GROUP TOPIC NOTES NAME LOCK_SECONDS
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from confluent_kafka import AcknowledgeType, KafkaException, ShareConsumer

from compat_tests.worker_pool.jobs import RETRIES, Kind, kind_of
from compat_tests.worker_pool.notes import DIED, DONE, GOT, SAID, Notebook

ACCEPT, RELEASE, REJECT = SAID
TYPES: Final = {
    ACCEPT: AcknowledgeType.ACCEPT,
    RELEASE: AcknowledgeType.RELEASE,
    REJECT: AcknowledgeType.REJECT,
}
SLOWER_THAN_LOCK: Final = 1.3
CONFIRMED_WITHIN_SECONDS: Final = 20.0


def main() -> None:
    """Work until SIGTERM."""
    bootstrap, group, topic, notes, name, lock_seconds = sys.argv[1:]
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    consumer = ShareConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": name,
            "share.acknowledgement.mode": "explicit",
            "reconnect.backoff.max.ms": 500,
            "log_level": 2,
        }
    )
    consumer.subscribe([topic])
    notebook = Notebook(Path(notes), name)
    work(consumer, notebook, stopping, float(lock_seconds))
    consumer.close()
    notebook.close()


def work(consumer: Any, notebook: Notebook, stopping: threading.Event, lock_seconds: float) -> None:
    """Take batches of jobs.

    The fetch that brings jobs is sent after the poll that brought the ones before. A poll without jobs is no
    such moment: it may end when the server has given them, and they are still on their way.
    """
    since = time.monotonic()
    while not stopping.is_set():
        try:
            found = [message for message in consumer.poll(0.5) if message.error() is None]
        except KafkaException as error:
            print(f"poll: {error}", flush=True)
            continue
        if found:
            came = time.monotonic()
            notebook.write(GOT, [int(message.value()) for message in found], since)
            process(consumer, notebook, found, lock_seconds)
            since = came


def process(consumer: Any, notebook: Notebook, found: list[Any], lock_seconds: float) -> None:
    """Process a batch, and say what became of each job."""
    said: dict[str, list[int]] = {what: [] for what in SAID}
    places: dict[int, list[int]] = {}
    for message in found:
        job = int(message.value())
        if kind_of(job) is Kind.KILLER:
            notebook.write(DIED, [job])
            os.kill(os.getpid(), signal.SIGKILL)
        what = outcome_of(job, message.delivery_count() or 1, lock_seconds)
        said[what].append(job)
        places.setdefault(message.partition(), []).append(job)
        consumer.acknowledge(message, TYPES[what])
    for what, jobs in said.items():
        notebook.write(what, jobs)
    try:
        outcomes = consumer.commit_sync(CONFIRMED_WITHIN_SECONDS)
    except KafkaException as error:
        print(f"commit: {error}", flush=True)
        return
    for place, refusal in outcomes.items():
        if refusal is None:
            notebook.write(DONE, places[place.partition])
        else:
            print(f"commit: {place}: {refusal}", flush=True)


def outcome_of(job: int, deliveries: int, lock_seconds: float) -> str:
    """Do a job; return what is to be said of it."""
    match kind_of(job):
        case Kind.POISON:
            return RELEASE
        case Kind.RETRIED if deliveries <= RETRIES:
            return RELEASE
        case Kind.REJECTED:
            return REJECT
        case Kind.SLOW if deliveries == 1:
            time.sleep(lock_seconds * SLOWER_THAN_LOCK)
    return ACCEPT


if __name__ == "__main__":
    main()
