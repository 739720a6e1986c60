"""One question asked of Apache Kafka, of Kawal's topic and of a view: which of these flights are late?

Both brokers have the same records, 1 KB of JSON each, one in a hundred late. From Kafka and from Kawal's
plain topic a client reads everything and filters for itself; from the view it gets what it asked for. The
time until the last late flight is known is measured by turns, in rounds, with one consumer and with ten at
once, each a process.

The view is a new one in every round, so that it is evaluated; `again` reads the same view a second time.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import proc
from benchmarks.bench import Load
from benchmarks.clients import flights
from benchmarks.clients.jobs import LateFlightsJob
from benchmarks.servers import KafkaServer
from benchmarks.views_wire.beside_table import Question, Sample, table
from benchmarks.views_wire.setting import Tell, create, drop, fill, gateway, watching
from compat_tests.broker import HOST, Broker

CODECS, QUICK_CODECS = ("none", "lz4", "zstd"), ("none", "zstd")
RECORDS, QUICK_RECORDS = 200_000, 60_000
ROUNDS, QUICK_ROUNDS, WARM_UP_ROUNDS = 3, 1, 2
CONSUMERS = (1, 10)
SQL = "SELECT id, carrier FROM {} WHERE delay = 99"

KAFKA, TOPIC, VIEW, AGAIN = "Kafka, client filters", "Kawal, client filters", "Kawal's view", "the view again"


@dataclass(frozen=True, slots=True)
class Brokers:
    """Both brokers, filled."""

    kafka: Broker
    kawal: Broker
    records: int


def measure(tell: Tell, *, quick: bool) -> None:
    """Fill both brokers, ask in rounds, print the table."""
    codecs = QUICK_CODECS if quick else CODECS
    records = QUICK_RECORDS if quick else RECORDS
    questions = [Question(codec, consumers) for codec in codecs for consumers in CONSUMERS]
    samples: list[Sample] = []
    with both(records, codecs) as brokers:
        # The Java machine compiles for a while; Kawal gets the same warm-up.
        for warm_up in range(1 if quick else WARM_UP_ROUNDS):
            for question in questions:
                _ask(brokers, question, round_=-warm_up)
        with watching((brokers.kafka, brokers.kawal), tell):
            for round_ in range(1, (QUICK_ROUNDS if quick else ROUNDS) + 1):
                for question in questions:
                    samples += _ask(brokers, question, round_=round_)
    tell(f"{records:,} records of 1 KB, 1 % wanted; medians, and ratios of each round")
    for line in table(samples, questions, ways=(KAFKA, TOPIC, VIEW, AGAIN), ratios_to=VIEW):
        tell(line)


@contextmanager
def both(records: int, codecs: tuple[str, ...]) -> Iterator[Brokers]:
    """Run Apache Kafka and a gateway with the same topics, one for each codec."""
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="kawal-beside-"))
        kafka = KafkaServer(Path(directory) / "kafka", {})
        kafka.start()
        stack.callback(kafka.kill)
        kawal = stack.enter_context(gateway())
        for codec in codecs:
            create(kafka, codec)
            create(kawal, codec, kawal_columns=flights.COLUMNS)
            for broker in (kafka, kawal):
                fill(broker, codec, records, codec, flights.detailed)
        # Data written back while consumers read would be measured as theirs.
        os.sync()
        yield Brokers(kafka, kawal, records)


def _ask(brokers: Brokers, question: Question, *, round_: int) -> list[Sample]:
    """Ask every way once."""
    # A view of this round alone: it does not know what another has found.
    view = f"late-{question.codec}-{question.consumers}-{round_}"
    create(brokers.kawal, view, -1, kawal_sql=SQL.format(question.codec))
    ways = (
        (KAFKA, brokers.kafka, "filter_topic", question.codec),
        (TOPIC, brokers.kawal, "filter_topic", question.codec),
        (VIEW, brokers.kawal, "read_view", view),
        (AGAIN, brokers.kawal, "read_view", view),
    )
    samples = [
        _answered(question, way, round_, broker, kind, topic, brokers.records)
        for way, broker, kind, topic in ways
    ]
    # Eight views with the same query would be evaluated together, which is another question.
    drop(brokers.kawal, view)
    return samples


def _answered(
    question: Question, way: str, round_: int, broker: Broker, kind: str, topic: str, records: int
) -> Sample:
    """Let the consumers read at once, as soon as all of them are ready."""
    loads = [
        Load(
            kind,
            LateFlightsJob(host=HOST, port=broker.port, topic=topic, flights=records, group=f"g{number}"),
        )
        for number in range(question.consumers)
    ]
    try:
        for load in loads:
            load.wait_until_ready()
        before = proc.run_seconds(broker.process.pid)
        for load in loads:
            load.start()
        figures = [load.figures() for load in loads]
        used = proc.run_seconds(broker.process.pid) - before
    finally:
        for load in loads:
            load.stop()
    return Sample(
        question=question,
        way=way,
        round=round_,
        received_bytes=sum(answer["received_bytes"] for answer in figures),
        seconds=max(answer["ended_at"] for answer in figures)
        - min(answer["started_at"] for answer in figures),
        client_cpu_seconds=sum(answer["client_cpu_seconds"] for answer in figures),
        server_cpu_seconds=used,
    )
