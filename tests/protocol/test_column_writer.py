"""A batch made of columns has the bytes of one made of records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.column_writer import encode_columns
from protocol.compression import Codec
from protocol.record_columns import columns_of
from protocol.record_reader import Record
from protocol.record_writer import encode_batch

NOW_MS = 1_700_000_000_000

maybe_bytes = st.none() | st.binary(max_size=3) | st.just(b"x" * 9_000)
pairs = st.lists(st.tuples(st.text(max_size=3), maybe_bytes), max_size=2).map(tuple)
columns = st.lists(st.just(b"v") | maybe_bytes, max_size=4) | st.lists(st.none(), max_size=4)


@given(columns, columns, st.lists(st.integers(0, NOW_MS), max_size=4), st.lists(pairs, max_size=4))
def test_the_bytes_are_those_of_the_records(
    keys: list[bytes | None],
    values: list[bytes | None],
    times: list[int],
    headers: list[tuple[tuple[str, bytes | None], ...]],
) -> None:
    places = range(max(len(keys), len(values), 1))
    records = [
        Record(
            5 + 3_000 * at,
            times[at] if at < len(times) else NOW_MS,
            keys[at] if at < len(keys) else None,
            values[at] if at < len(values) else None,
            headers[at] if at < len(headers) else (),
        )
        for at in places
    ]
    assert encode_columns(columns_of(records)) == encode_batch(records)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.ZSTD])
def test_codec_and_producer_are_in_the_header(codec: Codec) -> None:
    records = [Record(at, NOW_MS, None, b"%d" % at) for at in range(10_000)]
    options = {"codec": codec, "producer_id": 7, "producer_epoch": 1, "base_sequence": 2**31 - 5}
    assert encode_columns(columns_of(records), **options) == encode_batch(records, **options)  # type: ignore[arg-type]
