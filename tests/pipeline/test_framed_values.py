"""Framed values in Spark's workers."""

from __future__ import annotations

import json
import struct
from typing import Any

import pyarrow as pa
import pytest

from pipeline import arrow_rows
from pipeline.arrow_rows import FIELD, REASON, read_rows
from pipeline.framed_values import FramedValues, framed_values
from registry.errors import Unreachable
from tests.pipeline.made import lake_shape

PAGES: dict[str, Any] = {
    "schemas/ids/1": {"schemaType": "JSON", "schema": "{}"},
    "schemas/ids/2": {
        "schema": json.dumps(
            {
                "type": "record",
                "name": "O",
                "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "double"}],
            }
        )
    },
    "schemas/ids/3": {"schema": "{"},
}
GOOD = struct.pack("<d", 1.5)


def framed(identity: int, payload: bytes) -> bytes:
    return struct.pack(">bi", 0, identity) + payload


def test_values_become_json_and_each_schema_is_asked_for_once() -> None:
    asked: list[str] = []

    def ask(path: str) -> Any:
        asked.append(path)
        return PAGES.get(path)

    reader = FramedValues(ask)
    values = [framed(1, b'{"a":1}'), None, framed(2, b"\x02" + GOOD), framed(9, b""), framed(3, b""), b"{}"]
    for _ in range(2):
        found, problems = reader.read(values)
        assert found == [b'{"a":1}', None, b'{"a":1,"b":1.5}', b"", b"", b""]
        assert problems[3] == "the schema registry has no schema 9"
        assert problems[4].startswith("schema 3 cannot be read")
        assert problems[5] == "a framed value has at least 5 bytes, and this one has 2"
    assert sorted(asked) == [f"schemas/ids/{number}" for number in (1, 2, 3, 9)]


def test_a_registry_that_is_away_stops_the_worker() -> None:
    def away(_path: str) -> Any:
        raise Unreachable("nothing answers")

    with pytest.raises(Unreachable):
        FramedValues(away).read([framed(1, b"{}")])


def test_a_job_with_a_registry_lands_them_and_quarantines_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_rows, "framed_values", lambda _url: FramedValues(PAGES.get))
    shape = lake_shape("a int, b double", schema={"registry": "http://registry:8081"})
    values = [framed(2, b"\x02" + GOOD), framed(1, b'{"a":"x"}'), framed(2, b"\x02"), b"{}"]
    batch = pa.RecordBatch.from_pydict({"key": pa.array([None] * 4, pa.binary()), "value": values})
    rows = read_rows(batch, shape).to_pydict()
    assert (rows[f"{FIELD}0"], rows[f"{FIELD}1"]) == ([1, None, None, None], [1.5, None, None, None])
    assert rows[REASON] == [
        None,
        "a: expected int, got a string",
        "not of schema 2: 8 bytes are wanted at byte 1 of 1",
        "a framed value has at least 5 bytes, and this one has 2",
    ]
    assert rows["value"] == [None, *values[1:]]


def test_a_process_has_one_reader_for_an_address() -> None:
    assert framed_values("http://registry:8081") is framed_values("http://registry:8081")
