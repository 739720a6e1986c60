"""Jobs that copy topics to another broker, and the records that are on both."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from compat_tests.broker import Broker
from compat_tests.pipeline_jobs import PipelineJob
from compat_tests.spark import spark_session
from pipeline.audit_report import audit_job
from pipeline.job_file import load

COPY = """
[job]
name = "{name}"
kind = "{kind}"
[source]
bootstrap = "{source}"
topics = ["{topic}"]
max_offsets_per_trigger = 40
{view}
[target]
bootstrap = "{target}"
topic = "{name_there}"
[sink]
path = "state"
[spark]
quick_start = true
driver_memory = "512m"
"""

Record = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]] | None, int]
"""Partition, key, value, headers, timestamp."""


class CopyJob(PipelineJob):
    """A job file in a folder of its own that copies one topic."""

    def __init__(
        self,
        folder: Path,
        source: Broker,
        target: Broker,
        topic: str,
        *,
        kind: str = "replicate",
        name: str = "copy",
        name_there: str = "{topic}",
        view: str = "",
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.file = folder / "copy.toml"
        self.file.write_text(
            COPY.format(
                name=name,
                kind=kind,
                source=source.bootstrap,
                topic=topic,
                view=view,
                target=target.bootstrap,
                name_there=name_there,
            )
        )

    @property
    def checkpoint(self) -> Path:
        """Spark's checkpoint."""
        return self.folder / ".state.landing" / "checkpoint"

    def audited(self) -> dict[str, Any]:
        """Return what `audit` finds."""
        spark_session()
        out = io.StringIO()
        code = audit_job(load(self.file), out, as_json=True)
        found: dict[str, Any] = json.loads(out.getvalue())
        assert code == (0 if found["equal"] else 5)
        return found

    def must_be_equal(self, records: int) -> None:
        """Compare the copy with its source, and the number of its records."""
        found = self.audited()
        assert found["equal"], found
        assert sum(each["table"]["rows"] for each in found["partitions"]) == records, found


def read_all(broker: Broker, topic: str) -> list[Record]:
    """Return the committed records of a topic, by partition and in the order of their offsets."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    partitions = consumer.list_topics(topic, timeout=60).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    found: list[Record] = []
    left = set(partitions)
    while left:
        message = consumer.poll(60)
        assert message is not None, f"{topic}: no answer from partitions {left}"
        if message.error():
            left.discard(message.partition())
        else:
            _, time_ms = message.timestamp()
            found.append((message.partition(), message.key(), message.value(), message.headers(), time_ms))
    consumer.close()
    return sorted(found, key=lambda record: record[0])


def numbers_of(broker: Broker, topic: str) -> list[int]:
    return sorted(json.loads(value or b"")["n"] for _, _, value, _, _ in read_all(broker, topic))
