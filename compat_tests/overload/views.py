"""Loads on views: what they read costs more than what they show."""

from __future__ import annotations

from compat_tests.batches import Batch
from compat_tests.hunt.records import record
from compat_tests.overload.load import (
    Target,
    create_topics,
    frame,
    load,
    produce_many,
    rounds,
    skip_answer,
)
from compat_tests.requests import fetch_request, produce_request
from protocol.compression import compress

BOMBS = 8
BOMB_RECORDS = 60_000
PADDING = 240
"""Spaces in each record: with them a batch of 60,000 records opens to 16 MiB."""

VIEWS = 30
READERS_OF_EACH = 2


def _bombs(target: Target) -> None:
    """Make a topic with batches that open to 16 MiB, and many views of it."""
    create_topics(target, ["bombs"], 1, {"kawal.columns": "id bigint"})
    for number in range(target.dose(VIEWS)):
        statement = f"SELECT id FROM bombs WHERE id % 1000 = {number}"
        create_topics(target, [f"bombs-{number}"], -1, {"kawal.sql": statement})
    create_topics(target, ["bombs-all"], -1, {"kawal.sql": "DATABASE default"})
    count = target.dose(BOMB_RECORDS)
    records = (record(at, 0, None, b'{"id":' + b" " * PADDING + b"%d}" % at) for at in range(count))
    batch = Batch(
        attributes=4, payload=compress(4, b"".join(records)), count=count, last_offset_delta=count - 1
    )
    wanted = target.dose(BOMBS)
    assert produce_many(target, [produce_request("bombs", batch)] * wanted) == wanted


@load("view-bombs", prepare=_bombs)
def view_bombs(target: Target) -> str:
    """60 fetches at a time read batches that open to 16 MiB through 30 views, and through one of all."""
    names = [f"bombs-{number}" for number in range(target.dose(VIEWS))] + ["bombs-all"]
    readers = [(target.client(), frame(fetch_request(name, 0, max_wait_ms=500), 11)) for name in names]
    answered = 0
    for _ in rounds(target):
        for client, data in readers:
            client.socket.sendall(data * READERS_OF_EACH)
        for client, _data in readers:
            for _again in range(READERS_OF_EACH):
                skip_answer(client)
                answered += 1
    return f"{answered} fetches"
