"""A view reads through the index only records with its value, and skips the others without evaluation."""

from __future__ import annotations

from broker.view_topics.query_view import QueryPartition
from broker.view_topics.routed_reader import RoutedReader
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, send
from tests.broker.routed_views import ids, views_over

VIEWS = 9


def readers(gateway: Gateway) -> list[tuple[QueryPartition, RoutedReader]]:
    found = []
    for number in range(VIEWS):
        partition = gateway.partition(f"v{number}")
        assert isinstance(partition, QueryPartition)
        assert partition.routed is not None
        found.append((partition, partition.routed))
    return found


def routed() -> Gateway:
    gateway = Gateway(kawal_vnodes=1)
    client = views_over(gateway, VIEWS)
    send(client, "t", batch(*(b'{"id": %d}' % (number % 3) for number in range(30))))
    return gateway


def test_what_one_reader_has_looked_at_the_others_know() -> None:
    gateway = routed()
    assert ids(gateway.client(), "v0") == [0] * 10
    (_, first), (_, second), *_ = readers(gateway)
    assert first.is_shared
    assert second.knows(0)
    assert not second.knows(30)


def test_a_value_that_does_not_occur_is_recalled_as_nothing() -> None:
    gateway = routed()
    client = gateway.client()
    assert ids(client, "v0") == [0] * 10
    view, reader = readers(gateway)[8]
    found = reader.recalled(0)
    assert found is not None
    assert (found.start, found.end, found.batch) == (0, 30, None)
    assert (view.counters.scanned, view.counters.matched) == (30, 0)


def test_a_reader_that_closes_takes_no_part_any_more() -> None:
    gateway = routed()
    for _, reader in readers(gateway)[1:]:
        reader.close()
    (_, last), *_ = readers(gateway)[:1]
    assert not last.is_shared
    assert last.recalled(0) is None
