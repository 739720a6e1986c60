"""Share groups as text."""

from __future__ import annotations

from typing import Any

from console.queue_tables import MEMBERS, PARTITIONS, described_text, listed_text


def row(**values: Any) -> dict[str, Any]:
    return {"group": "g\x1b", "state": "Empty", "assignor": "", "members": [], "partitions": [], **values}


def test_an_empty_list_and_a_group_without_anything() -> None:
    assert listed_text([]) == "no share groups"
    lines = described_text(row(counters=None)).splitlines()
    assert lines == [r"group g\x1b   state Empty   assignor -", "no members", "nothing was read yet"]


def test_unknown_numbers_are_dashes_and_counts_are_pairs() -> None:
    member = {**dict.fromkeys(MEMBERS), "idle_seconds": 1.25, "assigned": ["t-0", "t-1"]}
    partition = {**dict.fromkeys(PARTITIONS), "oldest_seconds": None, "deliveries": {1: 6, 2: 2}}
    partition |= {"topic": "t", "partition": 3, "error": "loading"}
    text = described_text(row(members=[member], partitions=[partition], counters={"lock_timeouts": 3}))
    _, _, member_line, _, partition_line, error, counters = text.splitlines()
    assert member_line.split()[-3:] == ["1.2", "s", "t-0,t-1"]
    assert partition_line.split()[-4:] == ["1:6", "2:2", "-", "-"]
    assert error == "t-3: loading"
    assert counters == "records since the server's start: lock timeouts 3"
