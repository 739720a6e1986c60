"""Many views that share an index show the same records as each would on its own."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from broker.view_topics.route_indexes import RouteIndexes
from broker.view_topics.view_routing import route_of
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, fetch, fetched, fetching, records_of, send, values
from views.columns import parse_columns
from views.plan import plan_view
from views.statement import parse_view

COLUMNS = "id bigint, delay int, carrier varchar(8), price double, place varchar(9) tag"
VIEWS = 12


def route(where: str) -> Any:
    plan = plan_view(parse_view(f"SELECT id FROM t WHERE {where}"), parse_columns(COLUMNS))
    found = route_of(plan, lambda _: 7)
    return None if found is None else found.value


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("carrier = 'AA'", "AA"),
        ("'AA' = carrier", "AA"),
        ("delay > 5 AND id % 10 = 3 AND carrier = 'AA'", 3),
        ("tbname = 'k'", "k"),
        ("header('h') = 'x'", "x"),
        ("delay > 5", None),
        ("carrier = 'AA' OR delay = 1", None),
        ("NOT carrier = 'AA'", None),
        ("price = 1.5", None),
        ("price = 1", None),
        ("id = delay", None),
        ("carrier = NULL", None),
        ("place = 'x' AND carrier = 'AA'", None),
    ],
)
def test_a_route_is_an_equality_that_every_record_must_fulfil(where: str, value: object) -> None:
    assert route(where) == value


def waiting(gateway: Gateway, statements: list[str]) -> list[Client]:
    """Return a client for each view, which waits at its end."""
    clients = []
    for number, sql in enumerate(statements):
        client = gateway.client()
        create(client, f"v{number}", partitions=-1, kawal_sql=sql)
        client.send(fetching({(f"v{number}", 0): 0}, max_wait_ms=10_000), 12)
        clients.append(client)
    gateway.settle()
    return clients


def answered(client: Client, view: str) -> list[tuple[int, bytes]]:
    """Return (offset, value) of the records in the answer of a fetch, if there is one."""
    found: list[tuple[int, bytes]] = []
    for answer in client.answers():
        for record in records_of(fetched(answer)[view, 0].records):
            found.append((record.offset, record.value or b""))
    return found


def test_each_is_woken_by_its_own_records_and_all_of_them_are_looked_at_once() -> None:
    gateway = Gateway()
    producer = gateway.client()
    create(producer, "t", kawal_columns=COLUMNS)
    clients = waiting(gateway, [f"SELECT id FROM t WHERE delay > 5 AND id = {n}" for n in range(VIEWS)])
    made = [b'{"id":3,"delay":9}', b'{"id":4,"delay":1}', b"no JSON", b'{"id":99,"delay":9}', b'{"delay":9}']
    send(producer, "t", batch(*made))
    gateway.settle()
    shown = {n: answered(client, f"v{n}") for n, client in enumerate(clients)}
    assert {n: rows for n, rows in shown.items() if rows} == {3: [(0, b'{"id":3}')]}
    views = gateway.broker.views
    counters = [views.counters_of(gateway.broker.find_topic(f"v{n}")) for n in (3, 4, 5)]
    assert [(counts.scanned, counts.matched, counts.unfit) for counts in counters] == [
        (5, 1, 1),
        (5, 0, 1),
        (5, 0, 1),
    ]
    assert len(views.shared(RouteIndexes).routers) == 1


@pytest.mark.parametrize("seed", range(6))
def test_together_they_show_what_each_shows_alone(seed: int) -> None:
    chance = Random(seed)
    gateway = Gateway()
    producer = gateway.client()
    kind = "LogAppendTime" if seed % 2 else "CreateTime"
    create(producer, "t", kawal_columns=COLUMNS, message_timestamp_type=kind)
    sql = "SELECT id, delay, _rowts FROM t WHERE carrier = 'C{0}' AND delay > {0}"
    statements = [sql.format(number) for number in range(VIEWS)]
    clients = waiting(gateway, statements)
    live: list[list[tuple[int, bytes]]] = [[] for _ in clients]
    positions = [0] * VIEWS
    for number in range(20):
        rows = [
            {"id": id_, "delay": chance.randrange(20), "carrier": f"C{chance.randrange(VIEWS + 3)}"}
            for id_ in range(chance.randrange(1, 30))
        ]
        send(
            producer, "t", batch(*(json.dumps(row).encode() for row in rows), timestamp_ms=START_MS + number)
        )
        gateway.settle()
        for n, client in enumerate(clients):
            if chance.random() < 0.7:
                for record in answered(client, f"v{n}"):
                    live[n].append(record)
                    positions[n] = record[0] + 1
                if not client.connection.calls:
                    client.send(fetching({(f"v{n}", 0): positions[n]}, max_wait_ms=10_000), 12)
                    gateway.settle()
    for n, client in enumerate(clients):
        live[n] += answered(client, f"v{n}")
        tail = live[n][-1][0] + 1 if live[n] else 0
        rest = fetch(gateway.client(), f"v{n}", tail).records or b""
        live[n] += [(record.offset, record.value or b"") for record in records_of(rest)]
    gateway.restart()
    again = gateway.client()
    for n in range(VIEWS):
        alone = [(record.offset, record.value or b"") for record in records_of(fetch(again, f"v{n}").records)]
        assert live[n] == alone
        assert len(alone) == len(values(fetch(again, f"v{n}").records))
