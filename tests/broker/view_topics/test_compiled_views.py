"""Compiled statements are kept within a budget; what was dropped is made again and shows the same."""

from __future__ import annotations

import pytest

from broker.loop.slices import WaitingSteps, run_here
from broker.view_topics.compiled_views import CompiledViews
from broker.view_topics.query_view import QueryPartition
from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.test_kawal_topics import reload
from tests.broker.kit import batch, create, fetch, fetched, fetching, send, values
from tests.broker.routed_views import ids, row, views_over
from tests.broker.views import finished, make_view, read_all, view_of
from tests.broker.wide_requests import Threads, let_work
from views.evaluator import Evaluator, build_evaluator
from views.plan import plan_view
from views.statement import parse_view

HARD = " OR ".join(f"_key MATCH 'a[ab]{{{number}}}c'" for number in range(20, 30))
"""Ten patterns: 2 MB by the estimate, so no two such views have room in the least memory, 1 MiB."""


def tight() -> Gateway:
    return Gateway(kawal_views_compiled_bytes=1 << 20)


def hard(client: Client, name: str, remainder: int) -> None:
    make_view(client, name, f"SELECT _offset FROM t WHERE _offset % 3 = {remainder} AND NOT ({HARD})")


def compiled(gateway: Gateway) -> CompiledViews:
    return gateway.broker.views.evaluators


def shown(client: Client, name: str) -> list[int]:
    return [record.offset for record in read_all(client, name)]


def simple() -> Evaluator:
    return build_evaluator(plan_view(parse_view("SELECT _offset FROM t"), None))


def kept(limit_bytes: int) -> CompiledViews:
    return CompiledViews(lambda: limit_bytes, lambda: run_here, lambda: None)


def made(views: CompiledViews, key: str, *, wanted: bool = True) -> WaitingSteps:
    return views.make(key, None, simple, lambda: wanted)


def test_the_one_used_longest_ago_is_dropped() -> None:
    size_bytes = simple().size_bytes
    views = kept(2 * size_bytes)
    for key in ("a", "b"):
        finished(made(views, key))
    assert views.find("a") is not None
    finished(made(views, "c"))
    assert [views.find(key) is not None for key in ("a", "b", "c")] == [True, False, True]
    assert (len(views), views.used_bytes) == (2, 2 * size_bytes)


def test_one_that_is_larger_than_the_budget_is_kept_alone() -> None:
    views = kept(1)
    for key in ("a", "b"):
        finished(made(views, key))
    assert (len(views), views.find("a"), views.find("b") is not None) == (1, None, True)


def test_one_that_is_in_use_is_found_though_it_was_dropped() -> None:
    views = kept(1)
    held = finished(made(views, "a"))
    finished(made(views, "b"))
    assert len(views) == 1
    assert views.find("a") is held
    assert finished(made(views, "a")) is held
    del held
    assert views.find("a") is None


def test_one_that_is_not_wanted_any_more_is_given_and_not_kept() -> None:
    views = kept(1 << 20)
    held = finished(made(views, "a", wanted=False))
    assert views.find("a") is held
    assert (len(views), views.used_bytes) == (0, 0)


def test_another_version_takes_the_place_of_the_one_before() -> None:
    views = kept(1 << 20)
    first = views.now("a", 1, simple, lambda: True)
    second = views.now("a", 2, simple, lambda: True)
    assert (views.find("a", 1), views.find("a", 2)) == (first, second)
    assert (len(views), views.used_bytes) == (1, second.size_bytes)
    views.drop("a")
    views.drop("a")
    assert (len(views), views.used_bytes) == (0, 0)


def test_what_many_ask_for_at_once_is_made_once() -> None:
    count = 0

    def counted() -> None:
        nonlocal count
        count += 1

    threads = Threads()
    views = CompiledViews(lambda: 1 << 20, lambda: threads.offload, counted)
    first, second = made(views, "a"), made(views, "a")
    resumed: list[str] = []
    making, waiting = next(first), next(second)
    assert making is not None
    assert waiting is not None
    making.start(lambda: resumed.append("first"))
    waiting.start(lambda: resumed.append("second"))
    for after in threads.take():
        after()
    assert resumed == ["first"]
    found = finished(first)
    assert resumed == ["first", "second"]
    assert finished(second) is found
    assert count == 1


def test_views_that_have_no_room_together_show_the_same_whenever_they_are_read() -> None:
    gateway = tight()
    client = gateway.client()
    create(client, "t")
    for number in range(3):
        hard(client, f"v{number}", number)
    for offset in range(12):
        send(client, "t", batch(b"x", key=b"k%d" % offset))
        for number in range(3):
            assert shown(client, f"v{number}") == list(range(number, offset + 1, 3))
    assert len(compiled(gateway)) == 1
    assert gateway.broker.views.compiled >= 30


def test_a_fetch_that_waits_for_a_view_that_was_dropped_is_woken_by_what_it_shows() -> None:
    gateway = tight()
    client, waiting = gateway.client(), gateway.client()
    create(client, "t")
    for number in range(2):
        hard(client, f"v{number}", number)
    send(client, "t", batch(b"x", key=b"k"))
    waiting.send(fetching({("v1", 0): 1}, max_wait_ms=1_000), 12)
    assert shown(client, "v0") == [0]
    assert compiled(gateway).find(gateway.broker.find_topic("v1").topic_id) is None
    send(client, "t", batch(b"y", key=b"k"))
    (answer,) = waiting.answers()
    assert values(fetched(answer)["v1", 0].records) == [b'{"_offset":1}']


