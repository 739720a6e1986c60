"""Compaction reaches what views remember: what it has erased is shown by none, whatever was read before."""

from __future__ import annotations

import pytest

from broker.view_topics.route_index import TOGETHER_MIN
from broker.view_topics.view_slices import SliceBudget
from tests.broker.compacted import fill, made, pass_time, put
from tests.broker.databases import create_database
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, send
from tests.broker.views import PLACE, finished, make_view, read_all, step, view_of

COLUMNS = "v int, place string tag"
VIEWS = {
    "query": {"kawal.sql": "SELECT v FROM t WHERE v > 0"},
    "same": {"kawal.sql": "SELECT v FROM t WHERE v > 0"},
    "whole": {"kawal.sql": "SELECT * FROM t WHERE v > 0"},
    "stable": {"kawal.sql": "STABLE t"},
    "tagged": {"kawal.sql": "SELECT v, place FROM t WHERE v > 0"},
    "changes": {"kawal.sql": "WITH META AS STABLE t"},
    "some": {"kawal.sql": "WITH META AS STABLE t WHERE tbname LIKE 'k%'"},
    "unfit": {"kawal.sql": "UNFIT t"},
    "alias": {"kawal.alias.of": "t"},
    "window": {"kawal.alias.of": "t", "kawal.from": "offset 0"},
}


def opened() -> tuple[Gateway, Client]:
    """Make a topic that is soon compacted, and all kinds of views over it."""
    gateway = Gateway()
    client = gateway.client()
    create_database(client, "d", vnodes="1")
    made(client, **{PLACE: "d", "kawal_columns": COLUMNS})
    for name, configs in VIEWS.items():
        create(client, name, -1, **configs)
    return gateway, client


def shown(client: Client, name: str) -> list[tuple[bytes | None, bytes | None]]:
    """Return key and value of the records that a view shows, without fillers and changes."""
    return [(r.key, r.value) for r in read_all(client, name) if r.key not in (b"filler", b"t")]


def erase(gateway: Gateway, client: Client) -> None:
    """Write tombstones for k1, have the topic compacted, and let the tombstones go, too."""
    put(client, "t", [(b"k1", None)])
    fill(client, "t")
    pass_time(gateway)


@pytest.mark.parametrize("name", VIEWS)
def test_what_compaction_has_erased_is_no_longer_shown_from_memory(name: str) -> None:
    gateway, client = opened()
    value = b'{"v":%d}' if name != "unfit" else b'{"v":"%d"}'
    for turn in (1, 2):
        put(client, "t", [(b"k1", value % turn), (b"k2", value % (turn + 2))])
    before = shown(client, name)
    assert len(before) == 4
    erase(gateway, client)
    after = shown(client, name)
    gateway.restart()
    assert after == shown(gateway.client(), name)
    assert [key for key, content in after if content is not None] == [b"k2"]


def test_views_that_share_an_index_forget_what_compaction_has_erased() -> None:
    gateway, client = opened()
    for number in range(TOGETHER_MIN + 1):
        make_view(client, f"v{number}", f"SELECT v FROM t WHERE v = {number}")
        read_all(client, f"v{number}")
    for value in (1, 2, 3):
        put(client, "t", [(b"k1", b'{"v":%d}' % value), (b"k2", b'{"v":%d}' % (value + 3))])
    assert [len(shown(client, f"v{number}")) for number in range(1, 7)] == [1] * 6
    erase(gateway, client)
    assert [len(shown(client, f"v{number}")) for number in range(1, 7)] == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("name", ["changes", "some"])
def test_a_record_that_compaction_has_kept_is_shown_once_among_the_changes(name: str) -> None:
    gateway, client = opened()
    for turn in range(5):
        put(client, "t", [(b"k%d" % number, b'{"v":%d}' % turn) for number in range(turn, 5)])
    erase(gateway, client)
    for _ in range(2):
        found = [content for _, content in shown(client, name) if content is not None]
        assert found == [b'{"v":0}', b'{"v":2}', b'{"v":3}', b'{"v":4}']
        gateway.restart()
        client = gateway.client()


def test_the_bounds_of_a_window_are_looked_up_again_when_their_record_was_erased() -> None:
    gateway, client = opened()
    create(client, "late", -1, **{"kawal.alias.of": "t", "kawal.to": str(START_MS + 50)})
    put(client, "t", [(b"k1", b'{"v":1}')], START_MS)
    put(client, "t", [(b"k1", b'{"v":2}')], START_MS + 50)
    put(client, "t", [(b"k2", b'{"v":3}')], START_MS)
    assert [content for _, content in shown(client, "late")] == [b'{"v":1}']
    fill(client, "t", START_MS)
    put(client, "t", [(b"k1", b'{"v":4}')], START_MS + 90)
    fill(client, "t", START_MS + 100)
    pass_time(gateway)
    after = shown(client, "late")
    gateway.restart()
    assert after == shown(gateway.client(), "late") == [(b"k2", b'{"v":3}')]


def test_a_batch_that_is_replaced_while_it_is_evaluated_is_not_remembered() -> None:
    gateway = Gateway()
    client = gateway.client()
    made(client, kawal_columns=COLUMNS, internal_segment_bytes="200000")
    make_view(client, "query", "SELECT v FROM t WHERE v > 0")
    put(client, "t", [(b"k1", b'{"v":%d}' % number) for number in range(5_000)])
    view = view_of(gateway, "query")
    look = view.look(0, SliceBudget())
    step(look)
    assert len(view.ranges) == 0, "the batch takes more than one slice"
    erase_large(gateway, client, [b"k1"])
    finished(look)
    assert len(view.ranges) == 0
    assert shown(client, "query") == []


def test_a_database_forgets_what_was_in_a_segment_that_is_deleted_among_others() -> None:
    gateway = Gateway(kawal_segment_bytes=1 << 20, log_retention_check_interval_ms=1_000)
    client = gateway.client()
    create_database(client, "d", vnodes="1")
    create(client, "old", 1, **{PLACE: "d"})
    make_view(client, "all", "DATABASE d")
    send(client, "old", batch(b"kept for ever", key=b"pin"))
    made(client, internal_segment_bytes="200000", **{PLACE: "d"})
    keys = [b"k%d" % number for number in range(3)]
    for _ in range(20):
        put(client, "t", [(key, b"x" * 60_000) for key in keys])
    before = read_all(client, "all")
    erase_large(gateway, client, keys)
    pass_time(gateway, 10_000)
    after = read_all(client, "all")
    gateway.restart()
    assert after == read_all(gateway.client(), "all")
    assert after[0].key == before[0].key == b"pin"
    assert before[20] not in after, "its segment lies between others, and is deleted"


def erase_large(gateway: Gateway, client: Client, keys: list[bytes]) -> None:
    """Do as `erase` in a topic of larger segments."""
    put(client, "t", [(key, None) for key in keys])
    for number in range(2):
        put(client, "t", [(b"filler", b"%d" % number * 190_000)])
    pass_time(gateway)
