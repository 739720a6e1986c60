"""One index for many views over a partition: its ranges, the views it wakes, and its memory."""

from __future__ import annotations

import errno
from random import Random

import pytest

import views.router
from broker.view_topics.route_index import JOIN_BYTES, TOGETHER_MIN, IndexedRange, IndexedRanges
from broker.view_topics.route_indexes import RouteIndexes
from broker.view_topics.view_cache import CacheBudget
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, fetched, fetching, records_of, send
from tests.broker.routed_views import COLUMNS, VIEWS, counting, ids, index_of, row, views_over
from tests.broker.views import make_view, read_all
from views.columns import parse_columns
from views.plan import plan_view
from views.router import RoutedBatch, build_router, route_steps
from views.statement import parse_view
from wal.disk import DiskError

# --- ranges --------------------------------------------------------------------------------------------


def routed(offset: int, *ids: int) -> RoutedBatch:
    plan = plan_view(parse_view("SELECT id FROM t WHERE id = 1"), parse_columns(COLUMNS))
    assert plan.predicate is not None
    records = [Record(offset + at, 1, None, row(number)) for at, number in enumerate(ids)]
    steps = route_steps(build_router(plan, plan.predicate.args[0]), memoryview(encode_batch(records)))
    while True:
        try:
            next(steps)
        except StopIteration as end:
            made: RoutedBatch = end.value
            return made


def a_range(start: int, *batches: RoutedBatch, more_bytes: int = 0) -> IndexedRange:
    made = IndexedRange(start, batches[-1].header.last_offset + 1)
    for routed_batch in batches:
        made.add(routed_batch)
    made.size_bytes += more_bytes
    return made


def test_a_range_gives_the_first_batch_of_a_value_from_an_offset_on() -> None:
    found = a_range(0, routed(0, 7, 8), routed(2, 8), routed(3, 7))
    starts = [None if (first := found.first(7, at)) is None else first.header.base_offset for at in range(6)]
    assert starts == [0, 0, 3, 3, None, None]
    assert found.first(9, 0) is None


def test_small_ranges_become_one_and_large_ones_do_not() -> None:
    budget = CacheBudget(lambda: 1 << 30)
    ranges = IndexedRanges(-1, budget)
    ranges.add(a_range(0, routed(0, 7)))
    ranges.add(a_range(1, routed(1, 7, 8)))
    ranges.add(a_range(3, routed(3, 9), more_bytes=JOIN_BYTES))
    ranges.add(a_range(9, routed(9, 9)))
    assert [
        (known.start, known.end) for known in (ranges.find(0), ranges.find(3), ranges.find(9)) if known
    ] == [
        (0, 3),
        (3, 4),
        (9, 10),
    ]
    assert len(ranges) == len(budget) == 3
    known = ranges.find(2)
    assert known is not None
    assert [routed_batch.header.base_offset for routed_batch in known.batches[7]] == [0, 1]
    ranges.clear()
    assert budget.used_bytes == 0


def test_what_did_not_fit_is_counted_between_offsets() -> None:
    plan = plan_view(parse_view("SELECT id FROM t WHERE id = 1"), parse_columns(COLUMNS))
    assert plan.predicate is not None
    bad = RoutedBatch(routed(4, 1).header, b"", b"", {}, 3)
    found = a_range(0, routed(0, 1), bad)
    assert [found.unfit_between(*pair) for pair in ((0, 5), (0, 4), (4, 5), (5, 9))] == [3, 0, 3, 0]


# --- views ---------------------------------------------------------------------------------------------


def test_every_record_is_looked_at_once_for_all_views_wherever_they_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway = Gateway()
    client = views_over(gateway)
    for start in range(0, 60, 20):
        send(client, "t", batch(*(row(number) for number in range(start, start + 20))))
    looked: list[int] = []
    monkeypatch.setattr(views.router, "route_steps", counting(looked))
    for number in range(VIEWS):
        assert ids(client, f"v{number}") == [id_ for id_ in range(60) if id_ % VIEWS == number]
        assert ids(client, f"v{number}", offset=33) == [id_ for id_ in range(33, 60) if id_ % VIEWS == number]
    assert sum(looked) == 60


def test_few_views_look_by_themselves() -> None:
    gateway = Gateway()
    client = views_over(gateway, TOGETHER_MIN - 1)
    send(client, "t", batch(*(row(number) for number in range(20))))
    assert ids(client, "v3") == [3, 10, 17]
    assert len(index_of(gateway).ranges) == 0


def test_only_the_views_of_the_values_found_are_woken() -> None:
    gateway = Gateway()
    client = views_over(gateway)
    waiting = [gateway.client() for _ in range(VIEWS)]
    for number, reader in enumerate(waiting):
        reader.send(fetching({(f"v{number}", 0): 0}, max_wait_ms=1_000), 12)
    send(client, "t", batch(row(2), row(5)))
    woken = {number: reader.answers() for number, reader in enumerate(waiting)}
    assert sorted(number for number, answers in woken.items() if answers) == [2, 5]
    counters = gateway.broker.views.counters_of(gateway.broker.find_topic("v3"))
    assert counters.scanned == 0
    gateway.advance(1_000)
    late = fetched(waiting[3].answers()[0])["v3", 0]
    assert late.high_watermark == 2
    assert counters.scanned == 2


def test_one_fetch_may_wait_for_several_of_them() -> None:
    gateway = Gateway()
    client = views_over(gateway)
    waiting = gateway.client()
    waiting.send(fetching({("v1", 0): 0, ("v2", 0): 0}, max_wait_ms=1_000), 12)
    send(client, "t", batch(row(2)))
    (answer,) = waiting.answers()
    assert [len(list(records_of(fetched(answer)[name, 0].records))) for name in ("v1", "v2")] == [0, 1]


