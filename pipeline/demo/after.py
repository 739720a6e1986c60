"""The part of the demo after the crash, in one Spark session: land the rest, compact, derive, audit."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.audit_report import audit_job
from pipeline.compact import compact_job
from pipeline.config import Job
from pipeline.demo.queries import COLUMNS, DERIVED, QUERY
from pipeline.errors import DONE, PipelineError
from pipeline.job_file import load
from pipeline.ledger import Entry
from pipeline.progress import Progress, Summary
from pipeline.report import progress_line
from pipeline.run import run_job

if TYPE_CHECKING:
    from pipeline.demo.plot import Curve
    from pipeline.demo.stage import Stage

COMPACT_BYTES = 128_000_000

DERIVE = """\
# The flights that came more than three hours late, as a topic: the result of a query, evaluated by Spark.

[job]
name = "late-flights"
kind = "derive"

[source]
bootstrap = "{bootstrap}"
topics = ["flights"]
view = "{query}"
view_columns = "{columns}"

[target]
topic = "{derived}"

[sink]
path = "state/late-flights"
"""


@dataclass(slots=True)
class StageReport:
    """The report of a run inside the demo."""

    stage: Stage
    what: str
    curve: Curve | None = None
    """The picture's, to which batches are added."""

    def note(self, sentence: str) -> None:
        """Say something that happens once."""
        self.stage.say(self.what, sentence)

    def batch(self, entry: Entry) -> None:
        """Say that a batch is done."""
        if self.curve is not None:
            self.curve.add(time.monotonic() - self.stage.started, entry.landed.rows)
        self.stage.say(self.what, f"batch {entry.batch}: {entry.landed.rows:,} records")

    def progress(self, progress: Progress) -> None:
        """Say how far it is."""
        self.stage.say(self.what, progress_line(progress))

    def summary(self, summary: Summary) -> None:
        """Say how it ended."""
        offsets, rows = summary.run.offsets, summary.run.rows
        self.stage.say(self.what, f"{summary.job} {summary.outcome}: {rows:,} of {offsets:,} records")


def land(stage: Stage, job: Job, curve: Curve | None) -> None:
    """Run a job that lands what is there.  Raises: PipelineError."""
    with stage.doing(f"running {job.name}"):
        code = run_job(job, StageReport(stage, "land", curve))
    if code != DONE:
        raise PipelineError(f"{job.name} ended with exit code {code}")


def compact(stage: Stage, job: Job) -> None:
    """Compact the table of `job`."""
    out = io.StringIO()
    with stage.doing("compacting the table"):
        compact_job(job, COMPACT_BYTES, out)
    stage.say("compact", out.getvalue().strip().splitlines()[-1])


def derive(stage: Stage, folder: Path, bootstrap: str) -> Job:
    """Write the result of QUERY to a topic, and return the job."""
    path = folder / "late-flights.toml"
    path.write_text(DERIVE.format(bootstrap=bootstrap, query=QUERY, columns=COLUMNS, derived=DERIVED))
    job = load(path)
    stage.say("derive", QUERY)
    with stage.doing("deriving a topic"):
        run_job(job, StageReport(stage, "derive"))
    return job


def audit(stage: Stage, job: Job) -> list[str]:
    """Compare what `job` has written with its source; return the lines of an audit that found any."""
    out = io.StringIO()
    with stage.doing(f"auditing {job.name}"):
        code = audit_job(job, out, as_json=False)
    lines = out.getvalue().strip().splitlines()
    stage.say("audit", f"{lines[0]}: {lines[-1]}")
    return [] if code == DONE else lines


def same_as_view(stage: Stage, bootstrap: str, view: str, topic: str) -> list[str]:
    """Compare the gateway's view with the derived topic, record by record; return the differences."""
    with stage.doing("reading the view and the derived topic"):
        shown, derived = (_records(bootstrap, name) for name in (view, topic))
    if shown != derived:
        return [
            f"the view {view!r} shows {len(shown):,} records, the topic {topic!r} has {len(derived):,} others"
        ]
    stage.say("derive", f"the gateway's view shows the same {len(shown):,} records, byte for byte")
    return []


def _records(bootstrap: str, topic: str) -> list[tuple[int, bytes | None, bytes | None]]:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "kawal-demo",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    left, found = set(partitions), []
    while left:
        message = consumer.poll(10)
        if message is None:
            raise PipelineError(f"{bootstrap} did not answer for 10 s while {topic!r} was read")
        if message.error():
            left.discard(message.partition())
        else:
            found.append((message.partition(), message.offset(), message.key(), message.value()))
    consumer.close()
    found.sort(key=lambda record: record[:2])
    return [(partition, key, value) for partition, _, key, value in found]
