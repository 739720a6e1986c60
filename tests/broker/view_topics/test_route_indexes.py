"""Indexes of routes keep little of the views that made them, and nothing once these are gone."""

from __future__ import annotations

from broker.view_topics.route_indexes import RouteIndexes
from broker.view_topics.view_routing import ROUTE_SIZE_MAX, ROUTE_TEXT_MAX
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, fetch, send
from tests.broker.routed_views import VIEWS, ids, row, views_over
from tests.broker.views import make_view


def test_with_the_last_view_of_a_route_its_expression_is_forgotten() -> None:
    gateway = Gateway()
    client = views_over(gateway)
    send(client, "t", batch(*map(row, range(VIEWS))))
    assert ids(client, "v1") == [1]
    indexes = gateway.broker.views.shared(RouteIndexes)
    assert (len(indexes.indexes), len(indexes.routers), len(indexes._numbers)) == (1, 1, 1)
    for number in range(VIEWS):
        gateway.broker.delete_topic(gateway.broker.find_topic(f"v{number}"), gateway.now_ms)
        gateway.settle()
        assert len(indexes._numbers) == (number < VIEWS - 1)
    assert (indexes.indexes, indexes.routers, indexes._numbers) == ({}, {}, {})


def test_an_expression_that_is_forgotten_gets_another_number() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t", kawal_columns="id bigint")
    numbers = []
    for _ in range(2):
        make_view(client, "v", "SELECT id FROM t WHERE id = 1")
        fetch(client, "v")
        ((_, number),) = gateway.broker.views.shared(RouteIndexes).indexes
        numbers.append(number)
        gateway.broker.delete_topic(gateway.broker.find_topic("v"), gateway.now_ms)
        gateway.settle()
    assert numbers == [0, 1]


def test_an_index_keeps_nothing_of_the_statement_of_its_first_view() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t", kawal_columns="id bigint, a string")
    make_view(client, "v", f"SELECT id FROM t WHERE id = 1 AND a <> '{'x' * 10_000}'")
    fetch(client, "v")
    (index,) = gateway.broker.views.shared(RouteIndexes).indexes.values()
    plan, _ = index._router.args  # type: ignore[attr-defined]
    assert (len(plan.statement.text), [column.name for column in plan.uses]) == (19, ["id"])


def test_expressions_that_take_much_memory_are_no_routes() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t", kawal_columns="id bigint, a string")
    long_sum = " + ".join(["id"] * ROUTE_SIZE_MAX)
    make_view(client, "sum", f"SELECT id FROM t WHERE {long_sum} = {ROUTE_SIZE_MAX}")
    make_view(client, "text", f"SELECT id FROM t WHERE REPLACE(a, '{'x' * (ROUTE_TEXT_MAX + 1)}', '') = 'b'")
    send(client, "t", batch(b'{"id":1,"a":"b"}'))
    assert (ids(client, "sum"), ids(client, "text")) == ([1], [1])
    assert gateway.broker.views.shared(RouteIndexes).indexes == {}
