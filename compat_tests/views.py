"""A topic of flights and views over it, with what each of them must show.

flights    id, carrier, delay, and a few hundred bytes that no view selects
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.times import START_MS
from compat_tests.topics import create_topic

COLUMNS = "id bigint, carrier varchar(8), delay int, remark varchar(1000)"
CARRIERS = ("AA", "BA", "DL", "LH", "TP")
REMARK = "x" * 300


class Flight(NamedTuple):
    """One record of the source."""

    partition: int
    offset: int
    id: int
    carrier: str
    delay: int

    @property
    def key(self) -> str:
        """The record's key."""
        return self.carrier

    @property
    def timestamp(self) -> int:
        """The record's timestamp."""
        return START_MS + self.id

    @property
    def value(self) -> str:
        """The record's value."""
        return json.dumps(
            {"id": self.id, "carrier": self.carrier, "delay": self.delay, "remark": REMARK},
            separators=(",", ":"),
        )


@dataclass(frozen=True, kw_only=True)
class View:
    """A view: its definition over `{source}`, and what it shows of each flight (None: nothing)."""

    sql: str
    shows: Callable[[Flight], str | None]


def _late(flight: Flight) -> str | None:
    if flight.delay <= 90:
        return None
    return json.dumps({"id": flight.id, "carrier": flight.carrier}, separators=(",", ":"))


VIEWS: dict[str, View] = {
    "everything": View(sql="SELECT * FROM {source}", shows=lambda flight: flight.value),
    "late": View(sql="SELECT id, carrier FROM {source} WHERE delay > 90", shows=_late),
    "nothing": View(sql="SELECT id FROM {source} WHERE delay > 1000000", shows=lambda _: None),
    "one": View(
        sql="SELECT id FROM {source} WHERE id = 1234",
        shows=lambda flight: '{"id":1234}' if flight.id == 1234 else None,
    ),
    "head": View(
        sql="SELECT * FROM {source} WHERE id < 100",
        shows=lambda flight: flight.value if flight.id < 100 else None,
    ),
    "keyed": View(
        sql="STABLE {source} WHERE tbname = 'TP'",
        shows=lambda flight: flight.value if flight.carrier == "TP" else None,
    ),
}
"""All records, some with other values, none, one, none at the end, and those of one key."""


def flights(count: int, partitions: int) -> list[Flight]:
    """Return the records of the source, in order of id."""
    return [
        Flight(
            number % partitions,
            number // partitions,
            number,
            CARRIERS[number // partitions % len(CARRIERS)],
            number * 7919 % 100,
        )
        for number in range(count)
    ]


def make_flights(broker: Broker, name: str, *, count: int, partitions: int) -> list[Flight]:
    """Create the source with its records."""
    create_topic(broker, name, partitions, {"kawal.columns": COLUMNS})
    made = flights(count, partitions)
    add_flights(broker, name, made)
    return made


def add_flights(broker: Broker, name: str, made: list[Flight]) -> None:
    """Produce these records, in batches of some hundred."""
    producer = make_producer(broker, linger_ms=20, batch_num_messages=250)
    for flight in made:
        producer.produce(
            name,
            flight.value.encode(),
            flight.key.encode(),
            partition=flight.partition,
            timestamp=flight.timestamp,
            headers=[("id", str(flight.id).encode())],
        )
        producer.poll(0)
    assert producer.flush(60) == 0


def make_view(broker: Broker, name: str, sql: str, *, partitions: int = -1) -> str:
    """Create a view as any admin client does."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
    new = NewTopic(name, num_partitions=partitions, replication_factor=-1, config={"kawal.sql": sql})
    admin.create_topics([new])[name].result(timeout=60)
    return name


def make_views(broker: Broker, source: str) -> dict[str, str]:
    """Create all `VIEWS` over the source; return their topics' names."""
    return {
        name: make_view(broker, f"{source}-{name}", view.sql.format(source=f"`{source}`"))
        for name, view in VIEWS.items()
    }


def expected(view: View, made: list[Flight], partition: int) -> list[tuple[int, str, str]]:
    """Return (offset, key, value) of what the view shows of a partition."""
    return [
        (flight.offset, flight.key, shown)
        for flight in made
        if flight.partition == partition and (shown := view.shows(flight)) is not None
    ]


def admin_client(broker: Broker) -> Any:
    """Return an admin client of librdkafka."""
    return AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
