"""Every kind of view over the same flights, in a database of their own, and what each must show.

{d}.flights   2 partitions, records of compat_tests/views.py    {d}.gone   made, and deleted again
{d}.hay       100,000 small records, in another database
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka.admin import NewTopic

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, produce
from compat_tests.test_console import kawal
from compat_tests.times import START_MS
from compat_tests.topics import create_topic, delete_topic
from compat_tests.views import COLUMNS, VIEWS, Flight, add_flights, admin_client, flights

PARTITIONS: Final = 2
COUNT: Final = 2_000
HAY: Final = 100_000
NEEDLE: Final = 77_777

Told = tuple[int, int, str | None, str]
"""Partition and offset of a record in its topic, key, value; a change of a topic is (-1, -1, topic, type)."""


def everything(flight: Flight) -> str | None:
    """Return a flight's own value."""
    return flight.value


@dataclass(frozen=True, kw_only=True)
class KindOfView:
    """A kind of view: its definition, and what it shows of each flight."""

    configs: Mapping[str, str]
    """`{s}` is the source, `{d}` its database, `{h}` the hay."""
    shows: Callable[[Flight], str | None] = field(default=everything)
    is_database: bool = False
    """Whether all flights, those of both their partitions, are on its one partition."""
    changes: tuple[tuple[str, str], ...] = ()
    """The changes of topics, as each partition tells them: topic and type."""
    begin: int = 0
    """The first offset of each partition."""


def _between(flight: Flight) -> str | None:
    return flight.value if 200 <= flight.id < 400 else None


def _nothing(_: Flight) -> str | None:
    return None


def _query(name: str) -> KindOfView:
    return KindOfView(configs={"kawal.sql": VIEWS[name].sql.format(source="`{s}`")}, shows=VIEWS[name].shows)


_ALL_CHANGES: Final = (("flights", "create"), ("gone", "create"), ("gone", "drop"))

KINDS: Final[dict[str, KindOfView]] = {
    "everything": _query("everything"),
    "late": _query("late"),
    "nothing": _query("nothing"),
    "head": _query("head"),
    "needle": KindOfView(configs={"kawal.sql": f"SELECT n FROM `{{h}}` WHERE n = {NEEDLE}"}, shows=_nothing),
    "keyed": _query("keyed"),
    "keyed_meta": KindOfView(
        configs={"kawal.sql": "WITH META AS STABLE `{s}` WHERE tbname = 'TP'"},
        shows=VIEWS["keyed"].shows,
        changes=_ALL_CHANGES[:1],
    ),
    "database": KindOfView(configs={"kawal.sql": "DATABASE {d}"}, is_database=True),
    "database_meta": KindOfView(
        configs={"kawal.sql": "WITH META AS DATABASE {d}"}, is_database=True, changes=_ALL_CHANGES
    ),
    "only_meta": KindOfView(
        configs={"kawal.sql": "ONLY META AS DATABASE {d}"},
        shows=_nothing,
        is_database=True,
        changes=_ALL_CHANGES,
    ),
    "alias": KindOfView(configs={"kawal.alias.of": "{s}"}),
    "window": KindOfView(
        configs={
            "kawal.alias.of": "{s}",
            "kawal.from": str(START_MS + 200),
            "kawal.to": str(START_MS + 400),
        },
        shows=_between,
        begin=100,
    ),
    "replay": KindOfView(configs={"kawal.alias.of": "{s}", "kawal.replay.speed": "10"}),
}
"""Views of all, some, one in 100,000 and no records, with a tail left out, over keys, over all topics,
with changes, by another name, between two times, and at a pace (2 s of flights in 0.2 s)."""

TO_THE_END: Final = ("everything", "late", "nothing", "head", "needle")
"""Some clients know the end of a partition only by seconds of silence: these views tell the most."""


class Kinds:
    """A database with flights and a view of each kind, on one broker."""

    def __init__(self, broker: Broker, name: str, *, count: int = COUNT) -> None:
        """Create all of it; `name` is the database's."""
        self.broker = broker
        self.name = name
        self.source = f"{name}.flights"
        kawal(broker, "databases create", name, "--vnodes", "1")
        configs = {"kawal.database": name, "kawal.columns": COLUMNS}
        create_topic(broker, self.source, PARTITIONS, configs)
        self.made = flights(count, PARTITIONS)
        add_flights(broker, self.source, self.made[: count // 2])
        # What a deleted topic leaves is a gap.
        create_topic(broker, f"{name}.gone", 1, {"kawal.database": name})
        produce(make_producer(broker), f"{name}.gone", [b"gone"] * 10)
        delete_topic(broker, f"{name}.gone")
        add_flights(broker, self.source, self.made[count // 2 :])
        create_topic(broker, f"{name}.hay", 1, {"kawal.columns": "n bigint"})
        hay = make_producer(broker, compression_type="lz4", linger_ms=50)
        produce(hay, f"{name}.hay", [b'{"n":%d}' % number for number in range(HAY)])
        self._make_views()

    def _make_views(self) -> None:
        names = {"s": self.source, "d": self.name, "h": f"{self.name}.hay"}
        wanted = [
            NewTopic(
                self.topic(kind),
                num_partitions=-1,
                replication_factor=-1,
                config={key: text.format(**names) for key, text in KINDS[kind].configs.items()},
            )
            for kind in KINDS
        ]
        # Kept until the answers are here.
        admin = admin_client(self.broker)
        for future in admin.create_topics(wanted).values():
            future.result(timeout=60)

    def topic(self, kind: str) -> str:
        """Return the name of the view of a kind."""
        return f"{self.name}.view.{kind}"

    def partitions(self, kind: str) -> int:
        """Return how many partitions it has."""
        return 1 if KINDS[kind].is_database or kind == "needle" else PARTITIONS

    def shown(self, kind: str, partition: int | None = None) -> list[Told]:
        """Return all that the view shows, or on one of its partitions, in order of `Told`."""
        if kind == "needle":
            return [(0, NEEDLE, None, f'{{"n":{NEEDLE}}}')]
        view = KINDS[kind]
        places = range(self.partitions(kind)) if partition is None else [partition]
        told: list[Told] = [
            (-1, -1, f"{self.name}.{topic}", change) for _ in places for topic, change in view.changes
        ]
        told += [
            (flight.partition, flight.offset, flight.key, shown)
            for flight in self.made
            if (view.is_database or flight.partition in places) and (shown := view.shows(flight)) is not None
        ]
        return sorted(told, key=_order)


def told(
    partition: int, offset: int, key: str | None, value: str, headers: Iterable[tuple[str, str]]
) -> Told:
    """Return a record as `Kinds.shown` has it."""
    named = dict(headers)
    if named.get("kawal.kind") == "meta":
        return -1, -1, key, json.loads(value)["type"]
    return int(named.get("kawal.partition", partition)), int(named.get("kawal.offset", offset)), key, value


def in_order(records: Iterable[Told]) -> list[Told]:
    """Return records sorted as `Kinds.shown` has them."""
    return sorted(records, key=_order)


def _order(one: Told) -> tuple[Any, ...]:
    return one[0], one[1], one[2] or "", one[3]
