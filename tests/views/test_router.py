"""A batch routed by an expression: each value's records, byte for byte, and no others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.compression import Codec
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import read_batch_header
from tests.views.rows import content, finished, make_plan
from views.filtering import Limits
from views.router import RoutedBatch, Router, build_router, route_steps

COLUMNS = "id bigint, name string, body string"


def router(where: str) -> Router:
    plan = make_plan(f"SELECT id FROM t WHERE {where}", COLUMNS)
    assert plan.predicate is not None
    return build_router(plan, plan.predicate.args[0])


BY_ID, BY_NAME = router("id % 3 = 1"), router("name = 'a'")


def routed(one: Router, batch: bytes | bytearray) -> RoutedBatch:
    found, _ = finished(route_steps(one, memoryview(batch), partition=0))
    return found


def record(offset: int, value: Any, **other: Any) -> Record:
    return Record(offset, 1_000 + offset, b"k%d" % offset, content(value), **other)


def test_the_records_of_a_value_are_a_batch_with_their_offsets_times_keys_and_headers() -> None:
    records = [record(offset, {"id": offset}, headers=(("h", b"x"),)) for offset in range(10, 20)]
    batch = encode_batch(records, leader_epoch=5, base_offset=8, last_offset=30)
    cut = routed(BY_ID, batch).records(1)
    assert cut is not None
    assert list(iter_records(cut)) == [record for record in records if record.offset % 3 == 1]
    whole, header = read_batch_header(batch), read_batch_header(cut)
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (8, 30, 5)
    assert (header.base_timestamp, header.record_count) == (whole.base_timestamp, 4)


def test_of_a_value_that_no_record_has_there_is_no_batch() -> None:
    assert routed(BY_ID, encode_batch([record(0, {"id": 3})])).records(1) is None


def test_records_without_the_value_are_left_out_and_those_that_do_not_fit_are_counted() -> None:
    values: list[Any] = [{"id": 1}, {}, {"id": None}, None, {"id": "x"}, b"no JSON", {"id": 4}, b""]
    found = routed(BY_ID, encode_batch([record(at, value) for at, value in enumerate(values)]))
    assert (sorted(found.places), found.unfit) == ([1], 3)
    cut = found.records(1)
    assert cut is not None
    assert [record.offset for record in iter_records(cut)] == [0, 6]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.SNAPPY, Codec.ZSTD])
def test_compressed_batches_give_records_that_are_not_compressed(codec: int) -> None:
    records = [record(offset, {"name": "ab"[offset % 2]}) for offset in range(6)]
    cut = routed(BY_NAME, encode_batch(records, codec=codec)).records("a")
    assert cut is not None
    assert read_batch_header(cut).codec == Codec.NONE
    assert list(iter_records(cut)) == records[::2]


@pytest.mark.parametrize("cut", [62, 70, 90])
def test_of_a_batch_that_cannot_be_read_every_record_is_unfit(cut: int) -> None:
    batch = encode_batch([record(at, {"id": 1}) for at in range(4)])
    batch[cut:] = b"\xff" * (len(batch) - cut)
    found = routed(BY_ID, batch)
    assert (found.places, found.unfit) == ({}, 4)


def test_a_batch_of_many_records_is_looked_at_in_slices() -> None:
    batch = encode_batch([record(at, {"id": at}) for at in range(5_000)])
    assert sum(1 for _ in route_steps(BY_ID, memoryview(batch), limits=Limits(slice_records=500))) >= 10


def test_the_memory_of_a_batch_is_at_least_that_of_its_records() -> None:
    batch = encode_batch([record(at, {"id": at, "body": "x" * 1_000}) for at in range(100)], codec=Codec.ZSTD)
    assert routed(BY_ID, batch).size_bytes > 100_000 > len(batch)


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.binary(max_size=30),
            st.fixed_dictionaries(
                {},
                optional={
                    "name": st.text(max_size=3),
                    "id": st.integers(-5, 5),
                    "z": st.floats(allow_nan=False, allow_infinity=False),
                },
            ),
        ),
        min_size=1,
        max_size=20,
    ),
    st.booleans(),
)
def test_each_record_is_under_the_value_that_its_expression_has(values: list[Any], is_late: bool) -> None:
    records = [record(at, value) for at, value in enumerate(values)]
    batch = encode_batch(records, append_time_ms=9_999 if is_late else None)
    found = routed(BY_NAME, batch)
    expected: dict[str, list[int]] = {}
    for made, value in zip(records, values, strict=True):
        if isinstance(value, dict) and "name" in value:
            expected.setdefault(value["name"], []).append(made.offset)
    shown: dict[str, list[int]] = {}
    for value in found.places:
        cut = found.records(value)
        assert cut is not None
        shown[value] = [found_record.offset for found_record in iter_records(cut)]
        assert {found_record.timestamp_ms for found_record in iter_records(cut)} <= (
            {9_999} if is_late else set(range(1_000, 1_020))
        )
    bytes_values = sum(isinstance(value, bytes) for value in values)
    assert shown == expected
    # Bytes may be JSON by chance, such as `{}`; then they fit.
    assert found.unfit <= bytes_values
