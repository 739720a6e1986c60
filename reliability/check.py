"""The checker of histories, with the names of Jepsen's Kafka workload for what it finds.

    lost-write            acknowledged or read once, at or above the log start, and not in the final read
    duplicate             one value at two offsets (idempotent producers)
    inconsistent-offsets  two values at one offset
    G1a                   a value was read whose send certainly failed
    unsent-read           a value was read that no client sent
    nonmonotonic-poll     a reader went back between two polls;  int-nonmonotonic-poll: within one
    poll-skip             a reader left out a value that lies between two polls;  int-poll-skip: within one
    nonmonotonic-send     a producer's acknowledgements of one partition are out of the order of its sends
    torn-transaction      some values of a transaction are in the final read, and others are not
    refused-in-time       a transactional producer heard that it is fenced, or in another state, although its
                          transaction was open for less than its timeout, and no clock had jumped
    lost-commit           a group's committed offset is below one that was acknowledged, or was never sent

Polls are compared between one `assign` of a process and its next: a new one may begin anywhere. Compacted
partitions keep the newest value of each record key only, so that they are held to that and not to skips.
Source: jepsen.tests.kafka; torn-transaction, refused-in-time and lost-commit are ours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from reliability.history import Op

FINAL: Final = "final"
"""Processes with this prefix read everything after the last fault."""

SHOWN_MAX: Final = 8

REFUSALS: Final = frozenset(
    {
        "_FENCED",
        "PRODUCER_FENCED",
        "INVALID_PRODUCER_EPOCH",
        "INVALID_PRODUCER_ID_MAPPING",
        "INVALID_TXN_STATE",
    }
)
"""librdkafka's names of what a producer hears that was replaced or has lost its transaction."""

TRANSACTION_TIMEOUT_MS: Final = 15_000
"""The transaction.timeout.ms of the producers; librdkafka lets no message wait longer.

Longer than the start of a server on an overloaded machine, so that transactions go on across it.
"""

Anomalies = dict[str, list[dict[str, Any]]]


