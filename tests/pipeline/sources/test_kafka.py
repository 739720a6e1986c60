"""The options of Spark's Kafka source."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.ledger import Totals
from pipeline.sources.kafka import source_options, stream_options
from tests.pipeline.made import LAKE, job

START = {"t": {"0": -2}}


def options(**tables: Any) -> dict[str, str]:
    return source_options(job(LAKE, **tables))


def test_the_job_file_decides_topics_broker_isolation_and_loss() -> None:
    source = {
        "topics": ["t", "u"],
        "bootstrap": "b:9092",
        "isolation": "read_uncommitted",
        "fail_on_data_loss": False,
        "min_partitions": 8,
    }
    found = options(source=source, schema={"headers": True})
    assert found["subscribe"] == "t,u"
    assert found["kafka.bootstrap.servers"] == "b:9092"
    assert found["kafka.isolation.level"] == "read_uncommitted"
    assert found["failOnDataLoss"] == "false"
    assert found["minPartitions"] == "8"
    assert found["includeHeaders"] == "true"


def test_polls_are_large_because_each_costs_two_round_trips() -> None:
    assert int(options()["kafka.max.poll.records"]) == 20_000


def test_no_task_waits_for_records_after_the_end_of_its_range() -> None:
    """Each ended with half a second in which the broker kept a fetch, and with it all later questions."""
    assert int(options()["kafka.fetch.max.wait.ms"]) <= 10


def test_options_of_the_job_file_win() -> None:
    given = {"kafka.max.poll.records": 7, "kafka.check.crcs": False, "kafka.client.rack": "a"}
    found = options(source={"options": given})
    assert (found["kafka.max.poll.records"], found["kafka.check.crcs"], found["kafka.client.rack"]) == (
        "7",
        "false",
        "a",
    )


def test_the_number_one_is_not_taken_for_true() -> None:
    assert options(source={"options": {"kafka.fetch.min.bytes": 1}})["kafka.fetch.min.bytes"] == "1"


def test_the_client_is_named_after_the_job() -> None:
    assert options()["groupIdPrefix"] == "kawal-pipe-land-t"


def test_a_stream_begins_at_given_offsets_in_batches_of_bounded_size() -> None:
    found = stream_options(job(LAKE, source={"max_offsets_per_trigger": 50}), START, Totals())
    assert json.loads(found["startingOffsets"]) == START
    assert found["maxOffsetsPerTrigger"] == "50"


def test_a_stream_that_runs_once_or_without_a_bound_takes_everything() -> None:
    once = stream_options(job(LAKE, trigger={"mode": "once"}), START, Totals())
    unbounded = stream_options(job(LAKE, source={"max_offsets_per_trigger": 0}), START, Totals())
    assert "maxOffsetsPerTrigger" not in once.keys() | unbounded.keys()


@pytest.mark.parametrize(
    ("sink", "least", "delay"),
    [
        ({}, None, None),
        ({"rotate_rows": 500}, "500", None),
        ({"rotate_bytes": 5_000}, "100", None),
        ({"rotate_rows": 70, "rotate_bytes": 5_000, "rotate_interval": "2m"}, "70", "120000ms"),
        ({"rotate_rows": 5_000}, "1000", None),
        ({"rotate_interval": "10s"}, "1000", "10000ms"),
    ],
)
def test_a_stream_with_an_interval_waits_until_a_batch_is_worth_its_files(
    sink: dict[str, Any], least: str | None, delay: str | None
) -> None:
    made = job(LAKE, source={"max_offsets_per_trigger": 1_000}, trigger={"mode": "interval"}, sink=sink)
    found = stream_options(made, START, Totals())
    assert (found.get("minOffsetsPerTrigger"), found.get("maxTriggerDelay")) == (least, delay)


def test_bytes_are_estimated_from_what_has_landed() -> None:
    made = job(LAKE, trigger={"mode": "interval"}, sink={"rotate_bytes": 5_000})
    assert stream_options(made, START, Totals(rows=10, size_bytes=100))["minOffsetsPerTrigger"] == "500"


def test_a_stream_that_ends_does_not_wait() -> None:
    found = stream_options(job(LAKE, sink={"rotate_rows": 500}), START, Totals())
    assert "minOffsetsPerTrigger" not in found
