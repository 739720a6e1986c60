"""The progress of a run: rows, rate, lag and the time left, computed from what is known at a moment."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.ledger import Totals
from pipeline.positions import Positions, count, lags

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOW_SECONDS = 30.0
"""The rate is that of the last half minute: long enough for some batches, short enough to show a change."""

KNOWN_FRACTION = 100
"""The time left is shown once a hundredth of what is left has been read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One progress line."""

    job: str
    batches: int
    rows: int
    """Rows of this run: landed ones, and those of the running batch that have been read."""
    bad: int
    late: int
    rows_per_second: float
    bytes_per_second: float
    """Of keys and values; 0 until the first batch has told how long records are."""
    lag: int
    """Offsets not landed yet."""
    worst: tuple[str, int, int] | None
    """Topic, partition and lag of the partition that is furthest behind."""
    seconds_left: float | None
    """None while the rate is unknown."""
    seconds_behind: float | None
    """The age of the newest landed record while others wait; 0 without lag, None before the first batch."""
    away_since_ms: int | None
    """The time at which the broker answered last, None while it answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The end of a run; `run` counts this run, `total` the table."""

    job: str
    outcome: str
    run: Totals
    total: Totals
    elapsed_seconds: float
    table: str
    quarantine: str
    target: str = ""
    """The topics and the broker that were written to, "" for a table."""
    lag: int = 0
    """Offsets that have not landed, as of the broker's last answer."""


@dataclass(slots=True)
class Meter:
    """A meter that turns counts into progress; `now` is in monotonic seconds."""

    job: str
    started: float
    _window: deque[tuple[float, int]] = field(default_factory=deque)
    _rows_shown: int = 0

    def measure(
        self,
        now: float,
        run: Totals,
        *,
        in_flight: int,
        landed: Positions,
        target: Positions,
        newest_age_seconds: float | None = None,
        away_since_ms: int | None = None,
    ) -> Progress:
        """Return the progress at `now`; rows never decrease, but Spark's count of the running batch may."""
        lag = lags(landed, target)
        rows = max(self._rows_shown, run.rows + in_flight)
        self._rows_shown = rows
        rate = self._rate(now, rows)
        left = max(0, count(lag) - in_flight)
        # Before the first batch has landed, the first rows of a cold JVM would promise days.
        known = rate > 0 and (run.batches > 0 or rows * KNOWN_FRACTION > left)
        worst = max(lag.items(), key=lambda item: item[1], default=None)
        return Progress(
            job=self.job,
            batches=run.batches,
            rows=rows,
            bad=run.bad,
            late=run.late,
            rows_per_second=rate,
            bytes_per_second=rate * run.payload_bytes / run.rows if run.rows else 0.0,
            lag=count(lag),
            worst=(*worst[0], worst[1]) if worst and worst[1] else None,
            seconds_left=None if away_since_ms else left / rate if known else (None if left else 0.0),
            seconds_behind=newest_age_seconds if count(lag) else 0.0,
            away_since_ms=away_since_ms,
        )

    def _rate(self, now: float, rows: int) -> float:
        if not self._window:
            self._window.append((self.started, 0))
        self._window.append((now, rows))
        while len(self._window) > 2 and self._window[1][0] <= now - WINDOW_SECONDS:
            self._window.popleft()
        then, rows_then = self._window[0]
        return (rows - rows_then) / (now - then) if now > then else 0.0


def rows_in_flight(spark: SparkSession) -> int:
    """Return the rows that the running Spark stages have read, as of their last heartbeat.

    Structured Streaming itself reports only when a batch is done.
    """
    stages = spark.sparkContext._jsc.sc().statusStore().activeStages()
    return sum(stages.apply(index).inputRecords() for index in range(stages.size()))