def test_who_waits_again_behind_the_others_is_told_of_what_came_meanwhile() -> None:
    gateway = Gateway()
    client = views_over(gateway)
    first, late = gateway.client(), gateway.client()
    first.send(fetching({("v1", 0): 0}, max_wait_ms=60_000), 12)
    send(client, "t", batch(row(2), row(3)))
    late.send(fetching({("v2", 0): 0}, max_wait_ms=60_000), 12)
    gateway.settle()
    assert len(late.answers()) == 1
    late.send(fetching({("v2", 0): 2}, max_wait_ms=60_000), 12)
    send(client, "t", batch(row(2)))
    assert len(late.answers()) == 1
    assert first.answers() == []


def test_readers_learn_of_a_disk_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Gateway()
    client = views_over(gateway)
    waiting, late = gateway.client(), gateway.client()
    waiting.send(fetching({("v1", 0): 0}, max_wait_ms=60_000), 12)
    late.send(fetching({("v2", 0): 0}, max_wait_ms=500), 12)

    def read(*_: object, **__: object) -> None:
        raise DiskError("read", "segment", errno.EIO)

    with monkeypatch.context() as broken:
        broken.setattr(type(gateway.partition("t").vnode.log), "read", read)
        send(client, "t", batch(row(1), row(2)))
        gateway.advance(500)
        assert len(late.answers()) == 1
        late.send(fetching({("v2", 0): 0}, max_wait_ms=500), 12)
        gateway.advance(500)
        (answer,) = late.answers()
        assert fetched(answer)["v2", 0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert ids(client, "v2") == [2]


def test_what_the_index_keeps_does_not_push_out_what_views_show() -> None:
    gateway = Gateway(kawal_views_cache_bytes=1 << 20)
    gateway.broker.config = gateway.broker.live_config.current
    client = views_over(gateway)
    for start in range(0, 3_000, 100):
        send(client, "t", batch(*(row(number, 1_000) for number in range(start, start + 100))))
    counters = gateway.broker.views.counters_of(gateway.broker.find_topic("v3"))
    first = ids(client, "v3")
    assert gateway.broker.views.used_bytes > 400_000
    scanned = counters.scanned
    assert ids(client, "v3") == first == list(range(3, 3_000, VIEWS))
    assert counters.scanned == scanned


def test_a_view_of_nearly_everything_is_read_to_its_end_with_little_memory() -> None:
    gateway = Gateway(kawal_views_cache_bytes=1 << 20)
    gateway.broker.config = gateway.broker.live_config.current
    client = views_over(gateway)
    made = [VIEWS * number + 3 for number in range(2_500)]
    for start in range(0, 2_500, 25):
        send(client, "t", batch(*(row(number, 1_000) for number in made[start : start + 25])))
    make_view(client, "whole", f"SELECT * FROM t WHERE id % {VIEWS} = 3")
    for _ in range(2):
        assert ids(client, "whole") == made
    assert gateway.broker.views.used_bytes <= 1 << 20


def test_when_the_last_view_is_deleted_the_index_is_gone() -> None:
    gateway = Gateway()
    client = views_over(gateway)
    send(client, "t", batch(*(row(number) for number in range(20))))
    for number in range(VIEWS):
        ids(client, f"v{number}")
    assert gateway.broker.views.used_bytes > 0
    for number in range(VIEWS):
        gateway.broker.delete_topic(gateway.broker.find_topic(f"v{number}"), gateway.now_ms)
    gateway.settle()
    assert gateway.broker.views.shared(RouteIndexes).indexes == {}
    assert gateway.broker.views.used_bytes == 0


@pytest.mark.parametrize("seed", range(8))
def test_readers_that_fall_behind_seek_and_wait_get_what_a_view_alone_shows(seed: int) -> None:
    chance = Random(seed)
    gateway = Gateway(kawal_views_cache_bytes=1 << 20)
    gateway.broker.config = gateway.broker.live_config.current
    client = views_over(gateway)
    clients = [gateway.client() for _ in range(VIEWS)]
    positions = [0] * VIEWS
    got: list[list[int]] = [[] for _ in range(VIEWS)]
    sent: list[int] = []
    for _ in range(60):
        if chance.random() < 0.6:
            new = [chance.randrange(3 * VIEWS) for _ in range(chance.randrange(1, 40))]
            send(client, "t", batch(*(row(number, chance.choice([0, 0, 9_000])) for number in new)))
            sent += new
        number = chance.randrange(VIEWS)
        reader = clients[number]
        if not reader.connection.calls:
            reader.send(fetching({(f"v{number}", 0): positions[number]}, max_wait_ms=500), 12)
        gateway.advance(chance.choice([0, 1, 600]))
        for number, reader in enumerate(clients):
            for answer in reader.answers():
                for record in records_of(fetched(answer)[f"v{number}", 0].records):
                    # The first batch may begin before the position, as always.
                    if record.offset >= positions[number]:
                        got[number].append(record.offset)
                        positions[number] = record.offset + 1
    gateway.advance(1_000)
    for number, reader in enumerate(clients):
        reader.answers()
        got[number] += [
            record.offset for record in read_all(gateway.client(), f"v{number}", offset=positions[number])
        ]
        assert got[number] == [at for at, id_ in enumerate(sent) if id_ % VIEWS == number]
    assert gateway.broker.views.used_bytes <= 1 << 20
