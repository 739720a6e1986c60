"""Spark gets columns, tasks and offsets from `kawal.wal`, and sentences for wrong options."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
    Not,
)
from pyspark.sql.types import StructType

from pipeline.errors import SourceError
from pipeline.log_source.plan import OFFSET_MAX, Wanted
from pipeline.log_source.source import KawalLog, LogReader, LogStreamReader, PruningReader, Settings, narrowed
from tests.broker.kit import batch, create, send
from tests.console.test_wal_orphans import DiskGateway

SCHEMA = StructType()
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOON_MS = 1_767_268_800_000


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a stopped gateway with three records in each of two partitions."""
    path = tmp_path_factory.mktemp("log") / "data"
    gateway = DiskGateway(path)
    create(gateway.client(), "t", 2)
    for partition in (0, 1):
        send(gateway.client(), "t", batch(b"a", b"b", b"c"), partition)
    gateway.stop()
    return path


def source(data: Path, **options: str) -> KawalLog:
    return KawalLog({"path": str(data), "subscribe": "t", **options})


def values(reader: Any, splits: list[Any]) -> list[bytes]:
    # Spark sends the reader and its tasks to other processes.
    copy = pickle.loads(pickle.dumps(reader))
    return [row["value"] for split in splits for rows in copy.read(split) for row in rows.to_pylist()]


def test_a_batch_query_reads_all(data: Path) -> None:
    reader = source(data).reader(SCHEMA)
    assert type(reader) is LogReader
    assert sorted(values(reader, reader.partitions())) == [b"a", b"a", b"b", b"b", b"c", b"c"]


def test_a_query_that_finds_nothing_has_no_task_but_spark_asks_for_one(data: Path) -> None:
    reader = source(data, startingOffsets="latest").reader(SCHEMA)
    assert (reader.partitions(), values(reader, [InputPartition(None)])) == ([], [])


def test_the_columns_are_those_of_the_kafka_source(data: Path) -> None:
    assert "headers" not in source(data).schema()
    assert (
        source(data, includeHeaders="true")
        .schema()
        .endswith("timestampType int, headers array<struct<key: string not null, value: binary>>")
    )


def test_conditions_of_the_query_leave_out_what_cannot_match_and_are_given_back(data: Path) -> None:
    reader = source(data, pushFilters="true").reader(SCHEMA)
    assert type(reader) is PruningReader
    conditions: list[Filter] = [EqualTo(("partition",), 1), GreaterThan(("offset",), 0)]
    assert list(reader.pushFilters(conditions)) == conditions
    assert values(reader, reader.partitions()) == [b"b", b"c"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (EqualTo(("partition",), 2), Wanted(partitions=frozenset({2}))),
        (In(("partition",), (1, 2)), Wanted(partitions=frozenset({1, 2}))),
        (EqualTo(("offset",), 5), Wanted(offset_min=5, offset_end=6)),
        (GreaterThan(("offset",), 5), Wanted(offset_min=6)),
        (GreaterThanOrEqual(("offset",), 5), Wanted(offset_min=5)),
        (LessThan(("offset",), 5), Wanted(offset_end=5)),
        (LessThanOrEqual(("offset",), 5), Wanted(offset_end=6)),
        (GreaterThan(("timestamp",), NOON), Wanted(time_min_ms=NOON_MS)),
        (GreaterThanOrEqual(("timestamp",), NOON), Wanted(time_min_ms=NOON_MS)),
        (EqualTo(("timestamp",), NOON), Wanted(time_min_ms=NOON_MS)),
        (LessThan(("timestamp",), NOON), Wanted()),
        (Not(EqualTo(("partition",), 2)), Wanted()),
        (EqualTo(("value",), b"a"), Wanted()),
        (EqualTo(("headers", "partition"), 2), Wanted()),
    ],
)
def test_a_condition_narrows_what_is_wanted(condition: Filter, expected: Wanted) -> None:
    assert narrowed(Wanted(), condition) == expected


