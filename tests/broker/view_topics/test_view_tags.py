"""Views over the same columns of a partition share its tags, as long as one of them exists."""

from __future__ import annotations

import gc

from broker.view_topics.query_view import QueryPartition
from broker.view_topics.view_slices import SliceBudget
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, send
from tests.broker.views import make_view, read_all, step, view_of

CITIES = ("Porto", "Faro")


def meters(gateway: Gateway) -> Client:
    client = gateway.client()
    create(client, "meters", 2, kawal_columns="v int, city varchar(20) tag")
    for city in CITIES:
        make_view(client, city, f"STABLE meters WHERE city = '{city}'")
    make_view(client, "values", "SELECT city, v FROM meters WHERE v > 0")
    return client


def tags_of(gateway: Gateway, name: str, index: int = 0) -> object:
    view = gateway.partition(name, index)
    assert isinstance(view, QueryPartition)
    assert view.evaluator.plan.uses
    return view._tags


def test_views_of_the_same_columns_share_what_they_know_of_a_partition() -> None:
    gateway = Gateway()
    client = meters(gateway)
    assert tags_of(gateway, "Porto") is tags_of(gateway, "Faro")
    assert tags_of(gateway, "Porto") is not tags_of(gateway, "Porto", 1)
    assert tags_of(gateway, "Porto") is not tags_of(gateway, "values"), "an odd v teaches one of them only"
    assert len(gateway.broker.views.tags) == 3
    for name in (*CITIES, "values"):
        gateway.broker.delete_topic(gateway.broker.find_topic(name), gateway.now_ms)
    gateway.settle()
    client.close()
    gc.collect()
    assert len(gateway.broker.views.tags) == 0


def test_a_second_view_begins_where_it_is_asked_to_and_knows_what_came_before() -> None:
    gateway = Gateway()
    client = meters(gateway)
    send(client, "meters", batch(b'{"city":"Porto"}', key=b"p"))
    send(client, "meters", batch(b'{"city":"Faro"}', key=b"f"))
    for _ in range(50):
        send(client, "meters", batch(b"{}", key=b"f"))
    assert len(read_all(client, "Porto")) == 1
    assert [record.offset for record in read_all(client, "Faro", offset=40)] == list(range(40, 52))
    counted = gateway.broker.views.counters_of(gateway.broker.find_topic("Faro"))
    assert counted.scanned == 12, "what is known was not learned once more"


def test_two_views_at_one_long_batch_do_not_see_what_the_other_learns() -> None:
    gateway = Gateway()
    client = meters(gateway)
    records = [Record(number, START_MS, b"m", b"{}") for number in range(7_000)]
    records[3_000] = Record(3_000, START_MS, b"m", b'{"city":"Porto"}')
    records[6_000] = Record(6_000, START_MS, b"m", b'{"city":"Faro"}')
    send(client, "meters", encode_batch(records))
    views = [view_of(gateway, city) for city in CITIES]
    looks = []
    for view in views:
        assert view.evaluator.plan.uses
        looks.append(view.look(0, SliceBudget()))
    while looks:
        for look in tuple(looks):
            try:
                step(look)
            except StopIteration:
                looks.remove(look)
    shown = {city: [record.offset for record in read_all(client, city)] for city in CITIES}
    assert shown == {"Porto": list(range(3_000, 6_000)), "Faro": list(range(6_000, 7_000))}
