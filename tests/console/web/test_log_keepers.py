"""Which partitions keep a segment."""

from __future__ import annotations

import pytest

from console.web.log_keepers import Keepers, Lasts, keepers_of, noting, owners_in, starts_of
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.broker.kit import batch, create, send
from tests.console.web.kit import ADDRESS, Web
from wal.format import COPIES_BIT, Entry, EntryKind, FrameHeader, FrameKind
from wal.inspect import FrameView

OWNERS = {1: ("a", 0), 2: ("a", 1), 3: ("b", 0)}


def test_a_partition_keeps_what_it_begins_in_or_before() -> None:
    starts = {("a", 0): 10, ("a", 1): 10, ("b", 0): 0}
    assert keepers_of({1: 9, 2: 10, 3: 5}, OWNERS, starts) == Keepers("a 1", 2)
    assert keepers_of({1: 9}, OWNERS, starts) == Keepers("", 0)


def test_streams_of_no_topic_keep_nothing_and_hidden_ones_are_counted() -> None:
    assert keepers_of({7: 100}, OWNERS, {}) == Keepers("", 0)
    assert keepers_of({1: 100, 3: 5}, OWNERS, {("b", 0): 0}) == Keepers("b 0", 1, 1)


def entry(stream: int, offset: int, records: int, kind: int = EntryKind.DATA) -> Entry:
    return Entry(stream, kind, 0, 0, offset, records, 1, 0, 0, 0)


def test_the_last_offset_of_each_stream_is_noted() -> None:
    lasts: Lasts = {}
    header = FrameHeader(FrameKind.DATA, 0, 0, 0, 2, 7, 0, 0, 0, 0)
    views = [
        FrameView(0, header, [entry(1, 0, 5), entry(2, 0, 1)]),
        FrameView(1, header, [entry(1, 5, 2), entry(9, 0, 1, EntryKind.META), entry(2 | COPIES_BIT, 7, 1)]),
    ]
    assert list(noting(views, lasts)) == views
    assert lasts == {1: 6, 2: 0, 2 | COPIES_BIT: 7}
    assert keepers_of(lasts, OWNERS, {("a", 0): 7, ("a", 1): 1}).unknown == 1, "the copies"


@pytest.fixture
def web() -> Web:
    found = Web()
    create(found.broker.client(), "t")
    for _ in range(3):
        send(found.broker.client(), "t", batch(b"a", b"b"))
    return found


def test_owners_are_in_the_catalogue_and_starts_at_the_broker(web: Web) -> None:
    assert ("t", 0) in owners_in(web.broker.disk, "/data").values()
    with web.at_work():
        assert starts_of(ADDRESS, [("t", 0), ("gone", 0)]) == {("t", 0): 0}
        assert starts_of(ADDRESS, []) == {}
    partition = DeleteRecordsPartition(partition_index=0, offset=4)
    topic = DeleteRecordsTopic(name="t", partitions=[partition])
    web.broker.client().call(DeleteRecordsRequest(topics=[topic], timeout_ms=1000), 2)
    with web.at_work():
        assert starts_of(ADDRESS, [("t", 0)]) == {("t", 0): 4}
