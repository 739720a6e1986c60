"""Job files whose keys contradict each other, or have values that Spark or a broker would not take."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.errors import JobFileError
from pipeline.job_file import parse

LAND: dict[str, dict[str, Any]] = {
    "job": {"name": "a"},
    "source": {"topics": ["t"]},
    "sink": {"path": "lake/t"},
}


def made(**tables: dict[str, Any]) -> dict[str, Any]:
    return {name: {**LAND.get(name, {}), **tables.get(name, {})} for name in {**LAND, **tables}}


COPY = {"job": {"kind": "replicate"}, "target": {"bootstrap": "west:9092"}}


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"source": {"topics": ["fli ghts"]}}, "source.topics names 'fli ghts': names of topics are"),
        ({"source": {"topics": [".."]}}, "source.topics names '..': names of topics are"),
        ({"source": {"bootstrap": "127.0.0.1"}}, "'127.0.0.1' is not an address; write HOST:PORT"),
        ({"source": {"bootstrap": "a:1,b:99999"}}, "'b:99999' is not an address"),
        ({"source": {"bootstrap": "http://a:1"}}, "'http://a:1' is not an address"),
        ({"source": {"options": {"kafka.max.poll.records": "many"}}}, "source.options has 'kafka.max.poll"),
        ({"sink": {"catalog": {"type": "rest"}}}, "sink.catalog is given, but sink.kind is 'parquet'"),
        ({"sink": {"kind": "delta", "table": "a.b"}}, "sink.table is given, but sink.kind is 'delta'"),
        (
            {"sink": {"kind": "iceberg", "table": "flights"}},
            "sink.table is 'flights': expected NAMESPACE.NAME",
        ),
        (
            {"sink": {"kind": "iceberg", "catalog": {"type": "rset"}}},
            "sink.catalog has type 'rset': expected one",
        ),
        (
            {"sink": {"partition_by": ["a"]}, "target": {"topic": "x"}},
            "[target] is given to a job of kind 'land'",
        ),
        ({"spark": {"driver_memory": "100m"}}, "spark.driver_memory is '100m': Spark needs 512m or more"),
        ({"spark": {"options": {"spark.executor.memory": "1 gb"}}}, "spark.options has 'spark.executor.mem"),
        ({**COPY, "target": {"bootstrap": "west"}}, "target.bootstrap is 'west': 'west' is not an address"),
        (
            {**COPY, "target": {"bootstrap": "w:1", "topic": "a b"}},
            "target.topic gives 'a b': names of topics",
        ),
    ],
)
def test_what_spark_or_a_broker_would_not_take_is_refused_before_they_are_asked(
    tables: dict[str, dict[str, Any]], sentence: str
) -> None:
    with pytest.raises(JobFileError) as refused:
        parse(made(**tables))
    assert sentence in str(refused.value)


def test_an_address_of_ipv6_and_several_addresses_are_taken() -> None:
    assert parse(made(source={"bootstrap": "[::1]:9092, b:1"})).source.bootstrap == "[::1]:9092, b:1"
