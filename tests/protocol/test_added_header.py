"""A header is added to each record, and nothing else changes."""

from __future__ import annotations

from random import Random

import pytest

from protocol import added_header
from protocol.added_header import with_header
from protocol.compression import Codec
from protocol.errors import Malformed
from protocol.record_reader import Headers, Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import check_crc, read_batch_header, renew_crc


def value_of(delta: int) -> bytes:
    return b"value of %d" % delta


@pytest.mark.parametrize("seed", range(60))
def test_records_and_the_batch_are_the_same_but_for_the_new_header(seed: int) -> None:
    random = Random(seed)
    offset, records = 1_000, []
    for _ in range(random.choice((1, 5, 200))):
        headers: Headers = tuple(
            (random.choice(("a", "n", "long" * 30)), random.choice((None, b"", b"x" * 300)))
            for _ in range(random.choice((0, 0, 1, 70)))
        )
        key, value = (
            random.choice((None, b"", random.randbytes(random.choice((1, 63, 64, 9_000))))) for _ in "kv"
        )
        records.append(Record(offset, 5_000 + random.randrange(-(10**6), 10**6), key, value, headers))
        offset += random.choice((1, 1, 7, 9_000))
    stored = encode_batch(
        records,
        codec=random.choice((Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)),
        base_offset=990,
        last_offset=offset + 5,
        leader_epoch=7,
        producer_id=5,
        producer_epoch=3,
        base_sequence=11,
        append_time_ms=random.choice((None, 77)),
        transactional=random.random() < 0.5,
    )
    made = with_header(stored, "n", value_of)
    assert made is not None
    assert check_crc(made)
    before, after = read_batch_header(stored), read_batch_header(made)
    assert after.size_bytes == len(made)
    changed = {"batch_length": 0, "crc": 0, "base_timestamp": 0}
    assert after._replace(**changed) == before._replace(**changed)
    expected = [
        record._replace(
            headers=(*(own for own in record.headers if own[0] != "n"), ("n", value_of(record.offset - 990)))
        )
        for record in iter_records(stored)
    ]
    assert list(iter_records(made)) == expected


@pytest.mark.parametrize("seed", range(200))
def test_a_broken_batch_is_refused_or_read_as_it_is(seed: int) -> None:
    random = Random(seed)
    records = [
        Record(number, 1, b"k%d" % number, b"v" * 20, (("h", b"x"),) * (number % 3)) for number in range(6)
    ]
    broken = encode_batch(records)
    broken[random.randrange(61, len(broken))] ^= 1 << random.randrange(8)
    renew_crc(broken)
    try:
        made = with_header(broken, "n", value_of)
        assert made is not None
        found = [record._replace(headers=record.headers[:-1]) for record in iter_records(made)]
    except Malformed:
        return  # what cannot be read here is not given anew
    assert found == list(iter_records(broken))


def test_a_batch_that_grows_beyond_what_readers_take_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = encode_batch([Record(0, 1, None, b"v" * 900)])
    monkeypatch.setattr(added_header, "OUTPUT_BYTES_MAX", 1_000)
    assert with_header(stored, "n", value_of) is not None
    assert with_header(stored, "n" * 100, value_of) is None
