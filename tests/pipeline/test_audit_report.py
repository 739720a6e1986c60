"""The report of an audit."""

from __future__ import annotations

import json
from typing import Any

from pipeline.audit_report import as_json_text, lines_of
from pipeline.compare import Finding, Side
from tests.pipeline.made import LAKE, job


def finding(*differences: str, **changed: Any) -> Finding:
    side = Side(rows=1_500, total=2**80, mixed=-7, bad=2)
    fields: dict[str, Any] = {
        "topic": "t",
        "partition": 0,
        "begin": 0,
        "until": 1_510,
        "unseen": 0,
        "empty": 8,
        "source": side,
        "table": side,
    }
    return Finding(**{**fields, **changed}, differences=differences)


def test_each_partition_is_a_line_and_the_last_one_is_the_verdict() -> None:
    assert lines_of(job(LAKE), [finding()]) == [
        "land-t: 1,500 rows of /lake/t compared with their topics",
        "  equal     t-0 offsets 0 to 1,510: 1,500 rows, 2 bad, 8 without a record",
        "equal",
    ]


def test_differences_follow_their_partition() -> None:
    lines = lines_of(job(LAKE), [finding("1 offsets missing in the table: 5", unseen=3), finding()])
    assert lines[1].startswith("  DIFFERENT t-0")
    assert lines[1].endswith("; 3 older ones are no longer on the broker")
    assert lines[2].strip() == "1 offsets missing in the table: 5"
    assert lines[-1] == "DIFFERENT in 1 of 2 partitions"


def test_sums_beyond_64_bits_are_texts_in_json() -> None:
    found = json.loads(as_json_text(job(LAKE), [finding()]))
    assert found["equal"] is True
    assert found["partitions"][0]["table"]["total"] == str(2**80)
