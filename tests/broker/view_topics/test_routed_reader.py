"""A view reads through the index only records with its value, and skips the others without evaluation."""

from __future__ import annotations

from typing import Any

import pytest

from broker.loop.slices import WaitingSteps
from broker.view_topics.query_view import QueryPartition
from broker.view_topics.routed_reader import RoutedReader
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, send
from tests.broker.routed_views import ids, views_over
from views.evaluator import Evaluator
from views.filtering import Filtered

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


def seen(gateway: Gateway) -> list[list[int]]:
    return [ids(gateway.client(), f"v{number}") for number in range(VIEWS)]


def test_very_many_records_of_one_value_are_evaluated_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bug: a batch whose records all had one value was evaluated in one turn of the event loop."""
    gateway = Gateway(kawal_vnodes=1)
    client = views_over(gateway, VIEWS)
    send(client, "t", batch(*[b'{"id": 0}'] * 5_000, *[b'{"id": 1}'] * 3))
    filtered, pauses = QueryPartition.filtered, [0]

    def counting(view: QueryPartition, *arguments: Any) -> WaitingSteps:
        steps = filtered(view, *arguments)
        while True:
            try:
                pause = next(steps)
            except StopIteration as end:
                return end.value
            pauses[0] += 1
            yield pause

    def only_few(view: QueryPartition, records: memoryview) -> Filtered | None:
        made = now(view, records)
        assert made is None or made.scanned <= view.evaluator.first_records
        return made

    now = QueryPartition.filtered_now
    monkeypatch.setattr(QueryPartition, "filtered", counting)
    monkeypatch.setattr(QueryPartition, "filtered_now", only_few)
    assert [len(found) for found in seen(gateway)[:3]] == [5_000, 3, 0]
    assert pauses[0] > 3


def test_records_whose_pattern_may_take_long_are_evaluated_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bug: to read a view that shares an index was an error of our own, which closed the connection."""
    gateway = routed()
    monkeypatch.setattr(Evaluator, "may_be_slow", lambda _evaluator, _size_bytes: True)
    assert [len(found) for found in seen(gateway)[:4]] == [10, 10, 10, 0]


def test_what_was_evaluated_while_the_source_was_compacted_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway = Gateway(kawal_vnodes=1)
    client = views_over(gateway, VIEWS)
    send(client, "t", batch(*[b'{"id": 0}'] * 5_000))
    assert ids(client, "v1") == [], "the index is made"
    view, reader = readers(gateway)[0]
    found = reader.index.find(0)
    assert found is not None
    first = found.first(0, 0)
    assert first is not None
    passes = iter((1, 2))
    monkeypatch.setattr(type(reader.index), "compaction", property(lambda _index: next(passes)))
    steps = reader._show(first)
    assert list(steps), "it takes several slices"
    assert view.ranges.find(0) is None
