"""Two runs of one copying job at once, on machines that do not see each other's locks."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from compat_tests.broker import Broker
from compat_tests.confluent import open_consumer, read
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.pipeline_copies import CopyJob, read_all
from compat_tests.pipeline_jobs import produce_numbers
from compat_tests.topics import create_topic
from pipeline.errors import TargetError
from pipeline.offset_map import MAP_TOPIC
from pipeline.sinks.topic_writer import PartitionWriter, WritePlan, commit_without_records

COUNT = 400
"""Ten batches of 40 offsets each."""


HELD_BACK_MS = 400
"""For records that are to be sent only when another writer has come."""


def plan(broker: Broker, topic: str, until: int, linger_ms: int = 5) -> WritePlan:
    """Return the plan of the first batch of a copy of partition 0."""
    return WritePlan(
        job="rival",
        settings={"bootstrap.servers": broker.bootstrap, "log_level": "0", "linger.ms": f"{linger_ms}"},
        transaction_timeout_ms=60_000,
        group=f"kawal-replicate-{topic}",
        source_cluster="elsewhere",
        target_topics={topic: topic},
        target_ids={topic: "id"},
        ranges={(topic, 0): (0, until)},
        positions={},
    )


def batch(topic: str, offsets: range) -> Any:
    headers = pyarrow.list_(pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())]))
    count, moment = len(offsets), datetime.now(UTC)
    columns = {
        "key": pyarrow.array([None] * count, pyarrow.binary()),
        "value": pyarrow.array([b"%d" % offset for offset in offsets], pyarrow.binary()),
        "headers": pyarrow.array([None] * count, headers),
        "topic": pyarrow.array([topic] * count),
        "partition": pyarrow.array([0] * count, pyarrow.int32()),
        "offset": pyarrow.array(list(offsets), pyarrow.int64()),
        "timestamp": pyarrow.array([moment] * count, pyarrow.timestamp("us", tz="UTC")),
    }
    return pyarrow.RecordBatch.from_pydict(columns)


def begun(broker: Broker, topic: str, linger_ms: int = 5) -> PartitionWriter:
    """Return a writer with ten records in its transaction."""
    writer = PartitionWriter(plan(broker, topic, 10, linger_ms), (topic, 0))
    writer.add(batch(topic, range(10)))
    return writer


def late_commit(writer: PartitionWriter) -> None:
    """Commit what was begun before another run came."""
    with pytest.raises(TargetError, match="another run of the job 'rival' writes there now"):
        writer.commit()


def given_up(writer: PartitionWriter) -> None:
    """Give up what was begun before another run came."""
    writer.give_up()


@pytest.mark.parametrize("end", [late_commit, given_up])
@pytest.mark.parametrize("is_sent", [True, False])
def test_of_two_writers_of_a_partition_the_first_is_shut_out_and_each_record_is_there_once(
    broker: Broker, topic: str, end: Callable[[PartitionWriter], None], is_sent: bool
) -> None:
    create_topic(broker, topic, 1)
    create_map(broker)
    first = begun(broker, topic, 5 if is_sent else HELD_BACK_MS)
    if is_sent:
        first._producer.flush(20)
    second = begun(broker, topic)
    end(first)
    second.commit()
    # A batch that the first one finds to have no records sets nothing back.
    commit_without_records(plan(broker, topic, 5), [(topic, 0)])
    third = begun(broker, topic)
    third.commit()
    with open_consumer(broker) as consumer:
        seen = [int(message.value()) for message in read(consumer, topic, 10)]
    assert seen == list(range(10))
    assert (third.begin, third.result().to_pylist()[0]["written"]) == (10, 0)


def create_map(broker: Broker) -> None:
    from confluent_kafka.admin import AdminClient

    if MAP_TOPIC not in AdminClient({"bootstrap.servers": broker.bootstrap}).list_topics(timeout=10).topics:
        create_topic(broker, MAP_TOPIC, 1, {"cleanup.policy": "compact"})


@pytest.mark.timeout(400, method="signal")
def test_two_drivers_that_copy_to_one_target_at_once_copy_each_record_once_in_order(
    broker: Broker, start_broker: StartBroker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    # Folders, and so locks, ledgers and checkpoints, of their own: as on two machines.
    topic, other = make_topic(2), start_broker()
    produce_numbers(broker, topic, range(COUNT))
    jobs = [CopyJob(tmp_path / f"machine-{number}", broker, other, topic) for number in (1, 2)]
    with ThreadPoolExecutor(len(jobs)) as threads:
        ended = list(threads.map(CopyJob.run, jobs))
    for run in ended:
        assert "Traceback" not in run.err + run.out, run.err + run.out
        assert run.code == 0 or "another run of the job" in run.out, (run.out, run.err)
    assert any(run.code == 0 for run in ended), ended
    assert read_all(other, topic) == read_all(broker, topic)
    for job in jobs:
        job.run_here()
        job.must_be_equal(COUNT)
    assert read_all(other, topic) == read_all(broker, topic)
