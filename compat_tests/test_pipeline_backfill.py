"""A land job reads the past from a gateway's files, and goes on from the broker without hole or overlap."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat_tests.confluent import make_producer
from compat_tests.conftest import StartBroker
from compat_tests.kawal_broker import KawalBroker
from compat_tests.object_store import BUCKET, object_store
from compat_tests.pipeline_jobs import PipelineJob, produce_numbers
from compat_tests.spark import spark_session
from compat_tests.test_remote_copy import settings, wait_for_rounds
from compat_tests.topics import create_topic
from pipeline.log_source.source import KawalLog

pytestmark = [
    pytest.mark.only_kawal(reason="the files are the gateway's"),
    pytest.mark.timeout(900, method="signal"),
]


def edited(job: PipelineJob, *lines: str) -> PipelineJob:
    """Add lines to the source of a job."""
    text = job.file.read_text()
    job.file.write_text(text.replace("max_offsets_per_trigger = 40\n", "\n".join(lines) + "\n"))
    return job


def by_origin(job: PipelineJob) -> dict[str, int]:
    """Return how many rows came from the files, and from the broker."""
    found = {"files": 0, "broker": 0}
    for path in sorted((job.folder / "lake" / "t").glob("batch=*/_landed.json")):
        entry = json.loads(path.read_text())
        found["files" if entry["checkpoint"] == "backfill" else "broker"] += entry["landed"]["rows"]
    return found


def numbers(job: PipelineJob) -> list[int]:
    return sorted(row[0] for row in job.rows("n"))


def test_a_directory_is_read_first_and_the_broker_from_there_on(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    broker = start_broker(kawal_segment_bytes="1048576")
    assert isinstance(broker, KawalBroker)
    create_topic(broker, "t", 2)
    produce_numbers(broker, "t", range(100))
    abort_some(broker)
    broker.stop()  # which writes a checkpoint
    broker.start()
    produce_numbers(broker, "t", range(100, 130))
    (tmp_path / "job").mkdir()
    job = edited(
        PipelineJob(tmp_path / "job", broker, "t"),
        "max_offsets_per_trigger = 40",
        f'backfill = "{broker.directory / "data"}"',
    )
    spark_session().dataSource.register(KawalLog)  # as in a notebook that reads files itself
    checked = job.pipe("check")
    assert (checked.code, "offsets to land, and the broker" in checked.out) == (0, True), checked.out
    assert job.run_here()["rows"] == 130
    assert type(spark_session()).getActiveSession() is spark_session(), "the notebook has its session back"
    assert numbers(job) == list(range(130))
    origin = by_origin(job)
    assert origin["files"] >= 100
    assert origin["files"] + origin["broker"] == 130
    produce_numbers(broker, "t", range(130, 140))
    assert job.run_here()["rows"] == 10
    assert (numbers(job), by_origin(job)["files"]) == (list(range(140)), origin["files"])
    checked = job.pipe("check")
    assert (checked.code, "is not needed any more" in checked.out) == (0, True), checked.out


def abort_some(broker: KawalBroker) -> None:
    """Write records of a transaction that is aborted."""
    producer = make_producer(broker, **{"transactional.id": "aborts"})
    producer.init_transactions(60)
    producer.begin_transaction()
    for number in range(10):
        producer.produce("t", b'{"n":-%d}' % (number + 1), partition=number % 2)
    producer.abort_transaction(60)


def test_a_driver_that_dies_while_it_reads_a_bucket_leaves_nothing_out_and_lands_nothing_twice(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    with object_store(tmp_path / "store") as store:
        broker = start_broker(**settings(store))
        assert isinstance(broker, KawalBroker)
        create_topic(broker, "t", 2)
        produce_numbers(broker, "t", range(200))
        wait_for_rounds(broker, 2)
        (tmp_path / "job").mkdir()
        job = edited(
            PipelineJob(tmp_path / "job", broker, "t"),
            "max_offsets_per_trigger = 40",
            f'backfill = "s3://{BUCKET}/kawal"',
            "[source.bucket]",
            f'endpoint = "{store.endpoint}"',
        )
        job.run_and_die("staged", 1)
        assert by_origin(job) == {"files": 40, "broker": 0}
        job.run_and_die("landed", 0)
        assert by_origin(job) == {"files": 80, "broker": 0}
        produce_numbers(broker, "t", range(200, 230))
        ended = job.run()
        assert ended.code == 0, ended.err + ended.out
        assert numbers(job) == list(range(230))
        assert by_origin(job)["files"] >= 200
        store.kill()
        produce_numbers(broker, "t", range(230, 240))
        assert job.run_here()["rows"] == 10, "the store is not needed any more"


def test_a_topic_that_was_made_again_since_is_refused(start_broker: StartBroker, tmp_path: Path) -> None:
    broker = start_broker()
    assert isinstance(broker, KawalBroker)
    create_topic(broker, "t", 2)
    produce_numbers(broker, "t", range(10))
    broker.stop()
    copy = tmp_path / "copy"
    (broker.directory / "data").rename(copy)
    broker.start()
    create_topic(broker, "t", 2)
    (tmp_path / "job").mkdir()
    job = edited(PipelineJob(tmp_path / "job", broker, "t"), f'backfill = "{copy}"')
    checked = job.pipe("check")
    assert checked.code == 1
    assert "it is another one; name the files of the broker's own gateway" in checked.out
