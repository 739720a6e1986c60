"""Records for a page, also where offsets have gaps."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from console.web.looks import CUT_BYTES
from console.web.record_rows import READ_BYTES, Budget, Found, Place, newest, oldest, whole_record
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS
from tests.broker.kit import batch, create, send
from tests.console.web.kit import ADDRESS, Web


def filled(*counts: int) -> Web:
    """Return a console whose topic `t` has so many records in its partitions, in turns by time."""
    web = Web()
    client = web.broker.client()
    create(client, "t", partitions=len(counts))
    for partition, count in enumerate(counts):
        records = [
            Record(number, START_MS + 2 * number + partition, None, b"%d" % number) for number in range(count)
        ]
        for begin in range(0, count, 10):
            part = [record._replace(offset=place) for place, record in enumerate(records[begin : begin + 10])]
            send(client, "t", encode_batch(part), partition)
    return web


def run(web: Web, work: Any, *args: Any) -> Any:
    async def main() -> Any:
        return await web.console._everyone.run(work, ADDRESS, *args)

    return trio.run(main)


def places(*offsets: int) -> dict[Place, int]:
    return {Place("t", partition): offset for partition, offset in enumerate(offsets)}


def names(found: Found) -> list[tuple[int, int]]:
    return [(row.partition, row.offset) for row in found.rows]


def test_the_newest_come_first_over_all_partitions() -> None:
    found = run(filled(3, 3), newest, places(0, 0), places(3, 3), 4, Budget())
    assert names(found) == [(1, 2), (0, 2), (1, 1), (0, 1)]
    assert found.next == places(1, 1)
    assert found.more


def test_the_oldest_come_first_over_all_partitions() -> None:
    found = run(filled(3, 3), oldest, places(0, 0), places(3, 3), 4, Budget())
    assert names(found) == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert found.next == places(2, 2)
    assert found.more


@pytest.mark.parametrize("read", [newest, oldest])
@pytest.mark.parametrize("counts", [(100, 3, 0), (55, 55, 55), (1, 0, 0)])
def test_pages_follow_each_other_without_a_gap_or_a_record_twice(read: Any, counts: tuple[int, ...]) -> None:
    web, seen = filled(*counts), []
    begins, ends = places(*[0] * len(counts)), places(*counts)
    at = ends if read is newest else begins
    for _ in range(100):
        found = run(web, read, *((begins, at) if read is newest else (at, ends)), 7, Budget())
        seen += names(found)
        at = found.next
        if not found.more:
            break
    every = [(partition, offset) for partition, count in enumerate(counts) for offset in range(count)]
    assert sorted(seen) == every
    assert len(seen) == len(every)


def test_gaps_are_looked_over_in_steps_that_widen() -> None:
    """A view leaves records out: offsets do not say where the last ones are."""
    web = filled(1000)
    create(web.broker.client(), "late", kawal_sql="SELECT * FROM t WHERE _offset % 25 = 0")
    place = Place("late", 0)
    found = run(web, newest, {place: 0}, {place: 1000}, 30, Budget())
    assert [row.offset for row in found.rows] == list(range(975, 225, -25))


def test_values_are_cut_and_their_sizes_whole() -> None:
    web = Web()
    create(web.broker.client(), "t")
    send(web.broker.client(), "t", batch(b"v" * 5000, key=b"k" * 5000))
    (row,) = run(web, newest, places(0), places(1), 10, Budget()).rows
    assert row.key is not None
    assert row.value is not None
    assert (len(row.key), row.key_size, len(row.value), row.value_size) == (CUT_BYTES, 5000, CUT_BYTES, 5000)


def test_a_budget_that_is_spent_ends_reading_and_says_so() -> None:
    spent = Budget(iter([0.0, *[100.0] * 99]).__next__)
    found = run(filled(300), newest, places(0), places(300), 200, spent)
    assert found.cut_short
    assert found.more
    assert found.next == places(300)


def test_bytes_are_counted_against_it() -> None:
    budget = Budget(lambda: 0.0)
    budget.take([Record(0, 0, None, b"x")])
    assert not budget.spent
    budget.take([Record(0, 0, b"k" * (READ_BYTES // 2), b"x" * (READ_BYTES // 2))])
    assert budget.spent


def test_one_record_is_read_whole_or_the_next_one() -> None:
    web = filled(5)
    found = run(web, whole_record, Place("t", 0), 3, 5, Budget())
    assert (found.offset, found.value) == (3, b"3")
    assert run(web, whole_record, Place("t", 0), 5, 5, Budget()) is None
