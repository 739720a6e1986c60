"""No fetch that waits for one of many views is forgotten, and no record is evaluated twice for them."""

from __future__ import annotations

import pytest

import views.router
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, fetched, fetching, records_of, send
from tests.broker.routed_views import VIEWS, counting, ids, row, views_over
from tests.broker.transactions import end, transactional
from tests.broker.views import make_view


def waits(gateway: Gateway, number: int, offset: int, max_wait_ms: int = 60_000) -> Client:
    client = gateway.client()
    client.send(fetching({(f"v{number}", 0): offset}, max_wait_ms=max_wait_ms), 12)
    gateway.settle()
    return client


def offsets(client: Client, number: int) -> list[int]:
    """Return the offsets of the records in all answers that have arrived."""
    return [
        record.offset
        for answer in client.answers()
        for record in records_of(fetched(answer)[f"v{number}", 0].records)
    ]


def test_who_comes_when_nobody_waits_is_told_of_what_has_just_been_written() -> None:
    gateway = Gateway()
    producer = views_over(gateway)
    send(producer, "t", batch(row(3)))
    assert offsets(waits(gateway, 3, 0), 3) == [0]


def test_after_a_time_without_readers_nothing_old_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Gateway()
    producer = views_over(gateway)
    for _ in range(3):
        send(producer, "t", batch(row(1), row(2)))
    gateway.advance(1_000)
    looked: list[int] = []
    monkeypatch.setattr(views.router, "route_steps", counting(looked))
    reader = waits(gateway, 2, 6)
    send(producer, "t", batch(row(2)))
    assert offsets(reader, 2) == [6]
    assert looked == [1]


def test_what_a_later_reader_knows_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Gateway()
    producer = views_over(gateway)
    for start in range(0, 60, 20):
        send(producer, "t", batch(*(row(number) for number in range(start, start + 20))))
    looked: list[int] = []
    monkeypatch.setattr(views.router, "route_steps", counting(looked))
    assert ids(producer, "v0", offset=40) == [48]
    assert ids(producer, "v0") == [0, 12, 24, 36, 48]
    assert sum(looked) == 60


def test_everybody_is_woken_by_what_came_during_a_rest() -> None:
    gateway = Gateway()
    producer = views_over(gateway)
    readers = [waits(gateway, number, 0) for number in range(6)]
    gateway.broker.views._rests_until_ms = gateway.now_ms + 100
    for number in range(6):
        # So large that each is read on its own.
        send(producer, "t", batch(row(number, 300_000)))
    assert [offsets(reader, number) for number, reader in enumerate(readers)] == [[]] * 6
    gateway.advance(100)
    assert [offsets(reader, number) for number, reader in enumerate(readers)] == [[at] for at in range(6)]


def test_of_transactions_only_what_is_committed_is_shown_and_wakes() -> None:
    gateway = Gateway()
    producer = views_over(gateway)
    reader = waits(gateway, 3, 0)
    transactional(gateway, row(3), 1)
    transactional(gateway, row(VIEWS + 3), 2)
    assert offsets(reader, 3) == []
    end(gateway, 1, commit=False)
    assert offsets(reader, 3) == []
    end(gateway, 2, commit=True)
    assert offsets(reader, 3) == [1]
    assert ids(producer, "v3") == [VIEWS + 3]


def test_views_with_bounds_share_an_index_and_are_woken_within_them() -> None:
    gateway = Gateway()
    producer = views_over(gateway)
    for number in range(3):
        bounds = {"kawal.from": "offset 1", "kawal.to": "offset 3"}
        make_view(producer, f"v{VIEWS + number}", f"SELECT id FROM t WHERE id % {VIEWS} = {number}", **bounds)
    send(producer, "t", batch(row(1)))
    reader = waits(gateway, VIEWS + 1, 1)
    send(producer, "t", batch(row(2)))
    send(producer, "t", batch(row(1)))
    assert offsets(reader, VIEWS + 1) == [2]
    send(producer, "t", batch(row(1)))
    assert ids(producer, f"v{VIEWS + 1}", offset=1) == [1]
    assert ids(producer, "v1") == [1, 1, 1]
