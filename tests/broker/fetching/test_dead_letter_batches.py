"""Letters in a batch: their headers, their sizes, and which of many are in the first batch."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker.fetching.dead_letter_batches import Letters, Origin, letters_of
from groups.share.record_range import StoredRange
from groups.share.states import RecordState
from protocol.record_reader import Record, iter_records

ORIGIN = Origin("grüppe", "jobs", 7)
NOW_MS = 1_700_000_000_000


def part(first: int, last: int, cause: str = "rejected", count: int = 3) -> StoredRange:
    return StoredRange(first, last, RecordState.ARCHIVING, count, cause)


def written(
    *ranges: StoredRange, originals: dict[int, Record] | None = None, max_bytes: int = 1 << 20
) -> tuple[Letters, list[Record]]:
    letters = letters_of(
        ORIGIN, ranges, originals or {}, wall_ms=NOW_MS, max_bytes=max_bytes, copies_headers=True
    )
    return letters, list(iter_records(letters.batch))


def test_a_letter_says_where_its_record_was_and_why_it_was_given_up() -> None:
    letters, (record,) = written(part(41, 41))
    assert letters.ranges == [(41, 41)]
    assert (record.timestamp_ms, record.key, record.value) == (NOW_MS, None, None)
    assert record.headers == (
        ("__dlq.errors.topic", b"jobs"),
        ("__dlq.errors.partition", b"7"),
        ("__dlq.errors.offset", b"41"),
        ("__dlq.errors.group", "grüppe".encode()),
        ("__dlq.errors.delivery.count", b"3"),
        ("__dlq.errors.message", b"Offset rejected by client."),
    )


def test_without_a_known_cause_there_is_no_message() -> None:
    _, (record,) = written(part(41, 41, cause=""))
    assert "__dlq.errors.message" not in dict(record.headers)


def test_the_letter_of_a_letter_says_its_own_last() -> None:
    _, (first,) = written(part(41, 41))
    _, (second,) = written(part(5, 5, "limit"), originals={5: first._replace(offset=5)})
    assert dict(second.headers)["__dlq.errors.message"] == b"Offset delivery count exceeded the threshold."
    assert second.headers[:6] == first.headers


def test_neighbouring_ranges_are_told_as_one() -> None:
    letters, records = written(part(1, 2), part(3, 3, "limit"), part(9, 9))
    assert (letters.ranges, letters.letter_count, len(records)) == ([(1, 3), (9, 9)], 4, 4)


@given(
    st.lists(st.binary(max_size=400), min_size=1, max_size=20),
    st.integers(100, 3_000),
    st.binary(max_size=50),
)
def test_a_batch_has_the_first_letters_and_is_not_too_large_unless_it_has_only_one(
    contents: list[bytes], max_bytes: int, header: bytes
) -> None:
    originals = {
        offset: Record(offset, 0, None, value, (("own", header),)) for offset, value in enumerate(contents)
    }
    letters, records = written(part(0, len(contents) - 1), originals=originals, max_bytes=max_bytes)
    assert letters.ranges == [(0, len(records) - 1)]
    assert [record.value for record in records] == contents[: len(records)]
    assert len(records) == letters.letter_count >= 1
    assert len(records) == 1 or len(letters.batch) <= max_bytes + 61
