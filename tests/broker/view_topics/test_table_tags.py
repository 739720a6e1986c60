"""The tags at each record of a batch are those that a query of them shows."""

from __future__ import annotations

import json
from random import Random

from broker.view_topics.table_tags import TableTags, TagEvaluators
from broker.view_topics.view_slices import SliceBudget
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import batch, create, send
from tests.broker.transactions import end, transactional
from tests.broker.views import finished, make_view, read_all
from views.columns import parse_columns
from wal.format import EntryKind
from wal.versions import VersionedEntry, frame_entries

COLUMNS = "city string tag, floor int tag, v int"


def entries(gateway: Gateway) -> list[VersionedEntry]:
    """Return the stored batches of the topic t, as views over its vnode see them."""
    partition = gateway.partition("t")
    log = partition.vnode.log
    return [
        entry
        for frame in log.frames(0)
        for entry in frame_entries(frame, frame.read())
        if entry.stream_id == partition.stream_id and entry.kind == EntryKind.DATA
    ]


def tags_of(gateway: Gateway) -> TableTags:
    tags = tuple(column for column in parse_columns(COLUMNS) if column.is_tag)
    return TableTags(gateway.broker.views, gateway.broker.find_topic("t"), 0, tags)


def test_tags_are_those_of_a_query_in_whatever_order_batches_are_looked_at() -> None:
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    create(client, "t", 1, kawal_columns=COLUMNS)
    make_view(client, "query", "SELECT city, floor FROM t")
    chance = Random(1)
    for number in range(20):
        headers = (("kawal.tag.floor", b"%d" % number),) if chance.random() < 0.3 else ()
        value = b'{"city":"c%d"}' % number if chance.random() < 0.3 else b'{"v":1}'
        key = b"k%d" % chance.randrange(3)
        send(client, "t", encode_batch([Record(0, START_MS, key, value, headers)] * 1))
    wanted = {record.offset: json.loads(record.value or b"") for record in read_all(client, "query")}
    gateway.restart()
    tables = tags_of(gateway)
    stored = entries(gateway)
    for entry in (*chance.sample(stored, len(stored)), *stored):
        found = finished(tables.steps(entry, SliceBudget()))
        assert {offset: json.loads(value) for offset, value in found.items()} == {
            entry.base_offset: wanted[entry.base_offset]
        }


def test_what_does_not_fit_has_no_tags_and_markers_are_passed() -> None:
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    create(client, "t", 1, kawal_columns=COLUMNS)
    transactional(gateway, b'{"city":"lost"}', 1)
    end(gateway, 1, commit=False)
    send(client, "t", batch(b"no JSON", b'{"v":1}', key=b"k"))
    (_, entry) = entries(gateway)
    found = finished(tags_of(gateway).steps(entry, SliceBudget()))
    assert found == {entry.base_offset + 1: b'{"city":null,"floor":null}'}


def test_a_topic_without_tags_needs_no_evaluation() -> None:
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    create(client, "t", 1)
    send(client, "t", batch(b"1", key=b"k"))
    tables = TableTags(gateway.broker.views, gateway.broker.find_topic("t"), 0, ())
    assert finished(tables.steps(entries(gateway)[0], SliceBudget())) is None


def test_the_query_of_the_same_tags_is_compiled_once() -> None:
    gateway = Gateway()
    evaluators = gateway.broker.views.shared(TagEvaluators)
    tags = tuple(parse_columns("city string tag"))
    assert evaluators.of(tags) is evaluators.of(tuple(parse_columns("city string tag")))
