"""Views show decided records: none of open and aborted transactions, and those that compaction kept."""

from __future__ import annotations

import pytest

from protocol.messages.fetch import FetchResponse
from tests.broker.compacted import SMALL, fill, pairs_of, pass_time, put
from tests.broker.databases import create_database
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, fetch, fetched, fetching, offset_of, send, values
from tests.broker.transactions import end, transactional
from tests.broker.views import PLACE, make_view, read_all

VIEWS = {
    "query": "SELECT v FROM t WHERE v > 0",
    "whole": "SELECT * FROM t WHERE v > 0",
    "stable": "STABLE t",
    "tagged": "SELECT v, place FROM t WHERE v > 0",
    "changes": "WITH META AS STABLE t",
    "all": "DATABASE d",
}


def opened() -> tuple[Gateway, Client]:
    gateway = Gateway()
    client = gateway.client()
    create_database(client, "d", vnodes="1")
    create(client, "t", 1, **{PLACE: "d", "kawal.columns": "v int, place string tag"})
    for name, sql in VIEWS.items():
        make_view(client, name, sql)
    create(client, "alias", -1, **{"kawal.alias.of": "t"})
    create(client, "bounded", -1, **{"kawal.alias.of": "t", "kawal.from": "offset 0"})
    return gateway, client


def shown(client: Client, name: str) -> list[int]:
    """Return the numbers that a view shows, without changes, and without markers, which all clients skip."""
    found = [record.value or b"" for record in read_all(client, name)]
    return [int(value[5:-1]) for value in found if value.startswith(b'{"v":')]


NAMES = [*VIEWS, "alias", "bounded"]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "tagged"])
def test_open_and_aborted_transactions_are_not_shown(name: str) -> None:
    gateway, client = opened()
    send(client, "t", batch(b'{"v":1}'))
    transactional(gateway, b'{"v":2}', 1)
    send(client, "t", batch(b'{"v":3}'))
    assert shown(client, name) == [1]
    data = fetch(client, name)
    assert data.high_watermark == data.last_stable_offset
    end(gateway, 1, commit=True)
    assert shown(client, name) == [1, 2, 3]
    transactional(gateway, b'{"v":4}', 2)
    send(client, "t", batch(b'{"v":5}'))
    assert shown(client, name) == [1, 2, 3]
    end(gateway, 2, commit=False)
    for _ in range(2):
        assert shown(client, name) == [1, 2, 3, 5]
        gateway.restart()
        client = gateway.client()


@pytest.mark.parametrize("name", ["query", "stable", "changes", "all", "alias"])
def test_who_waits_is_woken_when_the_transaction_is_decided(name: str) -> None:
    gateway, client = opened()
    end_offset = fetch(client, name).high_watermark
    waiting = gateway.client()
    waiting.send(fetching({(name, 0): end_offset}, max_wait_ms=60_000), 12)
    gateway.settle()
    transactional(gateway, b'{"v":2}', 1)
    assert waiting.answers() == []
    end(gateway, 1, commit=True)
    (answer,) = waiting.answers()
    assert isinstance(answer, FetchResponse)
    assert values(fetched(answer)[name, 0].records)[0] == b'{"v":2}'


def test_aborted_records_teach_no_tags() -> None:
    gateway, client = opened()
    send(client, "t", batch(b'{"v":1,"place":"here"}', key=b"k"))
    transactional(gateway, b'{"v":2,"place":"nowhere"}', 1)
    end(gateway, 1, commit=False)
    send(client, "t", batch(b'{"v":3}', key=b"k"))
    assert [record.value for record in read_all(client, "tagged")] == [
        b'{"v":1,"place":"here"}',
        b'{"v":3,"place":"here"}',
    ]


def test_the_newest_record_of_a_database_is_one_that_is_decided() -> None:
    gateway, client = opened()
    send(client, "t", batch(b'{"v":1}', timestamp_ms=START_MS + 5))
    (first,) = read_all(client, "all")
    transactional(gateway, b'{"v":2}', 1, START_MS + 9)
    for _ in range(2):
        newest = offset_of(client, "all", -3)
        assert (newest.offset, newest.timestamp) == (first.offset, START_MS + 5)
        end(gateway, 1, commit=False)


@pytest.mark.parametrize("name", ["query", "whole", "stable", "alias"])
def test_what_compaction_leaves_is_shown(name: str) -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t", 1, **{**SMALL, "kawal_columns": "v int, filler string"})
    for view, sql in VIEWS.items():
        if view in ("query", "whole", "stable"):
            make_view(client, view, sql)
    create(client, "alias", -1, **{"kawal.alias.of": "t"})
    for turn in range(1, 4):
        put(client, "t", [(b"k%d" % number, b'{"v":%d}' % turn) for number in range(5)])
        before = [record.offset for record in read_all(client, name)]
        assert len(before) >= 5 * turn
    fill(client, "t")
    pass_time(gateway)
    kept = [(offset, value) for offset, _, value in pairs_of(client, "t")]
    assert [offset for offset, _ in kept] == list(range(10, 15))
    gateway.restart()
    client = gateway.client()
    for begin in (0, 3, 12):
        found = read_all(client, name, offset=begin)
        assert [(record.offset, record.value) for record in found if record.key != b"filler"] == [
            entry for entry in kept if entry[0] >= begin
        ]
