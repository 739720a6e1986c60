"""kawal.tables.declare=auto: views WITH META derive the changes of sub-tables from the records."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from broker.view_topics.table_tags import TableTags
from protocol import record_reader
from protocol.compression import Codec, Readable
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import BatchHeader
from tests.broker.databases import create_database
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, fetch, fetched, fetching, records_of, send
from tests.broker.topic_changes import alter, delete, grow
from tests.broker.transactions import end, transactional
from tests.broker.views import PLACE, make_view, read_all
from views import opening
from views.opening import SMALL_CONTENT_BYTES
from wal.errors import OffsetOutOfRange

COLUMNS = "v int, city string tag, floor int tag"


def made(**settings: Any) -> tuple[Gateway, Client]:
    """Make a database with a topic that declares its tables, one that does not, and views over them."""
    gateway = Gateway(**settings)
    client = gateway.client()
    create_database(client, "d", vnodes="1")
    create(client, "t", 1, **{PLACE: "d", "kawal.columns": COLUMNS, "kawal.tables.declare": "auto"})
    create(client, "plain", 1, **{PLACE: "d", "kawal.columns": COLUMNS})
    make_view(client, "with", "DATABASE d WITH META")
    make_view(client, "only", "DATABASE d ONLY META")
    make_view(client, "t.with", "STABLE t WITH META")
    make_view(client, "t.only", "STABLE t ONLY META")
    return gateway, client


def row(key: bytes | None, v: int | None = 1, at: int = 0, **tags: Any) -> Record:
    """Return a record with tags in headers; without `v` a tombstone."""
    headers = tuple((f"kawal.tag.{name}", str(value).encode()) for name, value in tags.items())
    return Record(at, START_MS + at, key, None if v is None else b'{"v":%d}' % v, headers)


def write(client: Client, *rows: Record, topic: str = "t", partition: int = 0) -> None:
    placed = [record._replace(offset=place) for place, record in enumerate(rows)]
    assert send(client, topic, encode_batch(placed), partition).error_code == 0


def table_of(record: Record) -> Any:
    """Return what a record tells: (type, table, tags) of a change, (table, tags), or None."""
    found = [value for name, value in record.headers if name == "kawal.table"]
    if ("kawal.kind", b"meta") in record.headers:
        found = [record.value]
    if not found or found[-1] is None:
        return None
    told = json.loads(found[-1])
    kept = tuple(told[name] for name in ("type", "table", "tags") if name in told)
    return kept if told.get("type", "").endswith("table") or "type" not in told else told["type"]


def shown(client: Client, view: str, partition: int = 0, offset: int = 0) -> list[Any]:
    """Return what the records of a view tell, without changes of topics."""
    found = [table_of(record) for record in read_all(client, view, partition, offset)]
    return [told for told in found if not isinstance(told, str)]


def changes(client: Client, view: str, **place: int) -> list[Any]:
    return [told for told in shown(client, view, **place) if told and " table" in told[0]]


LISBON = {"city": "Lisbon", "floor": None}


def test_the_first_record_of_a_key_creates_its_table_with_tags() -> None:
    _, client = made()
    write(client, row(b"m1", city="Lisbon"), row(b"m1"), row(b"m2", city="Porto", floor=3))
    assert shown(client, "with") == [
        ("create table", "m1", LISBON),
        ("m1", LISBON),
        ("create table", "m2", {"city": "Porto", "floor": 3}),
    ]
    assert shown(client, "only") == [
        ("create table", "m1", LISBON),
        ("create table", "m2", {"city": "Porto", "floor": 3}),
    ]
    for view in ("with", "only"):
        assert shown(client, f"t.{view}") == shown(client, view)


def test_a_change_names_topic_table_time_and_tags() -> None:
    gateway, client = made()
    write(client, row(b'm"1', city="Lisbon"))
    (record,) = [record for record in read_all(client, "only") if b" table" in (record.value or b"")]
    (same,) = [record for record in read_all(client, "with") if record.key == b'm"1']
    assert record.offset == same.offset
    assert record.value == dict(same.headers)["kawal.table"]
    assert (record.key, record.headers) == (b"t", (("kawal.kind", b"meta"),))
    assert json.loads(record.value or b"") == {
        "type": "create table",
        "topic": "t",
        "id": gateway.broker.find_topic("t").topic_id.hex,
        "partition": 0,
        "time": START_MS,
        "table": 'm"1',
        "tags": LISBON,
    }


def test_other_tags_alter_the_table_and_a_tombstone_drops_it() -> None:
    _, client = made()
    write(client, row(b"m", city="Lisbon"), row(b"m", city="Lisbon"), row(b"m", floor=2), row(b"m", None))
    write(client, row(b"m", None), row(b"never", None), row(b"m", city="Porto"))
    assert changes(client, "with") == changes(client, "only")
    assert changes(client, "only") == [
        ("create table", "m", LISBON),
        ("alter table", "m", {"city": "Lisbon", "floor": 2}),
        ("drop table", "m"),
        ("create table", "m", {"city": "Porto", "floor": 2}),
    ]


def test_tags_in_values_count_and_what_does_not_fit_tells_nothing() -> None:
    _, client = made()
    send(client, "t", batch(b'{"v":1,"city":"Faro"}', b"no JSON", b'{"v":2,"city":7}', key=b"m"))
    write(client, row(None), row(b"\xff"), row(b"m"))
    faro = {"city": "Faro", "floor": None}
    assert shown(client, "with") == [("create table", "m", faro), None, None, None, None, ("m", faro)]


def test_a_topic_without_tags_declares_tables_whatever_its_values_are() -> None:
    _, client = made()
    create(client, "bare", 1, **{PLACE: "d", "kawal.tables.declare": "auto"})
    send(client, "bare", batch(b"\x00\x01", b"more", key=b"k"))
    assert shown(client, "with") == [("create table", "k", {}), ("k", {})]


def test_only_topics_that_want_it_declare_their_tables() -> None:
    _, client = made()
    write(client, row(b"m", city="Lisbon"), topic="plain")
    (record,) = [record for record in read_all(client, "with") if record.key == b"m"]
    assert "kawal.table" not in dict(record.headers)
    assert shown(client, "only") == []


def test_a_reader_from_anywhere_and_after_a_start_gets_the_same() -> None:
    gateway, client = made(kawal_views_cache_bytes=1 << 20)
    for number in range(120):
        padding = [row(b"m%d" % (number % 3), city=f"c{number // 4}" + "-" * 4_900) for _ in range(2)]
        write(client, *padding, row(b"x", None))
    whole = {view: read_all(client, view) for view in ("with", "only", "t.with", "t.only")}
    assert len(changes(client, "only")) > 10
    for _ in range(2):
        for view, found in whole.items():
            end = fetch(client, view).high_watermark
            for offset in (end - 3, 70, 20, 1):
                wanted = [record for record in found if record.offset >= offset]
                while offset == end - 3 and not fetch(client, view, offset).records:
                    # A fetch is answered without progress while the server learns what was before.
                    continue
                assert read_all(client, view, 0, offset) == wanted
        gateway.restart()
        client = gateway.client()


def test_after_records_are_deleted_the_first_that_is_left_creates_the_table() -> None:
    gateway, client = made()
    write(client, row(b"m", city="Lisbon"), row(b"n"))
    write(client, row(b"m"), row(b"n"))
    write(client, row(b"m"), row(b"n", city="Porto"))
    assert len(changes(client, "with")) == 3
    asked = DeleteRecordsPartition(partition_index=0, offset=2)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=[asked])], timeout_ms=1)
    client.call(request, 2)
    for _ in range(2):
        for view in ("with", "only", "t.with", "t.only"):
            kinds = [told[:2] for told in changes(client, view)]
            assert kinds == [("create table", "m"), ("create table", "n"), ("alter table", "n")]
        gateway.restart()
        client = gateway.client()


def test_a_table_that_moves_when_the_topic_grows_takes_its_tags_along() -> None:
    gateway, client = made()
    write(client, row(b"m", city="Lisbon"))
    grow(client, "t", 2)
    write(client, row(b"m"), partition=1)
    for _ in range(2):
        assert changes(client, "with") == [("create table", "m", LISBON)] * 2
        assert changes(client, "t.with", partition=1) == [("create table", "m", LISBON)]
        gateway.restart()
        client = gateway.client()


def test_aborted_records_declare_nothing_and_undecided_ones_not_yet() -> None:
    gateway, client = made()
    create(client, "bare", 1, **{PLACE: "d", "kawal.tables.declare": "auto"})
    transactional(gateway, b"1", 1, topic="bare")
    assert changes(client, "only") == []
    end(gateway, 1, commit=False, topic="bare")
    assert changes(client, "only") == []
    transactional(gateway, b"1", 2, topic="bare")
    end(gateway, 2, commit=True, topic="bare")
    assert changes(client, "only") == changes(client, "with") == [("create table", "k", {})]


def test_the_setting_applies_to_what_was_written_before_and_can_end() -> None:
    _, client = made()
    write(client, row(b"m", city="Lisbon"), topic="plain")
    assert changes(client, "with") == []
    position = fetch(client, "only").high_watermark
    alter(client, "plain", "kawal.tables.declare", "auto")
    assert changes(client, "with") == changes(client, "only") == [("create table", "m", LISBON)]
    alter(client, "plain", "kawal.tables.declare", "sql")
    assert changes(client, "with") == changes(client, "only") == []
    assert fetch(client, "only").high_watermark > position


def test_other_tags_declared_later_are_told_from_the_beginning() -> None:
    _, client = made()
    write(client, row(b"m", city="Lisbon", wing="left"))
    assert changes(client, "only") == [("create table", "m", LISBON)]
    alter(client, "t", "kawal.columns", COLUMNS + ", wing string tag")
    wanted = [("create table", "m", {**LISBON, "wing": "left"})]
    assert changes(client, "only") == changes(client, "with") == wanted


def test_a_fetch_of_changes_alone_is_woken_by_a_new_table_and_by_nothing_else() -> None:
    gateway, client = made()
    write(client, row(b"m"))
    reader = gateway.client()
    end_of_view = fetch(client, "only").high_watermark
    reader.send(fetching({("only", 0): end_of_view}, max_wait_ms=10_000), 12)
    write(client, row(b"m"), row(b"m"))
    gateway.settle()
    assert reader.answers() == []
    write(client, row(b"new"))
    gateway.settle()
    (answer,) = reader.answers()
    (record,) = records_of(bytes(fetched(answer)["only", 0].records))
    assert table_of(record)[:2] == ("create table", "new")


def test_a_deleted_topic_tells_of_no_table_and_one_of_its_name_begins_anew() -> None:
    gateway, client = made()
    create(client, "bare", 1, **{PLACE: "d", "kawal.tables.declare": "auto"})
    send(client, "bare", batch(b"1", key=b"k"))
    assert changes(client, "only") == [("create table", "k", {})]
    delete(gateway, "bare")
    assert changes(client, "only") == []
    create(client, "bare", 1, **{PLACE: "d", "kawal.tables.declare": "auto"})
    send(client, "bare", batch(b"1", key=b"k"))
    assert changes(client, "only") == [("create table", "k", {})]


def test_a_view_of_some_tables_tells_of_those() -> None:
    _, client = made()
    make_view(client, "lisbon", "WITH META AS STABLE t WHERE city = 'Lisbon'")
    write(client, row(b"m", city="Lisbon"), row(b"n", city="Porto"), row(b"m"), row(b"n"))
    assert shown(client, "lisbon") == [("create table", "m", LISBON), ("m", LISBON)]


def test_a_fetch_that_is_given_up_in_the_middle_of_a_batch_changes_nothing() -> None:
    gateway, client = made()
    rows = [row(b"m%d" % (number % 700), floor=number % 3) for number in range(5_000)]
    write(client, *rows)
    wanted = [told for told in shown(client, "with") if told]
    gateway.restart()
    client = gateway.client()
    leaving = gateway.client()
    leaving.send(fetching({("with", 0): 0}), 12)
    leaving.close()
    assert [told for told in shown(client, "with") if told] == wanted


def test_a_snapshot_has_the_tags_of_every_table() -> None:
    _, client = made()
    make_view(client, "state", "DATABASE d WITH META", **{"kawal.snapshot": "true"})
    write(client, row(b"m", city="Lisbon"), row(b"n", floor=1), row(b"m"), row(b"n", None), row(b"m"))
    assert shown(client, "state") == [("drop table", "n"), ("m", LISBON)]


def test_a_topic_that_is_deleted_while_its_tags_are_read_does_not_move_readers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, client = made()
    write(client, row(b"m", city="Lisbon"))
    write(client, row(b"m"), row(b"n"))
    plain, failures = TableTags.steps, [1]

    def steps(self: TableTags, *arguments: Any) -> Any:
        if failures:
            failures.pop()
            raise OffsetOutOfRange(1, 0, 1, 3)
        return plain(self, *arguments)

    monkeypatch.setattr(TableTags, "steps", steps)
    assert [told[0] for told in shown(client, "with")] == ["create table", "m", "create table"]
    assert failures == []


def test_views_of_topics_that_declare_nothing_do_not_load_it(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "broker.view_topics.declared_tables"
    gateway = Gateway()
    client = gateway.client()
    monkeypatch.delitem(sys.modules, name, raising=False)
    create(client, "t", 1, **{"kawal.columns": COLUMNS})
    make_view(client, "with", "STABLE t WITH META")
    write(client, row(b"m", city="Lisbon"))
    assert len(read_all(client, "with")) == 1
    assert name not in sys.modules


@pytest.mark.parametrize(("own", "expected"), [(None, "auto"), ("sql", None)])
def test_topics_get_the_setting_of_their_database_when_they_are_created(
    own: str | None, expected: str | None
) -> None:
    gateway = Gateway()
    client = gateway.client()
    create_database(client, "d", vnodes="1", **{"tables.declare": "auto"})
    settings = {PLACE: "d"} if own is None else {PLACE: "d", "kawal.tables.declare": own}
    create(client, "t", 1, **settings)
    create(client, "kawal.tables.d", 1, **{PLACE: "d"})
    found = gateway.broker.find_topic("t").configs.get("kawal.tables.declare")
    assert found == (expected or own)
    assert "kawal.tables.declare" not in gateway.broker.find_topic("kawal.tables.d").configs


def test_batches_that_open_to_much_are_opened_by_threads_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway, client = made()
    padding = "x" * SMALL_CONTENT_BYTES
    rows = [
        Record(place, START_MS, key, b'{"v":1,"more":"%b"}' % padding.encode(), (("kawal.tag.city", b"P"),))
        for place, key in enumerate((b"k1", b"k2"))
    ]
    assert send(client, "t", encode_batch(rows, codec=Codec.GZIP)).error_code == 0
    depth, outside = [0], list[int]()
    offload, open_records = gateway.broker.scheduler.offload, record_reader.open_records

    def in_a_thread(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        depth[0] += 1
        offload(work, lambda _: None)
        depth[0] -= 1
        done(None)

    def noted(header: BatchHeader, data: Readable, limit_bytes: int = 1 << 30) -> bytes:
        found = open_records(header, data, limit_bytes)
        if header.codec and not depth[0]:
            outside.append(len(found))
        return found

    gateway.broker.scheduler.offload = in_a_thread
    for module in (record_reader, opening):
        monkeypatch.setattr(module, "open_records", noted)
    for view in ("with", "only"):
        assert shown(client, view) != []
    assert outside == []