def test_several_conditions_all_count() -> None:
    wanted = Wanted()
    for condition in (
        In(("partition",), (1, 2)),
        In(("partition",), (2, 3)),
        GreaterThan(("offset",), 5),
        GreaterThan(("offset",), 3),
        LessThan(("offset",), 9),
    ):
        wanted = narrowed(wanted, condition)
    assert wanted == Wanted(partitions=frozenset({2}), offset_min=6, offset_end=9)
    assert Wanted().offset_end == OFFSET_MAX


def test_a_stream_goes_on_where_it_ended(data: Path) -> None:
    reader = source(data, startingOffsets='{"t":{"0":1,"1":3}}').streamReader(SCHEMA)
    assert isinstance(reader, LogStreamReader)
    begin = reader.initialOffset()
    end = reader.latestOffset(begin, None)
    assert (begin, end) == ({"t": {"0": 1, "1": 3}}, {"t": {"0": 3, "1": 3}})
    assert values(reader, reader.partitions(begin, end)) == [b"b", b"c"]
    assert reader.partitions(end, end) == []


def test_a_stream_without_a_beginning_begins_at_the_end_as_that_of_kafka_does(data: Path) -> None:
    assert source(data).streamReader(SCHEMA).initialOffset() == {"t": {"0": 3, "1": 3}}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"subscribe": " , "}, "needs option 'subscribe'"),
        ({"path": ""}, r"needs a data directory or a copy, as in load\('/var/lib/kawal'\)"),
        (
            {"kafka.bootstrap.servers": "x:1"},
            "has no option 'kafka.bootstrap.servers'; it has accesskeyenv, cluster",
        ),
        ({"includeHeaders": "yes"}, "option includeheaders is 'yes'; it must be true or false"),
    ],
)
def test_wrong_options_are_refused_with_a_sentence(data: Path, options: dict[str, str], problem: str) -> None:
    with pytest.raises(SourceError, match=problem):
        source(data, **options).reader(SCHEMA)


@pytest.mark.parametrize(
    ("path", "options", "problem"),
    [
        ("/data", {"endpoint": "http://x:1"}, "option 'endpoint' is of an object store, but neither"),
        ("s3://L", {}, "'s3://L' is not the address of a copy, which is s3://BUCKET/PREFIX"),
        ("/data", {"store": "/other"}, "'/other' is not the address of a copy"),
        ("s3://lake/k", {"accessKeyEnv": ""}, "options accessKeyEnv and secretKeyEnv belong together"),
        ("s3://lake/k", {"accessKeyEnv": "NO_SUCH_KEY"}, "NO_SUCH_KEY is not set"),
    ],
)
def test_wrong_places_are_refused_with_a_sentence(path: str, options: dict[str, str], problem: str) -> None:
    with pytest.raises(SourceError, match=problem):
        KawalLog({"path": path, "subscribe": "t", **options}).reader(SCHEMA)


def test_a_copy_and_a_directory_with_a_store_are_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K", "key")
    monkeypatch.setenv("S", "secret")
    keys = {"subscribe": "t", "accessKeyEnv": "K", "secretKeyEnv": "S", "endpoint": "http://x:1"}
    copy = Settings({"path": "s3://lake/kawal/", "cluster": "c", **keys}).place
    assert copy.store is not None
    assert (copy.data, copy.store.place.url, copy.cluster_id) == ("", "s3://lake/kawal", "c")
    beside = Settings({"path": "/data", "store": "s3://lake/kawal", **keys}).place
    assert (beside.data, beside.store) == ("/data", copy.store)
    assert dict(copy.store.options)["endpoint"] == "http://x:1"


def test_a_stream_has_no_end(data: Path) -> None:
    with pytest.raises(SourceError, match="endingOffsets is for batch queries"):
        source(data, endingOffsets="latest").streamReader(SCHEMA)
