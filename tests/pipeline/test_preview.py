"""The lines of a preview."""

from __future__ import annotations

import json
from typing import Any

from pipeline.preview import preview_lines
from tests.pipeline.made import lake_shape, records


def shown(spark: Any, values: list[bytes | None], **tables: Any) -> list[tuple[bool, dict[str, Any]]]:
    lines = preview_lines(records(spark, values), lake_shape(**tables))
    return [(line.bad, json.loads(line.text)) for line in lines]


def test_good_and_bad_records_are_shown_in_the_order_of_their_offsets(spark: Any) -> None:
    schema = {"mode": "json", "columns": "a int"}
    first, second, third = shown(spark, [b'{"a":1}', b"junk", b"{}"], schema=schema)
    assert first == (
        False,
        {
            "a": 1,
            "key": "0",
            "topic": "t",
            "partition": 0,
            "offset": 0,
            "timestamp": "2013-01-01T00:00:00.000Z",
        },
    )
    assert second[0]
    assert (second[1]["_bad"], second[1]["value"]) == ("not JSON: invalid character (byte 0)", "junk")
    assert third[1]["a"] is None


def test_bytes_are_shown_as_text_or_else_in_base64(spark: Any) -> None:
    values = [line["value"] for _, line in shown(spark, [b"text", b"\xff\x00", None])]
    assert values == ["text", "/wA=", None]


def test_a_prefix_is_shown_as_it_would_land(spark: Any) -> None:
    schema = {"mode": "json", "columns": "offset int", "coordinates_prefix": "k_"}
    [(bad, line)] = shown(spark, [b'{"offset":7}'], schema=schema)
    assert (bad, line["offset"], line["k_offset"]) == (False, 7, 0)
