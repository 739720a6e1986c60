"""A watch on the broker while Spark works: a thread with a client of its own asks for topics and offsets.

Spark says nothing for minutes while a broker is away, and names no address in the end. The watch knows within
seconds, and the time of the last answer tells since when.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pipeline.config import SourceSection
from pipeline.errors import SourceError
from pipeline.positions import Positions
from pipeline.sources.topics import Topics

POLL_SECONDS = 2.0
AWAY_SECONDS = 5.0
"""A broker that has not answered for this long, two polls and a slow answer, counts as away."""

FRESH_SECONDS = 180.0
"""The time that a batch waits for an answer before it lands: as long as Spark's own attempts to read take."""


@dataclass(slots=True)
class BrokerWatch:
    """The last answers of the broker; every method may be called from any thread."""

    source: SourceSection
    topics: Topics
    latest: Positions
    ids: dict[str, str]
    commit: Callable[[], None]
    """Called in the watch's thread after each answer: commits what has landed since."""
    answered_at: float = field(default_factory=time.monotonic)
    answers: int = 0
    problem: str = ""
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _wake: threading.Event = field(default_factory=threading.Event)
    _ended: bool = False

    def away_since(self) -> float | None:
        """Return when the broker answered last (of `time.monotonic`), None while it answers."""
        return self.answered_at if time.monotonic() - self.answered_at > AWAY_SECONDS else None

    def fresh_ids(self) -> dict[str, str]:
        """Ask for the ids of the topics and return them.  Raises: SourceError when no broker answers for
        minutes."""
        deadline = time.monotonic() + FRESH_SECONDS
        with self._changed:
            wanted = self.answers + 2  # an answer on its way may be older than the question
            while self.answers < wanted:
                self._wake.set()
                if not self._changed.wait(0.5) and time.monotonic() > deadline:
                    raise SourceError(away_sentence(self.source.bootstrap, FRESH_SECONDS))
            return dict(self.ids)

    def run(self) -> None:
        """Poll until `stop`, and commit once more then; the thread's function."""
        while not self._ended:
            self._poll()
            self._wake.wait(POLL_SECONDS)
            self._wake.clear()
        if self.away_since() is None:
            self._poll()

    def _poll(self) -> None:
        try:
            ids, latest = self.topics.ids(), self.topics.latest()
            self.commit()
        except SourceError as error:
            self.problem = str(error)
            return
        with self._changed:
            self.ids, self.latest = ids, latest
            self.answered_at = time.monotonic()
            self.answers += 1
            self.problem = ""
            self._changed.notify_all()

    def stop(self) -> None:
        """Let `run` return after its next poll."""
        self._ended = True
        self._wake.set()


@contextmanager
def watching(source: SourceSection, topics: Topics, commit: Callable[[], None]) -> Iterator[BrokerWatch]:
    """Watch the broker for the block; `topics` belongs to the watch while it lasts."""
    watch = BrokerWatch(source, topics, topics.latest(), topics.ids(), commit)
    thread = threading.Thread(target=watch.run, name="broker-watch", daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.stop()
        thread.join(AWAY_SECONDS)


def away_sentence(bootstrap: str, seconds: float) -> str:
    """Return the sentence for a broker that has not answered for so long."""
    return (
        f"{bootstrap} has not answered for {seconds:.0f} s; what has landed stays. Start the broker, or "
        "give its new "
        "address with --bootstrap, and run the job again: it continues where the table ends"
    )