class Check:
    """One pass over a history; `anomalies` has what was found, by name."""

    def __init__(
        self, ops: Iterable[Op], *, log_starts: Mapping[str, int], compacted: frozenset[str] = frozenset()
    ) -> None:
        """Check a history; `log_starts` are the first offsets kept, `compacted` partitions compact."""
        self.anomalies: Anomalies = defaultdict(list)
        self._log_starts = log_starts
        self._compacted = compacted
        self._sent: dict[str, str] = {}
        self._values: dict[str, dict[int, str]] = defaultdict(dict)
        self._offsets: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._final: dict[str, set[int]] = defaultdict(set)
        self.counts: dict[str, int] = defaultdict(int)
        ops = list(ops)
        self._collect(ops)
        self._check_final()
        self._check_sends(ops)
        self._check_polls(ops)
        self._check_commits(ops)
        self._check_transactions(ops)
        self._check_replaced(ops)

    def _found(self, name: str, **facts: Any) -> None:
        self.anomalies[name].append(facts)

    def _collect(self, ops: list[Op]) -> None:
        for op in ops:
            self.counts[f"{op.f}-{op.type}"] += 1
            if op.f == "send":
                self._sent[op.value] = op.type
                if op.type == "ok":
                    self._seen(op.key, op.offset, op.value)
        for op in ops:
            if op.f != "poll":
                continue
            self.counts["records-read"] += len(op.records)
            for key, offset, value in op.records:
                self._seen(key, offset, value)
                if op.process.startswith(FINAL):
                    self._final[key].add(offset)
                status = self._sent.get(value)
                if status is None:
                    self._found("unsent-read", key=key, offset=offset, value=value)
                elif status == "fail":
                    self._found("G1a", key=key, offset=offset, value=value)

    def _seen(self, key: str, offset: int, value: str) -> None:
        known = self._values[key].setdefault(offset, value)
        if known != value:
            self._found("inconsistent-offsets", key=key, offset=offset, values=[known, value])
        offsets = self._offsets[key, value]
        if offset not in offsets:
            offsets.add(offset)
            if len(offsets) > 1:
                self._found("duplicate", key=key, value=value, offsets=sorted(offsets))

    def _check_final(self) -> None:
        for key, values in self._values.items():
            start, read = self._log_starts.get(key, 0), self._final[key]
            wanted = {offset: value for offset, value in values.items() if offset >= start}
            if key in self._compacted:
                newest = {record_key(value): offset for offset, value in sorted(wanted.items())}
                wanted = {offset: values[offset] for offset in newest.values()}
            for offset, value in wanted.items():
                if offset not in read:
                    self._found("lost-write", key=key, offset=offset, value=value)

    def _check_sends(self, ops: list[Op]) -> None:
        order: dict[tuple[str, str], list[str]] = defaultdict(list)
        acked: dict[str, int] = {}
        for op in ops:
            if op.f == "send" and op.type == "invoke":
                order[op.process, op.key].append(op.value)
            elif op.f == "send" and op.type == "ok":
                acked[op.value] = op.offset
        for (process, key), values in order.items():
            last = -1
            for value in values:
                offset = acked.get(value)
                if offset is None:
                    continue
                if offset <= last:
                    self._found("nonmonotonic-send", process=process, key=key, value=value, offset=offset)
                last = max(last, offset)

    def _check_polls(self, ops: list[Op]) -> None:
        known = {key: sorted(values) for key, values in self._values.items()}
        last: dict[str, dict[str, int]] = defaultdict(dict)
        for op in ops:
            if op.f == "assign":
                last[op.process].clear()
            elif op.f == "poll":
                inside: set[str] = set()
                for key, offset, _ in op.records:
                    before = last[op.process].get(key)
                    prefix = "int-" if key in inside else ""
                    if before is not None:
                        self._check_step(prefix, op.process, key, before, offset, known[key])
                    inside.add(key)
                    last[op.process][key] = offset

    def _check_step(
        self, prefix: str, process: str, key: str, before: int, offset: int, known: list[int]
    ) -> None:
        facts = {"process": process, "key": key, "after": before, "offset": offset}
        if offset <= before:
            self._found(f"{prefix}nonmonotonic-poll", **facts)
            return
        place = bisect_left(known, before + 1)
        is_left_out = known[place] < offset and known[place] >= self._log_starts.get(key, 0)
        if is_left_out and key not in self._compacted:
            self._found(f"{prefix}poll-skip", **facts, left_out=known[place])

    def _check_commits(self, ops: list[Op]) -> None:
        acked: dict[tuple[str, str], int] = {}
        tried: dict[tuple[str, str], int] = {}
        for op in ops:
            place = op.process, op.key
            if op.f == "commit":
                tried[place] = max(tried.get(place, -1), op.offset)
                if op.type == "ok":
                    acked[place] = max(acked.get(place, -1), op.offset)
            elif op.f == "committed" and not acked.get(place, -1) <= op.offset <= tried.get(place, -1):
                facts = {"group": op.process, "key": op.key, "found": op.offset, "acked": acked.get(place)}
                self._found("lost-commit", **facts)

    def _check_transactions(self, ops: list[Op]) -> None:
        """Look for transactions of which a part can be read, in partitions that keep everything."""
        there = {self._values[key][offset] for key, offsets in self._final.items() for offset in offsets}
        for op in ops:
            if op.f != "txn":
                continue
            values = [value for key, _, value in op.records if self._keeps_all(key)]
            missing = [value for value in values if value not in there]
            if missing and (op.type == "ok" or len(missing) < len(values)):
                self._found("torn-transaction", process=op.process, outcome=op.type, missing=missing)

    def _check_replaced(self, ops: list[Op]) -> None:
        """Look for instances that had no reason to end; a timeout counts by the server's wall clock."""
        if any(op.f == "clock" for op in ops):
            return
        for op in ops:
            if op.f == "replaced" and op.value in REFUSALS and op.offset < TRANSACTION_TIMEOUT_MS:
                self._found("refused-in-time", process=op.process, code=op.value, open_ms=op.offset)

    def _keeps_all(self, key: str) -> bool:
        return key not in self._compacted and not self._log_starts.get(key, 0)

    def summary(self) -> dict[str, int]:
        """Return how often each anomaly was found."""
        return {name: len(found) for name, found in sorted(self.anomalies.items())}

    def shown(self) -> str:
        """Return the first few of each anomaly, as text."""
        lines = []
        for name, found in sorted(self.anomalies.items()):
            lines.append(f"{name}: {len(found)}")
            lines += [f"    {facts}" for facts in found[:SHOWN_MAX]]
        return "\n".join(lines)


def record_key(value: str) -> str:
    """Return the record key in a value of a compacted partition: KEY|PROCESS:NUMBER."""
    return value.partition("|")[0]
