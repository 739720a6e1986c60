"""The mutants of share groups; reliability/mutants.py runs them."""

from __future__ import annotations

from typing import Final

from reliability.mutant import Mutant

SHARES: Final = "tests/sim/test_share_simulation.py"

PARTITION: Final = "groups/share/share_partition.py"
TABLE: Final = "groups/share/table.py"
RANGES: Final = "groups/share/ranges.py"

MUTANTS: Final = (
    Mutant(
        "acknowledgements are answered before they are durable", TABLE,
        "        self._write(share.home, self._record(share, change), undo, done)\n",
        "        self._write(share.home, self._record(share, change), undo, lambda error, now_ms: None)\n"
        "        done(None, self.now_ms)\n",
        (SHARES,),
    ),
    Mutant(
        "a record that a member has is given to others", "groups/share/record_range.py",
        "        if self.state != RecordState.AVAILABLE or (", "        if self.state not in (0, 1) or (",
        (SHARES,),
    ),
    Mutant(
        "the count of a released record is not stored", RANGES,
        "            StoredRange(part.first, part.last, facts.state, facts.delivery_count, facts.cause)\n",
        "            StoredRange(part.first, part.last, facts.state, 0, facts.cause)\n",
        (SHARES,),
    ),
    Mutant(
        "locks run out before their time", PARTITION,
        "        times = (now_ms, now_ms + limits.lock_ms)\n",
        "        times = (now_ms, now_ms + limits.lock_ms // 2)\n", (SHARES,),
    ),
    Mutant(
        "rejected records have no dead letters", "groups/share/states.py",
        "    if found.cause != Cause.NONE and at_limit == AtLimit.TAIL:",
        "    if found.cause == Cause.LIMIT and at_limit == AtLimit.TAIL:", (SHARES,),
    ),
    Mutant(
        "letters that were due at a crash are forgotten", TABLE,
        "            if not share.is_kept and any(True for _ in share.partition.archiving()):",
        "            if False:", (SHARES,),
    ),
    Mutant(
        "a snapshot leaves out what is finished", RANGES,
        "            if count or state != RecordState.AVAILABLE:", "            if state == 0:", (SHARES,),
    ),
    Mutant(
        "what could not be stored is not taken back", TABLE,
        "            share.partition.undo(change)\n", "            share.partition.settle(change)\n",
        (SHARES,),
    ),
    Mutant(
        "a reset leaves the old state in the log", TABLE,
        "        record = encode_snapshot(key, self.snapshot(share))\n",
        "        record = encode_snapshot(key, self.snapshot(before or share))\n", (SHARES,),
    ),
    Mutant(
        "an earlier session gives back what a later one acquired", "broker/handlers/share_fetch.py",
        "        if epoch == OPENING_EPOCH:\n            yield from queues.left(self._member)\n", "",
        (SHARES,),
    ),
    Mutant(
        "the states of a group are deleted before their names", "groups/share/deletion.py",
        "    _leave_topics(membership, group, tuple(group.initialized), _ordering(membership, order, done))",
        "    membership.orders.append(order)", (SHARES,),
    ),
    Mutant(
        "aborted records are delivered to groups that read committed ones", "broker/fetching/share_reader.py",
        "            aborted = partition.aborted_between(piece.first, piece.end)", "            aborted = []",
        (SHARES,),
    ),
)  # fmt: skip
