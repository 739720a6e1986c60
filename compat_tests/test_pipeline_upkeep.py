"""`kawal pipe audit`, `compact` and `replay`: what landed is what the topics hold, before and after."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.pipeline_jobs import JSON_SCHEMA, PipelineJob, produce_numbers, produce_values
from compat_tests.spark import spark_session
from compat_tests.topics import create_topic, delete_topic
from pipeline.audit_report import audit_job
from pipeline.compact import compact_job
from pipeline.job_file import load
from pipeline.reset import reset_topic
from pipeline.upkeep import replay_job

KINDS = ["parquet", "delta", "iceberg"]


def job_of(folder: Path, broker: Broker, topic: str, kind: str, more: str = JSON_SCHEMA) -> PipelineJob:
    job = PipelineJob(folder, broker, topic, more)
    sink = f'[sink]\nkind = "{kind}"\npartition_by = ["date"]\n'
    job.file.write_text(job.file.read_text().replace("[sink]\n", sink))
    return job


def audited(job: PipelineJob) -> dict[str, Any]:
    spark_session()
    out = io.StringIO()
    code = audit_job(load(job.file), out, as_json=True)
    found: dict[str, Any] = json.loads(out.getvalue())
    assert code == (0 if found["equal"] else 5)
    return found


def did(action: Any, job: PipelineJob, *arguments: Any) -> str:
    spark_session()
    out = io.StringIO()
    assert action(load(job.file), *arguments, out) == 0
    return out.getvalue()


def differences(found: dict[str, Any]) -> list[str]:
    return [sentence for partition in found["partitions"] for sentence in partition["differences"]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_landed_table_is_equal_to_its_topic(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path, kind: str
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(100))
    produce_values(broker, topic, [(0, b"junk"), (1, None)])
    job = job_of(tmp_path, broker, topic, kind)
    assert job.run_here()["rows"] == 100
    found = audited(job)
    assert found["equal"], found
    counts = [(each["table"]["rows"], each["source"]["bad"], each["until"]) for each in found["partitions"]]
    assert counts == [(50, 1, 51), (50, 1, 51)]


def test_missing_and_doubled_rows_are_named_by_their_offsets(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1)
    produce_numbers(broker, topic, range(100), partitions=1)
    job = PipelineJob(tmp_path, broker, topic)
    job.run_here()
    first, second, _ = sorted((tmp_path / "lake" / "t").glob("batch=*/*.parquet"))
    second.write_bytes(first.read_bytes())
    said = differences(audited(job))
    assert "40 offsets landed more than once: 0, 1, 2, 3, 4, …" in said
    assert "40 offsets missing in the table: 40, 41, 42, 43, 44, …" in said


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_many_small_batches_become_one_and_the_job_goes_on(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path, kind: str
) -> None:
    topic = make_topic(2)
    job = job_of(tmp_path, broker, topic, kind)
    for first in range(0, 40, 10):
        produce_numbers(broker, topic, range(first, first + 10))
        job.run_here()
    said = did(compact_job, job, 10**9)
    assert "8 files of 4 batches are now 1" in said
    assert audited(job)["equal"]
    if kind == "parquet":
        assert len(list((tmp_path / "lake" / "t").rglob("*.parquet"))) == 1
    produce_numbers(broker, topic, range(40, 50))
    assert job.run_here()["total"]["rows"] == 50
    found = audited(job)
    assert (found["equal"], sum(each["table"]["rows"] for each in found["partitions"])) == (True, 50)
    assert "neighbouring batches" in did(compact_job, job, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_what_fits_after_the_job_was_mended_lands_from_the_quarantine_once(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path, kind: str
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(10))
    produce_values(broker, topic, [(0, b'{"n":5000000000}'), (1, b"junk")])
    job = job_of(tmp_path, broker, topic, kind)
    assert job.run_here()["bad"] == 2
    if kind == "delta":  # its types do not widen; a column that may be null does as well
        job.file.write_text(job.file.read_text().replace("n int not null", "n int"))
        assert "0 records landed from the quarantine, 2 are still bad" in did(replay_job, job)
        return
    job.file.write_text(job.file.read_text().replace("n int not null", "n bigint not null"))
    assert "1 records landed from the quarantine, 1 are still bad" in did(replay_job, job)
    assert "0 records landed from the quarantine, 1 are still bad" in did(replay_job, job)
    assert job.bad() == [(5, b"junk", "not JSON: invalid character (byte 0)")]
    found = audited(job)
    assert found["equal"], found
    assert job.run_here()["total"]["bad"] == 1


def test_a_table_of_a_topic_made_again_is_compared_with_the_new_one_only(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1)
    produce_numbers(broker, topic, range(10), partitions=1)
    job = PipelineJob(tmp_path, broker, topic)
    job.run_here()
    delete_topic(broker, topic)
    create_topic(broker, topic, 1)
    produce_numbers(broker, topic, range(100, 107), partitions=1)
    reset_topic(load(job.file), topic, io.StringIO())
    job.run_here()
    [partition] = audited(job)["partitions"]
    assert (partition["differences"], partition["table"]["rows"]) == ([], 7)


@pytest.mark.only_kawal("views are the gateway's")
@pytest.mark.timeout(300, method="signal")
def test_a_view_evaluated_by_spark_lands_what_the_gateways_view_shows(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    columns = "n int"
    query = "SELECT n, n * n AS square FROM `{}` WHERE n % 3 = 1"
    topic = make_topic(2, kawal_columns=columns)
    produce_numbers(broker, topic, range(100))
    view = create_topic(broker, f"{topic}-view", 2, {"kawal.sql": query.format(topic)})
    schema = '[schema]\nmode = "json"\ncolumns = "n int, square bigint"\n'
    (tmp_path / "gateway").mkdir()
    by_gateway = PipelineJob(tmp_path / "gateway", broker, view, schema)
    by_gateway.run_here()
    by_spark = PipelineJob(tmp_path, broker, topic, schema)
    source = f'[source]\nview = "{query.format(topic)}"\nview_columns = "{columns}"\n'
    by_spark.file.write_text(by_spark.file.read_text().replace("[source]\n", source))
    by_spark.run_here()
    names = ("n", "square", "partition", "offset", "timestamp")
    assert by_spark.rows(*names) == by_gateway.rows(*names)
    assert audited(by_spark)["equal"]
