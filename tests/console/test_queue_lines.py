"""Peeked records as JSON lines."""

from __future__ import annotations

import json
from io import BytesIO

import pytest

from console.client import Trouble
from console.queue_lines import line_of, print_peeked
from console.queue_peek import Partition, Peeked, Segment
from protocol.record_reader import Record
from tests.console.queues import Busy


def test_a_line_has_the_record_and_what_the_group_knows_of_it() -> None:
    record = Record(7, 1_000, b"k", b"\xff", ())
    segment = Segment(5, 9, "acquired", 2, "m1", 400)
    line = line_of(Peeked(Partition("t", 3), record, segment))
    assert line.endswith(b"\n")
    assert json.loads(line) == {
        "topic": "t", "partition": 3, "offset": 7, "timestamp": 1_000, "key": "k", "value_base64": "/w==",
        "headers": [], "state": "acquired", "deliveries": 2, "member": "m1", "lock_ms": 400,
    }  # fmt: skip


def test_lines_are_written_for_the_partitions_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    Busy(monkeypatch)
    output = BytesIO()
    print_peeked(output, "h:1", "g", {"jobs": {1}}, count=9, state="available", trouble=Trouble())
    (line,) = output.getvalue().splitlines()
    assert (json.loads(line)["value"], json.loads(line)["state"]) == ("other", "available")
