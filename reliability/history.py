"""The history of a run: what every client asked for, and what it was told, as JSON lines.

    {"process": "librdkafka-0", "f": "send", "type": "invoke", "key": "plain-1", "value": "librdkafka-0:17"}
    {"process": "librdkafka-0", "f": "send", "type": "ok", "key": "plain-1", "value": "...", "offset": 42}

`f` is send, txn, poll, assign, commit, committed, replaced, clock, fault or crash; `type` is invoke, ok, fail
(it certainly did not happen) or info (it may have happened). A poll carries `records`: [key, offset, value],
as they came; a txn, at its end, those that were sent in it, with the offsets that are known. Readers see
committed records. Keys are partitions, values are unique in a run.
Source: the operations of Jepsen's Kafka workload.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Record = tuple[str, int, str]
"""Key (partition), offset, value."""


class Op(NamedTuple):
    """One line of a history."""

    process: str
    f: str
    type: str
    key: str = ""
    value: str = ""
    offset: int = -1
    records: tuple[Record, ...] = ()
    time_ns: int = 0


class History:
    """A history in memory, and in a file as it grows; clients in many threads add to it."""

    def __init__(self, path: Path | None = None) -> None:
        self.ops: list[Op] = []
        self.acknowledged = 0
        """The number of sends that were acknowledged."""
        self.newest: dict[str, int] = {}
        """The last offset that was acknowledged, by key."""
        self.reached: dict[tuple[str, str], int] = {}
        """The last offset that a process has polled, by process and key."""
        self._lock = threading.Lock()
        self._file = path.open("a") if path is not None else None

    def add(self, process: str, f: str, type_: str, **fields: Any) -> None:
        """Add an operation with the present time."""
        with self._lock:
            op = Op(process, f, type_, time_ns=time.monotonic_ns(), **fields)
            self.ops.append(op)
            self._count(op)
            if self._file is not None:
                self._file.write(json.dumps(op._asdict()) + "\n")

    def _count(self, op: Op) -> None:
        """Note the progress, so that a rig need not read the whole history again and again."""
        if op.f == "send" and op.type == "ok":
            self.acknowledged += 1
            self.newest[op.key] = max(self.newest.get(op.key, -1), op.offset)
        for key, offset, _ in op.records if op.f == "poll" else ():
            place = op.process, key
            self.reached[place] = max(self.reached.get(place, -1), offset)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def read_history(path: Path) -> Iterator[Op]:
    """Yield the operations in a file."""
    for line in path.read_text().splitlines():
        fields = json.loads(line)
        fields["records"] = tuple((key, offset, value) for key, offset, value in fields["records"])
        yield Op(**fields)
