"""Records gathered in any order are answered in order, with each batch once."""

from __future__ import annotations

from broker.fetching.gathered import Gathered
from broker.fetching.share_reader import blank
from groups.share.found import Acquired
from protocol.wire import RecordParts


def test_batches_come_once_and_in_order() -> None:
    gathered = Gathered()
    offsets, batches = [(0, 4), (5, 9), (10, 10)], [memoryview(b"aa"), memoryview(b"bbb"), memoryview(b"c")]
    assert gathered.add([Acquired(6, 6, 1)], offsets, batches) == 3
    assert gathered.add([Acquired(2, 3, 1), Acquired(5, 5, 2)], offsets, batches) == 2
    data = blank(0)
    gathered.answer(data)
    assert [(part.first_offset, part.last_offset, part.delivery_count) for part in data.acquired_records] == [
        (2, 3, 1), (5, 5, 2), (6, 6, 1),
    ]  # fmt: skip
    assert isinstance(data.records, RecordParts)
    assert [bytes(part) for part in data.records.parts] == [b"aa", b"bbb"]  # type: ignore[arg-type]


def test_nothing_gathered_is_no_records() -> None:
    data = blank(0)
    Gathered().answer(data)
    assert (data.records, data.acquired_records) == (b"", [])
