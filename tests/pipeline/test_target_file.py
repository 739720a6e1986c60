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
