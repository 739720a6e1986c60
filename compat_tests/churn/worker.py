"""A process with some members of one group: each joins, reads, commits and leaves again and again.

    python -m compat_tests.churn.worker BOOTSTRAP GROUP TOPIC,… NOTES SEED LIBRARY…

SIGTERM lets all leave for good.  In the notes the partitions of the second topic come after 1,000.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

from compat_tests.churn.notes import COMMITTED, GOT, Notebook
from compat_tests.libraries import LIBRARIES, Library, Place, Seen, Settings

LIFE_SECONDS = (3.0, 12.0)
AWAY_SECONDS_MAX = 1.5

SESSION_MS = 6_000
"""Short: others wait for the partitions of a process that was killed until its sessions are over."""

SURE_WITHIN_SECONDS = 1.0
"""A commit that took longer may have been tried again by the library after a rebalance, and so have been
accepted after another member had asked where to begin: it proves nothing."""


SECOND = 1_000
"""The number of the second topic's first partition."""


class Address(NamedTuple):
    """The part of a broker that a consumer needs."""

    bootstrap: str


def main() -> None:
    """Run all members, each in a thread, until SIGTERM."""
    bootstrap, group_id, topics, notes, seed, *libraries = sys.argv[1:]
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    # It tells at this level when a position was out of range, and where it goes on then.
    logging.basicConfig(format="%(relativeCreated)d ms %(name)s %(message)s")
    logging.getLogger("aiokafka.consumer.fetcher").setLevel(logging.INFO)
    notebook = Notebook(Path(notes))
    threads = [
        threading.Thread(
            target=live_again_and_again,
            args=(
                Address(bootstrap),
                group_id,
                topics.split(","),
                library,
                f"{seed}-{library}",
                notebook,
                stopping,
            ),
        )
        for library in libraries
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def live_again_and_again(
    broker: Address,
    group_id: str,
    topics: list[str],
    library: str,
    name: str,
    notebook: Notebook,
    stopping: threading.Event,
) -> None:
    """Live one life after the other.

    A library may raise while the server is away.  Then the member leaves as an application's would: if only
    its thread ended, its heartbeats would keep partitions that no member reads.
    """
    chance = Random(name)
    number = 0
    while not stopping.is_set():
        number += 1
        life = f"{name}-{number}"
        with told(life):
            given = Given(time.monotonic())
            consumer = LIBRARIES[library](broker, group_id, topics, Settings(session_ms=SESSION_MS))
            until = time.monotonic() + chance.uniform(*LIFE_SECONDS)
            try:
                while time.monotonic() < until and not stopping.is_set():
                    step(consumer, life, notebook, topics, given)
            finally:
                consumer.close()
        stopping.wait(chance.uniform(0, AWAY_SECONDS_MAX))


@contextmanager
def told(life: str) -> Iterator[None]:
    """Print an error to the log of the workers, and end it there."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - every library has its own errors
        print(f"{life} ends: {type(error).__name__}: {error}", file=sys.stderr, flush=True)


class Given:
    """For each partition that a member holds, a moment before it was given that.

    Some libraries go on with a rebalance while they commit, so that is the last look without the partition.
    """

    def __init__(self, born: float) -> None:
        self._looked = born
        self._since: dict[Place, float] = {}

    def since(self, place: Place) -> float:
        """Return the moment for a partition that the member has, or has had since the last look."""
        return self._since.get(place, self._looked)

    def look(self, consumer: Library) -> set[Place]:
        """Return what it holds."""
        now = time.monotonic()
        held = set(consumer.held())
        self._since = {place: self.since(place) for place in held}
        self._looked = now
        return held


def step(consumer: Library, life: str, notebook: Notebook, topics: list[str], given: Given) -> None:
    """Poll once, note what came, commit it, note that."""
    following: dict[Place, int] = {}
    for first, last in runs(list(consumer.poll())):
        place = (first.topic, first.partition)
        notebook.write(life, GOT, numbered(topics, place), first.offset, last.offset, given.since(place))
        following[place] = last.offset + 1
    held = given.look(consumer)
    following = {place: offset for place, offset in following.items() if place in held}
    if not following:
        return
    began = time.monotonic()
    try:
        consumer.commit(following)
    except Exception as error:  # noqa: BLE001 - every library has its own error for a lost membership
        print(f"{life}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return
    if time.monotonic() - began > SURE_WITHIN_SECONDS or held != set(consumer.held()):
        return
    for place, offset in following.items():
        notebook.write(life, COMMITTED, numbered(topics, place), offset, offset, began)


def numbered(topics: list[str], place: Place) -> int:
    """Return the number of a partition in the notes."""
    topic, partition = place
    return SECOND * topics.index(topic) + partition


def runs(seen: list[Seen]) -> list[tuple[Seen, Seen]]:
    """Return the first and last record of every unbroken run of offsets of a partition."""
    found: list[tuple[Seen, Seen]] = []
    for message in seen:
        if found and found[-1][1][:2] == message[:2] and found[-1][1].offset + 1 == message.offset:
            found[-1] = (found[-1][0], message)
        else:
            found.append((message, message))
    return found


if __name__ == "__main__":
    main()
