"""Equality of a copy: content and order, or the last value of each key."""

from __future__ import annotations

import pytest

from console.restoring.equality import sequence_of, state_of
from protocol.record_reader import Record

ONE = Record(0, 7, b"k", b"v", (("h", b"1"),))


@pytest.mark.parametrize(
    "other",
    [
        ONE._replace(key=None),
        ONE._replace(key=b""),
        ONE._replace(value=None),
        ONE._replace(timestamp_ms=8),
        ONE._replace(headers=()),
        ONE._replace(headers=(("h", None),)),
    ],
)
def test_all_of_a_record_counts_but_its_offset_and_origin(other: Record) -> None:
    def digest(record: Record) -> tuple[int, str]:
        return sequence_of(iter([record]), dated=True)

    assert digest(ONE) != digest(other)
    assert digest(ONE) == digest(ONE._replace(offset=9, headers=(*ONE.headers, ("kawal.origin", b"x"))))


def test_order_counts_and_times_only_where_producers_give_them() -> None:
    later = ONE._replace(timestamp_ms=9)
    assert sequence_of(iter([ONE, later]), dated=True) != sequence_of(iter([later, ONE]), dated=True)
    assert sequence_of(iter([ONE]), dated=False) == sequence_of(iter([later]), dated=False)


def test_of_compacted_records_the_last_value_of_each_key_counts() -> None:
    old, other = ONE._replace(value=b"old"), ONE._replace(key=b"m")
    gone = [other._replace(value=b"was"), other._replace(value=None)]
    assert state_of(iter([old, *gone, ONE]), dated=True) == state_of(iter([ONE]), dated=True)
    assert state_of(iter([ONE, other]), dated=True) == state_of(iter([other, ONE]), dated=True)
    assert state_of(iter([ONE, old]), dated=True) != state_of(iter([ONE]), dated=True)
