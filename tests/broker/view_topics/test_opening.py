"""Tests of broker/view_topics/opening.py."""

from __future__ import annotations

import json
from collections.abc import Callable

from broker.loop.slices import Until, WaitingSteps
from broker.view_topics.opening import with_opened, with_opened_inside
from broker.view_topics.rooms import OPENED_MAX, OpenedRoom
from protocol.compression import Codec
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import create, fetch, records_of, send
from tests.broker.views import named_client
from views.opening import SMALL_CONTENT_BYTES


def of(*values: bytes, codec: int = Codec.GZIP) -> bytearray:
    return encode_batch([Record(at, START_MS, None, value) for at, value in enumerate(values)], codec=codec)


def unused(_content: object) -> WaitingSteps:
    raise AssertionError("it is not open yet")


def nothing_more(_content: object) -> WaitingSteps:
    yield from ()


def test_a_batch_that_opens_to_much_is_opened_by_a_thread() -> None:
    host = Gateway().broker.views
    steps = with_opened(host, memoryview(of(bytes(SMALL_CONTENT_BYTES))), unused)
    assert isinstance(next(steps), Until)


def test_a_batch_that_holds_little_needs_no_thread() -> None:
    host = Gateway().broker.views
    for codec in (Codec.GZIP, Codec.NONE):
        assert not [*with_opened(host, memoryview(of(b"a", codec=codec)), nothing_more)]


def test_every_kind_of_view_shows_what_a_thread_has_opened() -> None:
    gateway = Gateway()
    client = named_client(gateway)
    create(client, "t", kawal_columns="id bigint")
    create(client, "plain", partitions=-1, kawal_sql="SELECT id FROM t WHERE id > 1")
    create(client, "routed", partitions=-1, kawal_sql="SELECT id FROM t WHERE id = 2")
    create(client, "bad", partitions=-1, kawal_sql="UNFIT t")
    padding = "x" * SMALL_CONTENT_BYTES
    given = [json.dumps({"id": number, "text": padding}).encode() for number in (1, 2, 3)]
    send(client, "t", of(*given, b"no"))
    shown = {name: [*records_of(fetch(client, name).records)] for name in ("plain", "routed", "bad")}
    assert [record.value for record in shown["plain"]] == [b'{"id":2}', b'{"id":3}']
    assert [record.value for record in shown["routed"]] == [b'{"id":2}']
    assert [record.value for record in shown["bad"]] == [b"no"]


def test_a_batch_that_a_thread_cannot_open_is_all_unfit() -> None:
    gateway = Gateway()
    client = named_client(gateway)
    create(client, "t", kawal_columns="id bigint")
    create(client, "view", partitions=-1, kawal_sql="SELECT id FROM t WHERE id > 1")
    data = of(bytes(17 << 20))
    send(client, "t", data)
    assert [*records_of(fetch(client, "view").records)] == []
    assert fetch(client, "view").high_watermark == 1


def test_few_large_batches_are_open_at_once_and_the_others_take_turns() -> None:
    host = Gateway().broker.views
    room = host.shared(OpenedRoom)
    batch = memoryview(of(bytes(SMALL_CONTENT_BYTES)))
    ended: list[int] = []
    waiting: list[Callable[[], None]] = []

    def steps_of(number: int) -> WaitingSteps:
        def looking(content: object) -> WaitingSteps:
            assert content
            assert room.inside <= OPENED_MAX
            yield None
            ended.append(number)

        return with_opened(host, batch, looking)

    def resumed(steps: WaitingSteps) -> None:
        """Take the steps until they wait for others."""
        for pause in steps:
            if pause is not None and pause.here == room.enter_all_the_same:
                pause.start(lambda: waiting.append(lambda: resumed(steps)))
                return
            if pause is not None:
                pause.start(lambda: None)

    open_now = [steps_of(number) for number in range(OPENED_MAX)]
    for steps in open_now:
        first = next(steps)
        assert first is not None
        first.start(lambda: None)
    resumed(steps_of(98))
    resumed(steps_of(99))
    assert (room.inside, ended, waiting) == (OPENED_MAX, [], [])
    for steps in open_now:
        resumed(steps)
    while waiting:
        waiting.pop(0)()
    assert ended == [0, 1, 2, 3, 98, 99]
    assert room.inside == 0


def test_a_view_of_a_database_shows_what_a_thread_has_opened() -> None:
    gateway = Gateway(kawal_vnodes=1)
    client = named_client(gateway)
    create(client, "t")
    create(client, "all", partitions=-1, kawal_sql="DATABASE default")
    send(client, "t", of(b"x" * SMALL_CONTENT_BYTES, b"y"))
    shown = [*records_of(fetch(client, "all").records)]
    assert [record.value for record in shown] == [b"x" * SMALL_CONTENT_BYTES, b"y"]
    send(client, "t", of(bytes(17 << 20)))
    assert [*records_of(fetch(client, "all", shown[-1].offset + 1).records)] == []


def test_what_has_a_place_in_the_room_opens_another_batch_without_a_second_place() -> None:
    gateway = Gateway()
    host = gateway.broker.views
    room = host.shared(OpenedRoom)
    for _ in range(OPENED_MAX):
        room.enter_all_the_same()
    opened: list[object] = []

    def steps_of(content: object) -> WaitingSteps:
        opened.append(content)
        yield from ()

    steps = with_opened_inside(host, memoryview(of(bytes(SMALL_CONTENT_BYTES))), steps_of)
    waits = next(steps)
    assert waits is not None
    assert waits.here is not None
    waits.here()
    assert not [*steps]
    assert isinstance(opened[0], bytes)
    assert room.inside == OPENED_MAX