def test_a_thread_makes_what_was_dropped_again_and_other_clients_are_served() -> None:
    gateway = tight()
    client = gateway.client()
    create(client, "t")
    for number in range(2):
        hard(client, f"v{number}", number)
        assert shown(client, f"v{number}") == []
    send(client, "t", batch(b"x", key=b"k"))
    assert shown(client, "v1") == []
    client.call(ApiVersionsRequest(), 2)
    threads = Threads()
    gateway.broker.scheduler.offload = threads.offload
    made_before = gateway.broker.views.compiled
    client.send(fetching({("v0", 0): 0}), 12)
    gateway.settle()
    assert client.answers() == []
    assert gateway.broker.views.compiled == made_before
    gateway.client().call(ApiVersionsRequest(), 2)
    let_work(gateway, threads)
    (answer,) = client.answers()
    assert values(fetched(answer)["v0", 0].records) == [b'{"_offset":0}']
    assert gateway.broker.views.compiled == made_before + 1


def test_a_view_that_is_dropped_while_it_looks_at_records_goes_on_with_what_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway = tight()
    client = gateway.client()
    create(client, "t")
    hard(client, "v0", 0)
    send(client, "t", batch(b"x", key=b"k"))
    send(client, "t", batch(b"y", key=b"k"))
    shown_of = QueryPartition._shown

    def dropping(self: QueryPartition, *arguments: object) -> WaitingSteps:
        compiled(gateway).drop(self.topic.topic_id)
        return shown_of(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(QueryPartition, "_shown", dropping)
    assert shown(client, "v0") == [0]
    assert gateway.broker.views.compiled <= 1


def test_what_keys_have_taught_outlives_the_compiled_view() -> None:
    gateway = tight()
    client = gateway.client()
    create(client, "t", kawal_columns="v int, city string tag")
    make_view(client, "cities", f"SELECT city, v FROM t WHERE city IS NOT NULL AND NOT ({HARD})")
    hard(client, "other", 1)
    send(client, "t", batch(b'{"v":1,"city":"Porto"}', key=b"k"))
    assert [record.value for record in read_all(client, "cities")] == [b'{"city":"Porto","v":1}']
    learned = view_of(gateway)._tags
    scanned = gateway.broker.views.counters_of(gateway.broker.find_topic("cities")).scanned
    send(client, "t", batch(b'{"v":2}', key=b"k"))
    assert shown(client, "other") == [1]
    assert compiled(gateway).find(gateway.broker.find_topic("cities").topic_id) is None
    assert values(fetch(client, "cities", 1).records) == [b'{"city":"Porto","v":2}']
    assert view_of(gateway)._tags is learned
    # The batch of the first record was not looked at again.
    assert gateway.broker.views.counters_of(gateway.broker.find_topic("cities")).scanned == scanned + 1


def test_views_that_share_an_index_are_made_again_one_by_one_and_show_their_values() -> None:
    gateway = tight()
    client = views_over(gateway, 12)
    for at in range(0, 60, 10):
        send(client, "t", batch(*map(row, range(at, at + 10))))
        for number in range(12):
            compiled(gateway).drop(gateway.broker.find_topic(f"v{number}").topic_id)
        for number in range(12):
            assert ids(client, f"v{number}") == list(range(number, at + 10, 12))
    waiting = gateway.client()
    waiting.send(fetching({("v3", 0): 60}, max_wait_ms=1_000), 12)
    compiled(gateway).drop(gateway.broker.find_topic("v3").topic_id)
    send(client, "t", batch(row(63)))
    (answer,) = waiting.answers()
    assert values(fetched(answer)["v3", 0].records) == [b'{"id":63}']


def test_a_view_that_is_deleted_or_reloaded_has_no_room_any_more() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t")
    make_view(client, "v", "SELECT _offset FROM t WHERE _offset > 0")
    send(client, "t", batch(b"x", b"y"))
    assert shown(client, "v") == [1]
    assert (len(compiled(gateway)), compiled(gateway).used_bytes > 0) == (1, True)
    assert reload(client, "v", "SELECT _offset FROM t WHERE _offset < 1").error_code == 0
    assert (len(compiled(gateway)), compiled(gateway).used_bytes) == (0, 0)
    assert shown(client, "v") == [0]
    assert len(compiled(gateway)) == 1
    gateway.broker.delete_topic(gateway.broker.find_topic("v"), gateway.now_ms)
    gateway.settle()
    assert (len(compiled(gateway)), compiled(gateway).used_bytes) == (0, 0)


def test_a_view_that_is_reloaded_while_it_is_compiled_shows_the_new_statement() -> None:
    gateway = Gateway()
    client, second = gateway.client(), gateway.client()
    create(client, "t")
    make_view(client, "v", "SELECT _offset FROM t WHERE _offset > 0")
    send(client, "t", batch(b"x", b"y"))
    second.call(ApiVersionsRequest(), 2)
    threads, offload = Threads(), gateway.broker.scheduler.offload
    gateway.broker.scheduler.offload = threads.offload
    second.send(fetching({("v", 0): 0}), 12)
    gateway.settle()
    gateway.broker.scheduler.offload = offload
    assert reload(client, "v", "SELECT _offset FROM t WHERE _offset < 1").error_code == 0
    let_work(gateway, threads)
    assert len(second.answers()) == 1
    assert len(compiled(gateway)) == 0
    assert shown(client, "v") == [0]
