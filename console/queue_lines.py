"""Peeked records as JSON lines: those of `kawal consume --json`, and what the group knows of each."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from console.client import Trouble
from console.queue_changes import Topics
from console.queue_peek import RANGES_MAX, Peeked, ask_group, peek
from console.record_lines import dump_json


def print_peeked(
    output: BinaryIO,
    bootstrap: str,
    group_id: str,
    topics: Topics,
    *,
    count: int,
    state: str | None,
    trouble: Trouble,
) -> None:
    """Print the first records of each partition that are under way or come next.  Raises: CommandError."""
    # Records of one state may come after any number of ranges of the other.
    ranges_max = count if state is None else RANGES_MAX
    group = ask_group(bootstrap, group_id, ranges_max)

    def wanted(topic: str, index: int) -> bool:
        return not topics or (topic in topics and index in (topics[topic] or {index}))

    output.writelines(
        line_of(found)
        for found in peek(
            bootstrap,
            group,
            count,
            wanted=wanted,
            state=state,
            trouble=trouble,
        )
    )
    output.flush()


def line_of(found: Peeked) -> bytes:
    """Return a record as a line."""
    row: dict[str, Any] = json.loads(dump_json(found.partition, [found.record]))
    row |= {
        "state": found.segment.state,
        "deliveries": found.segment.deliveries,
        "member": found.segment.member,
        "lock_ms": found.segment.lock_ms,
    }
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"
