"""The ledgers of a node's partitions in the order of their changes: none is left out."""

from __future__ import annotations

import pytest

from broker.upkeep import own_ledgers
from broker.upkeep.own_ledgers import Changed, changed_ledgers
from tests.broker.gateway import Client, Gateway
from tests.broker.identified import identified
from tests.broker.kit import batch, send


def changed(gateway: Gateway, after: int = 0, *, between: list[int] | None = None) -> Changed:
    """Return what has changed; partitions are written to `between` two steps."""
    steps = changed_ledgers(gateway.broker, gateway.broker.vnodes, after)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Changed = end.value
            return found
        if between:
            send(gateway.client(), "t", batch(b"x"), partition=between.pop(0))


def places(found: Changed) -> list[int]:
    return [partition.partition for partition in found.partitions]


def test_partitions_come_in_the_order_of_their_changes_and_not_again(
    gateway: Gateway, client: Client
) -> None:
    identified(client, entries=1, partitions=4)
    for index in (2, 0, 3):
        send(client, "t", batch(b"x"), partition=index)
    first = changed(gateway)
    assert (places(first), first.has_more) == ([2, 0, 3], False)
    assert places(changed(gateway, first.next_after)) == []
    send(client, "t", batch(b"x"), partition=0)
    second = changed(gateway, first.next_after)
    assert places(second) == [0]
    assert [span.ledger_id for span in second.partitions[0].spans] == [0, 1]


def test_what_changes_while_it_is_looked_for_comes_with_the_next_answer(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_ledgers, "PLAIN_ITEMS_PER_STEP", 1)
    identified(client, entries=1, partitions=4)
    for index in range(4):
        send(client, "t", batch(b"x"), partition=index)
    # One after it was looked at, and one before.
    first = changed(gateway, between=[0, 3])
    second = changed(gateway, first.next_after)
    assert (places(first), places(second)) == ([0, 1, 2], [0, 3])


def test_answers_are_bounded_and_say_that_there_is_more(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    identified(client, entries=1, partitions=5)
    for index in range(5):
        for _ in range(2):
            send(client, "t", batch(b"x"), partition=index)
    monkeypatch.setattr(own_ledgers, "PARTITIONS_PER_ANSWER", 2)
    found, after = list[list[int]](), 0
    while True:
        answer = changed(gateway, after)
        found.append(places(answer))
        after = answer.next_after
        if not answer.has_more:
            break
    assert found == [[0, 1], [2, 3], [4]]
    monkeypatch.setattr(own_ledgers, "SPANS_PER_ANSWER", 1)
    assert (places(changed(gateway)), changed(gateway).has_more) == ([0], True)
