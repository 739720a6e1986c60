"""Views read by Spark 4.2: in one batch, as a stream until it is caught up, and again after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from compat_tests.broker import Broker
from compat_tests.spark import run_available, spark_session
from compat_tests.views import VIEWS, Flight, add_flights, expected, flights, make_flights, make_views

pytestmark = pytest.mark.only_kawal("Apache Kafka has no views")

PARTITIONS = 2


class World(NamedTuple):
    """The source's records, and the topics' names of the views by the names in `VIEWS`."""

    made: list[Flight]
    topics: dict[str, str]

    def values(self, view: str, made: list[Flight] | None = None) -> list[str]:
        """All values that a view shows."""
        return sorted(
            value
            for partition in range(PARTITIONS)
            for _, _, value in expected(VIEWS[view], self.made if made is None else made, partition)
        )


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


@pytest.fixture(scope="module")
def world(broker: Broker) -> World:
    made = make_flights(broker, "spark-flights", count=4_000, partitions=PARTITIONS)
    return World(made, make_views(broker, "spark-flights"))


def test_a_batch_read_of_each_view_returns_what_it_shows(spark: Any, broker: Broker, world: World) -> None:
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": ",".join(world.topics.values())}
    rows = spark.read.format("kafka").options(**options).load()
    found: dict[str, list[str]] = {}
    for row in rows.selectExpr("topic", "cast(value as string) as value").collect():
        found.setdefault(row.topic, []).append(row.value)
    for view, name in world.topics.items():
        assert sorted(found.get(name, [])) == world.values(view), view


@pytest.mark.parametrize("view", ["late", "nothing", "head"])
def test_a_stream_catches_up_with_a_view_and_goes_on_after_a_restart(
    spark: Any, broker: Broker, world: World, tmp_path: Path, view: str
) -> None:
    source = f"spark-stream-{view}"
    first = make_flights(broker, source, count=600, partitions=PARTITIONS)
    name = make_views(broker, source)[view]
    options = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "subscribe": name,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "400",
    }

    def landed_now() -> list[str]:
        rows = spark.readStream.format("kafka").options(**options).load()
        run_available(rows.selectExpr("cast(value as string) as value"), tmp_path)
        return sorted(
            row.value for row in spark.read.schema("value string").parquet(str(tmp_path / "rows")).collect()
        )

    assert landed_now() == world.values(view, first)
    assert landed_now() == world.values(view, first)
    more = [flight for flight in flights(1_000, PARTITIONS) if flight.id >= 600]
    add_flights(broker, source, more)
    assert landed_now() == world.values(view, first + more)
