"""Job files whose jobs write to topics: what does not go together is refused."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.errors import JobFileError
from pipeline.job_file import parse

VIEW = {"view": "SELECT n FROM t", "view_columns": "n int"}


def content(**tables: Any) -> dict[str, Any]:
    needed: dict[str, dict[str, Any]] = {
        "job": {"name": "a", "kind": "replicate"},
        "source": {"topics": ["t"]},
        "target": {"bootstrap": "b:1"},
        "sink": {"path": "state"},
    }
    return {name: {**needed.get(name, {}), **tables.get(name, {})} for name in {**needed, **tables}}


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"target": {"bootstrap": ""}}, "target.bootstrap is empty"),
        ({"source": VIEW}, "set kind = 'derive'"),
        ({"job": {"kind": "derive"}}, "source.view is empty; job.kind 'derive' needs the query"),
        ({"source": {"isolation": "read_uncommitted"}}, "what may be aborted later cannot be copied"),
        ({"source": {"min_partitions": 4}}, "cannot keep its order"),
        ({"schema": {"mode": "json", "columns": "n int"}}, r"\[schema\] and \[errors\] are for tables"),
        ({"sink": {"kind": "delta"}}, "leave only sink.path"),
        (
            {"sink": {"compression": "gzip"}},
            "sink.compression is a table's key, but a job of kind 'replicate'",
        ),
        ({"sink": {"rotate_bytes": 5}}, "sink.rotate_bytes is a table's key"),
        ({"errors": {"stop_after": 5}}, "errors.stop_after is given, but"),
        ({"schema": {"headers": True}}, "schema.headers is given, but"),
        (
            {"target": {"topic": "__consumer_offsets"}},
            "gives '__consumer_offsets', a topic for the broker's own",
        ),
        ({"target": {"topic": "kawal-offset-map"}}, "gives 'kawal-offset-map', a topic for the broker's own"),
        (
            {"target": {"transaction_timeout": "0s"}},
            "target.transaction_timeout is '0s': no batch is written in",
        ),
        ({"target": {"options": {"acks": 1}}}, "target.options has 'acks', which the job sets itself"),
        ({"target": {"options": {"transactional.id": "x"}}}, "'transactional.id', which the job sets itself"),
        ({"target": {"options": {"bootstrap.servers": "x:1"}}}, "set target.bootstrap instead"),
        ({"target": {"options": {"sasl.username": "x"}}}, r"set it in \[target.security\] instead"),
        ({"target": {"options": {"error_cb": "x"}}}, "has 'error_cb', which takes a function"),
        (
            {"target": {"options": {"linger.ms": 1.5}}},
            r"target.options\['linger.ms'\] is 1.5: expected 'bool",
        ),
        (
            {"target": {"topic": "all"}, "source": {"topics": ["t", "u"]}},
            "gives one name to several of .* put '{topic}' into it",
        ),
        ({"target": {"bootstrap": "127.0.0.1:9092"}}, "gives 't', which the job reads from the same broker"),
    ],
)
def test_what_contradicts_a_target_is_refused(tables: dict[str, Any], sentence: str) -> None:
    with pytest.raises(JobFileError, match=sentence):
        parse(content(**tables))


def test_a_copy_has_headers_and_names_its_topics() -> None:
    job = parse(content(target={"topic": "east.{topic}"}))
    assert (job.schema.headers, job.target_topic("t"), job.target_bootstrap) == (True, "east.t", "b:1")


def test_a_derived_topic_is_on_the_brokers_of_its_source_unless_it_says_otherwise() -> None:
    job = parse(content(job={"kind": "derive"}, source=VIEW, target={"bootstrap": "", "topic": "u"}))
    assert job.target_bootstrap == "127.0.0.1:9092"


def test_batches_of_a_copy_may_wait_for_records_and_for_time() -> None:
    assert parse(content(sink={"rotate_rows": 5, "rotate_interval": "1m"})).sink.rotate_rows == 5
