"""Views read by Spark 4.2: in one batch, as a stream until it is caught up, and again after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.spark import run_available, spark_session
from compat_tests.view_kinds import KINDS, PARTITIONS, Kinds, Told, in_order, told
from compat_tests.views import VIEWS, Flight, add_flights, expected, flights, make_flights, make_views

pytestmark = pytest.mark.only_kawal("Apache Kafka has no views")

COUNT = 600
COLUMNS = (
    "topic",
    "partition",
    "offset",
    "cast(key as string) as key",
    "cast(value as string) as value",
    "transform(headers, h -> struct(h.key, cast(h.value as string) as value)) as headers",
)


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


@pytest.fixture(scope="module")
def world(broker: Broker) -> Kinds:
    return Kinds(broker, "spark", count=COUNT)


def options(broker: Broker, *topics: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": broker.bootstrap,
        "subscribe": ",".join(topics),
        "startingOffsets": "earliest",
        "includeHeaders": "true",
    }


def by_kind(world: Kinds, rows: list[Any]) -> dict[str, list[Told]]:
    found: dict[str, list[Told]] = {kind: [] for kind in KINDS}
    for row in rows:
        headers = [(header["key"], header["value"]) for header in row.headers or ()]
        kind = row.topic.rpartition(".")[2]
        found[kind].append(told(row.partition, row.offset, row.key, row.value, headers))
    return {kind: in_order(records) for kind, records in found.items()}


def test_a_batch_reads_every_kind_of_view(spark: Any, world: Kinds) -> None:
    topics = [world.topic(kind) for kind in KINDS]
    rows = spark.read.format("kafka").options(**options(world.broker, *topics)).load()
    found = by_kind(world, rows.selectExpr(*COLUMNS).collect())
    assert found == {kind: world.shown(kind) for kind in KINDS}


def test_a_stream_of_every_kind_goes_on_after_a_restart(spark: Any, broker: Broker, tmp_path: Path) -> None:
    world = Kinds(broker, "streamed", count=COUNT)
    topics = [world.topic(kind) for kind in KINDS]

    def landed_now() -> dict[str, list[Told]]:
        stream = spark.readStream.format("kafka").options(**options(broker, *topics)).load()
        run_available(stream.selectExpr(*COLUMNS), tmp_path)
        return by_kind(world, spark.read.parquet(str(tmp_path / "rows")).collect())

    assert landed_now() == {kind: world.shown(kind) for kind in KINDS}
    more = [flight for flight in flights(COUNT + 200, PARTITIONS) if flight.id >= COUNT]
    add_flights(broker, world.source, more)
    world.made += more
    assert landed_now() == {kind: world.shown(kind) for kind in KINDS}


@pytest.mark.parametrize("view", ["nothing", "head"])
def test_a_stream_with_small_batches_passes_over_what_a_view_leaves_out(
    spark: Any, broker: Broker, tmp_path: Path, view: str
) -> None:
    source = f"spark-stream-{view}"
    first = make_flights(broker, source, count=COUNT, partitions=PARTITIONS)
    name = make_views(broker, source)[view]

    def values(made: list[Flight]) -> list[str]:
        shown = [expected(VIEWS[view], made, partition) for partition in range(PARTITIONS)]
        return sorted(value for part in shown for _, _, value in part)

    def landed_now() -> list[str]:
        small = {**options(broker, name), "maxOffsetsPerTrigger": "400"}
        rows = spark.readStream.format("kafka").options(**small).load()
        run_available(rows.selectExpr("cast(value as string) as value"), tmp_path)
        read = spark.read.schema("value string").parquet(str(tmp_path / "rows"))
        return sorted(row.value for row in read.collect())

    assert landed_now() == values(first)
    assert landed_now() == values(first)
    more = [flight for flight in flights(1_000, PARTITIONS) if flight.id >= COUNT]
    add_flights(broker, source, more)
    assert landed_now() == values(first + more)
