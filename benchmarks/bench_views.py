"""The cost of a view per record of its source: `python -m benchmarks.bench_views`.

Microseconds of CPU per input record, from a stored batch to the batch that a client gets, by the shape of the
view, by how much matches, and by codec and size of the source's batches. The figure is the best of several
runs: evaluating a view is pure computation, and other load then disturbs it less.

The line `floor` is the time the decoder takes to see that a value is a JSON object, keeping nothing of it: no
view over values can be cheaper, because records that do not fit are counted. The last two lines are what a
client would do instead, in Python.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from functools import partial

import msgspec

from protocol.compression import Codec
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from views.columns import parse_columns
from views.evaluator import Evaluator, build_evaluator
from views.filtering import filter_batch
from views.plan import plan_view
from views.statement import parse_view

COLUMNS = (
    "ts timestamp, carrier string, flight int, current double, voltage int, location string tag, note string"
)
RECORDS = 1_000
FEW_MEMBERS, MANY_MEMBERS = 7, 1_000
# The limit for voltage, which is uniform from 0 to 9,999, sets the share of records that match.
SHARES = {"0.01 %": 1, "1 %": 100, "10 %": 1_000, "50 %": 5_000, "100 %": 10_000}
SHAPES = {
    "SELECT *": "SELECT * FROM t WHERE voltage < {}",
    "3 columns": "SELECT ts, carrier, current * voltage AS power FROM t WHERE voltage < {}",
    "text": "SELECT ts, UPPER(carrier) AS c, note FROM t WHERE voltage < {} AND note LIKE 'x%y%'",
    "tags": "STABLE t WHERE location = 'California.SanFrancisco' AND HEADER('v') IS NULL",
    "key": "SELECT * FROM t WHERE _key = 'd7'",
    "all": "SELECT * FROM t",
}


def main() -> None:
    """Print the tables."""
    for size, members_max in ((200, MANY_MEMBERS), (1_000, FEW_MEMBERS), (1_000, MANY_MEMBERS)):
        records = _records(size, members_max)
        print(f"\n{RECORDS} records of {_shape(records)}")
        print(f"{'µs per input record':<26}" + "".join(f"{codec.name.lower():>9}" for codec in CODECS))
        for name, run in _runs(records).items():
            figures = (run(memoryview(encode_batch(records, codec=codec))) for codec in CODECS)
            print(f"{name:<26}" + "".join(f"{figure:>9.3f}" for figure in figures), flush=True)
    print("\none view: parse, plan and compile")
    for name, sql in SHAPES.items():
        print(f"  {name:<24}{microseconds(partial(_view, sql.format(1))) / 1_000:>9.2f} ms")


def _shape(records: list[Record]) -> str:
    values = [record.value or b"" for record in records]
    members = sum(len(msgspec.json.decode(value)) for value in values) // RECORDS
    return f"{sum(map(len, values)) // RECORDS} bytes of JSON, {members} members"


BATCHES, BATCH_SECONDS = 15, 0.02
CODECS = (Codec.NONE, Codec.LZ4, Codec.ZSTD)


def _runs(records: list[Record]) -> dict[str, Callable[[memoryview], float]]:
    runs: dict[str, Callable[[memoryview], float]] = {}
    for shape, sql in SHAPES.items():
        shares = SHARES if "{}" in sql else {"": 0}
        for share, bound in shares.items():
            runs[f"{shape} {share}".strip()] = partial(_filter, _view(sql.format(bound)))
    runs["floor"] = _floor
    runs["read records, in Python"] = _read
    runs["read and decode all JSON"] = _decode
    return runs


def _filter(view: Evaluator, batch: memoryview) -> float:
    return microseconds(partial(filter_batch, view, batch)) / RECORDS


def _floor(batch: memoryview) -> float:
    values = [record.value or b"" for record in iter_records(batch)]
    check = msgspec.json.Decoder(_Nothing).decode

    def check_all() -> None:
        for value in values:
            check(value)

    return microseconds(check_all) / RECORDS


class _Nothing(msgspec.Struct, gc=False):
    """A JSON object of which nothing is kept."""


def _read(batch: memoryview) -> float:
    return microseconds(lambda: list(iter_records(batch))) / RECORDS


def _decode(batch: memoryview) -> float:
    decode = msgspec.json.decode
    return microseconds(lambda: [decode(record.value or b"null") for record in iter_records(batch)]) / RECORDS


def microseconds(function: Callable[[], object]) -> float:
    """Return the CPU time of one call: the least of 15 runs of about 20 ms."""
    count = max(1, int(BATCH_SECONDS / _cpu_seconds(function, 1)))
    return min(_cpu_seconds(function, count) for _ in range(BATCHES)) / count * 1e6


def _cpu_seconds(function: Callable[[], object], count: int) -> float:
    started = time.thread_time()
    for _ in range(count):
        function()
    return time.thread_time() - started


def _view(sql: str) -> Evaluator:
    return build_evaluator(plan_view(parse_view(sql), parse_columns(COLUMNS)))


def _records(size: int, members_max: int) -> list[Record]:
    chance = random.Random(7)
    return [
        Record(at, 1_700_000_000_000 + at, b"d%d" % (at % 100), _value(chance, at, size, members_max))
        for at in range(RECORDS)
    ]


def _value(chance: random.Random, at: int, size: int, members_max: int = MANY_MEMBERS) -> bytes:
    row: dict[str, object] = {
        "ts": 1_700_000_000_000 + at,
        "carrier": chance.choice(["AA", "UA", "DL", "B6"]),
        "flight": chance.randrange(9_999),
        "current": round(chance.random() * 20, 6),
        "voltage": at * 7_919 % 10_000,
        "location": "California.SanFrancisco",
        "note": "x" * 20 + "y",
    }
    if members_max <= FEW_MEMBERS:
        row["note"] = "x" * max(20, size - len(json.dumps(row)) + 20) + "y"
    while len(text := json.dumps(row).encode()) < size:
        number = len(row)
        row[f"field{number}"] = (
            f"value {chance.randrange(10**6)} {'v' * 20}" if number % 2 else chance.random()
        )
    return text


if __name__ == "__main__":
    main()
