"""The pipeline beside plain Spark, Apache Kafka and MirrorMaker 2: `python -m benchmarks.bench_pipeline`.

    land       the job `land` from both brokers, with the consumer's default options and with ours, and what
               plain Spark does with both kinds of options: from_json and a Parquet sink
    derive     a view's query by the gateway's own plan in Python workers, and by from_json and to_json, each
               with the consumer's default options and with ours; the plan without Spark's look at the size of
               a batch after each row; reading alone, which none can be faster than; and the way to Python and
               back alone, which is what a plan that takes no time would need
    files      reading alone, from the gateway with both kinds of options, and its files without it
    replicate  the job between two gateways and between two Kafkas, and MirrorMaker 2 between the same

The rounds of all cases alternate, so that other load on the machine meets them alike; a figure is the median
of its rounds in records a second. A job is timed from its start to its end, in a Spark session that runs
already, made as `kawal pipe run` makes it, so that both of Java's compilers are at work; MirrorMaker, which
ends never, from the first record it has copied to the last. Its two jars are not among the others:

    mvn dependency:copy -Dartifact=org.apache.kafka:connect-mirror:4.3.1 -DoutputDirectory=DIR
    mvn dependency:copy -Dartifact=org.apache.kafka:connect-mirror-client:4.3.1 -DoutputDirectory=DIR
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from benchmarks.mirror import MirrorMaker
from compat_tests.broker import Broker
from compat_tests.kafka_broker import KafkaBroker
from compat_tests.kawal_broker import KawalBroker
from compat_tests.topics import create_topic
from pipeline import rows
from pipeline.config import SparkSection
from pipeline.jars import find_jars
from pipeline.job_file import load
from pipeline.log_source.source import KawalLog
from pipeline.report import JsonReport
from pipeline.run import run_job
from pipeline.session import spark_session
from pipeline.shape import Shape
from pipeline.sources.kafka import CONSUMER_OPTIONS

TOPIC, PARTITIONS = "meters", 4
SCHEMA = "ts bigint, device string, current double, voltage int, note string"
VIEW_COLUMNS = "ts timestamp, device string, current double, voltage int, note string"
QUERY = f"SELECT ts, device, current * voltage AS power FROM {TOPIC} WHERE voltage < 1000"
VIEW = Shape(
    mode="raw",
    declared=(),
    rescue="",
    key_as="binary",
    headers=False,
    prefix="",
    partition_by=(),
    view=QUERY,
    view_columns=VIEW_COLUMNS,
)
DEFAULTS = (
    '[source.options]\n"kafka.max.poll.records" = 500\n"kafka.max.partition.fetch.bytes" = 1048576\n'
    '"kafka.fetch.max.bytes" = 52428800\n'
)

BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
"""Spark sums up an Arrow batch after each row, unless this is the largest number that there is."""

LAND = """
[job]
name = "bench"
[source]
bootstrap = "{bootstrap}"
topics = ["{topic}"]
group = "-"
{options}
[schema]
mode = "json"
columns = "{columns}"
[sink]
path = "table"
"""

REPLICATE = """
[job]
name = "bench"
kind = "replicate"
[source]
bootstrap = "{bootstrap}"
topics = ["{topic}"]
group = "-"
[target]
bootstrap = "{target}"
topic = "copy-{number}"
[sink]
path = "state"
"""


@dataclass(slots=True)
class Bench:
    """The brokers, and the figures so far by case."""

    folder: Path
    records: int
    brokers: dict[str, Broker]
    targets: dict[str, Broker]
    spark: Any = None
    figures: dict[str, list[float]] = field(default_factory=dict)
    rounds: int = 0

    def timed(self, name: str, run: Callable[[], float | None]) -> None:
        """Run a case, and note its records a second; it may return seconds that it has measured itself."""
        began = time.monotonic()
        own = run()
        seconds = own if own is not None else time.monotonic() - began
        self.figures.setdefault(name, []).append(self.records / seconds)
        print(f"  {name:<34} {self.records / seconds:>10,.0f} records/s", flush=True)

    def scratch(self) -> Path:
        """Return a new folder."""
        return Path(tempfile.mkdtemp(dir=self.folder))

    def land(self, broker: str, options: str) -> None:
        """Run the job `land` in this process's session."""
        folder = self.scratch()
        text = LAND.format(
            bootstrap=self.brokers[broker].bootstrap, topic=TOPIC, columns=SCHEMA, options=options
        )
        run_file(folder, text, self.records)
        shutil.rmtree(folder)

    def plain(self, broker: str, tuned: dict[str, str]) -> None:
        """Land with Spark's own means."""
        from pyspark.sql import functions as F

        folder = self.scratch()
        stream = self.spark.readStream.format("kafka").options(**self.options(broker), **tuned).load()
        parsed = stream.select(
            F.from_json(F.col("value").cast("string"), SCHEMA).alias("row"), "topic", "partition", "offset"
        ).select("row.*", "topic", "partition", "offset")
        query = (
            parsed.writeStream.format("parquet")
            .option("path", f"{folder}/rows")
            .option("checkpointLocation", f"{folder}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        shutil.rmtree(folder)

    def options(self, broker: str) -> dict[str, str]:
        """Return the options of a plain read."""
        return {
            "kafka.bootstrap.servers": self.brokers[broker].bootstrap,
            "subscribe": TOPIC,
            "startingOffsets": "earliest",
        }

    def read(self, tuned: dict[str, str]) -> Any:
        """Return the records of the gateway's topic."""
        return self.spark.read.format("kafka").options(**self.options("kawal"), **tuned).load()

    def read_only(self, tuned: dict[str, str] | None = None) -> None:
        """Read the values and do nothing with them."""
        found = self.read(CONSUMER_OPTIONS if tuned is None else tuned)
        found.select("value").write.format("noop").mode("overwrite").save()

    def read_files(self) -> None:
        """Read the values from the gateway's files."""
        source = self.brokers["kawal"]
        assert isinstance(source, KawalBroker)
        self.spark.dataSource.register(KawalLog)
        found = self.spark.read.format("kawal.wal").option("subscribe", TOPIC)
        values = found.load(str(source.directory / "data")).select("value")
        values.write.format("noop").mode("overwrite").save()

    def derive_sql(self, tuned: dict[str, str]) -> None:
        """Evaluate the query with Spark's functions."""
        from pyspark.sql import functions as F

        records = self.read(tuned)
        row = F.from_json(F.col("value").cast("string"), SCHEMA).alias("row")
        taken = records.select(row).where("row.voltage < 1000")
        power = (F.col("row.current") * F.col("row.voltage")).alias("power")
        made = taken.select(F.to_json(F.struct("row.ts", "row.device", power)).alias("value"))
        made.write.format("noop").mode("overwrite").save()

    def derive_plan(self, tuned: dict[str, str]) -> None:
        """Evaluate the query with the gateway's plan, on the records as jobs hand them to it."""
        made = rows.parse(self.read(tuned), VIEW, TOPIC)
        made.select("value").write.format("noop").mode("overwrite").save()

    def hand_over(self, tuned: dict[str, str]) -> None:
        """Send Python workers what jobs send them, and back a tenth of it, as the query does."""
        records = rows.sent(self.read(tuned), VIEW, TOPIC)
        made = rows.mapped(records, _tenth, records.schema)
        made.select("value").write.format("noop").mode("overwrite").save()

    def derive_small(self, tuned: dict[str, str]) -> None:
        """Evaluate the query by the plan, where no batch of records can be too large for Spark's guard."""
        self.spark.conf.set(BATCH_BYTES, str((1 << 31) - 1))
        try:
            self.derive_plan(tuned)
        finally:
            self.spark.conf.unset(BATCH_BYTES)

    def replicate(self, kind: str) -> None:
        """Run the job `replicate` between two brokers of a kind."""
        folder = self.scratch()
        source, target = self.brokers[kind], self.targets[kind]
        text = REPLICATE.format(
            bootstrap=source.bootstrap, topic=TOPIC, target=target.bootstrap, number=self.rounds
        )
        run_file(folder, text, self.records)
        shutil.rmtree(folder)

    def mirror(self, jars: Path, kind: str, *, exactly_once: bool) -> float:
        """Let MirrorMaker 2 copy the topic; return the seconds from its first record to its last."""
        source, target = self.brokers[kind], self.targets[kind]
        name = f"east{self.rounds}{'x' if exactly_once else ''}"
        with MirrorMaker(
            self.scratch(), jars, source, target, alias=name, topic=TOPIC, exactly_once=exactly_once
        ) as mirror:
            return mirror.seconds_to_copy(self.records, lambda: copied(target, f"{name}.{TOPIC}"))


def _tenth(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        yield batch.slice(0, batch.num_rows // 10)


def run_file(folder: Path, text: str, records: int) -> None:
    """Run a job file to its end, which is to land or copy so many records."""
    (folder / "job.toml").write_text(text)
    out = io.StringIO()
    code = run_job(load(folder / "job.toml"), JsonReport(out))
    summary = json.loads(out.getvalue().splitlines()[-1])
    assert (code, summary["rows"]) == (0, records), summary


def copied(broker: Broker, topic: str) -> int:
    """Return the sum of the ends of a topic's partitions, 0 while they do not exist or have no leaders."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    known = admin.list_topics(timeout=10).topics
    if topic not in known:
        return 0
    places = {TopicPartition(topic, at): OffsetSpec.latest() for at in known[topic].partitions}
    try:
        return sum(asked.result(10).offset for asked in admin.list_offsets(places).values())
    except KafkaException as error:
        if error.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION:
            raise
        return 0


def fill(broker: Broker, records: int) -> None:
    """Produce the records, some 200 bytes each; a tenth of them match the query."""
    create_topic(broker, TOPIC, PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 20})
    note = "x" * 90
    for number in range(records):
        row = {
            "ts": 1_700_000_000_000 + number,
            "device": f"d{number % 997}",
            "current": number % 331 / 7,
            "voltage": number * 7919 % 10_000,
            "note": note,
        }
        while True:
            try:
                producer.produce(TOPIC, json.dumps(row).encode(), partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(120) == 0


def cases(bench: Bench, only: list[str], mirror_jars: Path | None) -> dict[str, Callable[[], float | None]]:
    """Return the cases by name."""
    found: dict[str, Callable[[], float | None]] = {}
    if "land" in only:
        for kind in bench.brokers:
            found[f"plain Spark, defaults, {kind}"] = partial(bench.plain, kind, {})
            found[f"plain Spark, tuned, {kind}"] = partial(bench.plain, kind, CONSUMER_OPTIONS)
            found[f"land, defaults, {kind}"] = partial(bench.land, kind, DEFAULTS)
            found[f"land, tuned, {kind}"] = partial(bench.land, kind, "")
    if "derive" in only:
        found["derive, reading alone, tuned"] = bench.read_only
        found["derive, to Python and back, tuned"] = partial(bench.hand_over, CONSUMER_OPTIONS)
        for name, tuned in (("defaults", {}), ("tuned", CONSUMER_OPTIONS)):
            found[f"derive, from_json/to_json, {name}"] = partial(bench.derive_sql, tuned)
            found[f"derive, the gateway's plan, {name}"] = partial(bench.derive_plan, tuned)
        found["derive, the plan, small records"] = partial(bench.derive_small, CONSUMER_OPTIONS)
    if "files" in only:
        found["read, from the gateway, defaults"] = partial(bench.read_only, {})
        found["read, from the gateway, tuned"] = bench.read_only
        found["read, from its files"] = bench.read_files
    if "replicate" in only:
        for kind in bench.brokers:
            found[f"replicate, {kind}"] = partial(bench.replicate, kind)
        if mirror_jars is not None:
            for once in (False, True):
                name = f"MirrorMaker 2{', exactly once' if once else ''}, kafka"
                found[name] = partial(bench.mirror, mirror_jars, "kafka", exactly_once=once)
    return found


def main() -> int:
    """Run the rounds and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--records", type=int, default=600_000, help="records of the topic (default 600,000)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="rounds, after one that does not count (default 3)"
    )
    parser.add_argument("--quick", action="store_true", help="60,000 records, one round: whether it works")
    parser.add_argument(
        "--only", nargs="*", default=["land", "derive", "files", "replicate"], help="groups of cases"
    )
    parser.add_argument("--mirror-jars", type=Path, help="the folder with MirrorMaker's two jars")
    options = parser.parse_args()
    if options.quick:
        options.records, options.rounds = 60_000, 1
    folder = Path(tempfile.mkdtemp(prefix="kawal-bench-pipeline-"))
    sources: dict[str, Broker] = {
        "kawal": KawalBroker(folder / "kawal", {}),
        "kafka": KafkaBroker(folder / "kafka", {}),
    }
    targets: dict[str, Broker] = {
        "kawal": KawalBroker(folder / "kawal-target", {}),
        "kafka": KafkaBroker(folder / "kafka-target", {}),
    }
    bench = Bench(folder, options.records, sources, targets)
    started = [*sources.values(), *(targets.values() if "replicate" in options.only else [])]
    try:
        for broker in started:
            broker.start()
        for broker in sources.values():
            fill(broker, options.records)
        assert sources["kawal"].stop()[0] == 0  # its checkpoint covers all that its files have
        sources["kawal"].start()
        plan = SparkSection(driver_memory="2g")
        log = folder / "spark.log"
        # Jobs take the session that they find.
        with spark_session("bench", plan, find_jars(os.environ), log_path=log) as bench.spark:
            _measure(bench, options)
    finally:
        for broker in started:
            if broker.was_started:
                broker.kill()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _measure(bench: Bench, options: Any) -> None:
    for bench.rounds in range(options.rounds + 1):
        print(f"round {bench.rounds}{' (warming up, does not count)' if not bench.rounds else ''}")
        for name, run in cases(bench, options.only, options.mirror_jars).items():
            bench.timed(name, run)
        if not bench.rounds:
            bench.figures.clear()
    print(f"\nmedian of {options.rounds}, {options.records:,} records of {PARTITIONS} partitions")
    for name, rates in bench.figures.items():
        spread = f"{min(rates):,.0f} to {max(rates):,.0f}"
        print(f"  {name:<34} {statistics.median(rates):>10,.0f} records/s   ({spread})")


if __name__ == "__main__":
    sys.exit(main())
