"""The named producers of a vnode: the last number that each has written, which outlives its connection.

A name counts in a *scope*, a set of streams that the caller chooses: a topic. Each name has one packed value,
little endian and immutable:

    state := stream:u64 seqno:i64 written_ms:i64 transaction:i64 transaction_seqno:i64      -1: there is none

`seqno` is the last number that is decided. A number written in a transaction waits beside it, with the
transaction's producer id, until a marker decides: a commit moves it to `seqno`, an abort removes it.

Every change is a meta entry in the frame of the batch, or the marker, that makes it, so the two become
durable together. The entry holds whole states: replay puts them in their order, also over a later checkpoint.

    entry := scope:u64 (length:u16 name state)*                                   after the byte of its kind

As in `wal.producers`, a change counts at once and `revert` takes back what did not become durable.
"""

from __future__ import annotations

import struct
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from crc32c import crc32c

from wal.format import MetaKind

if TYPE_CHECKING:
    from wal.options import LogOptions

NONE = -1
"""Stands for a number or a transaction that is not there."""

PARTS = 64
"""The parts of a scope: of 100,000 names, 1,600 each."""

SCOPE_BYTES = 5_000
"""The memory of a scope: 64 dicts, of which one has a name, and its places in others (measured: 4,700)."""

NAMED_BYTES = 250
"""The memory of a name beyond its own bytes: its state, its place, two objects (measured: 180 to 260)."""

BYTES_MAX = 1 << 62
"""No limit: a log on its own is no part of a server."""

STATE = struct.Struct("<Qqqqq")
_HEAD = struct.Struct("<BQ")
_LENGTH = struct.Struct("<H")
NAME_BYTES_MAX = 2**16 - 1
FREED_AT_ONCE = 10_000
"""The names of a dropped scope that are freed without a pause, in 1 ms."""

States = dict[bytes, bytes]
_NO_NAMES: dict[int, set[bytes]] = {}


class NamedState(NamedTuple):
    """The state of one name."""

    stream_id: int
    """The stream that it has written to last."""
    seqno: int
    written_ms: int
    """The time of day of its last batch."""
    transaction: int = NONE
    """The producer id of the transaction in which `transaction_seqno` was written."""
    transaction_seqno: int = NONE

    @property
    def is_undecided(self) -> bool:
        """Whether its last number is part of a transaction that is open."""
        return self.transaction != NONE

    @property
    def last_seqno(self) -> int:
        """The last number, decided or not."""
        return self.transaction_seqno if self.is_undecided else self.seqno

    def decided(self, *, is_commit: bool) -> NamedState | None:
        """Return the state after the end of its transaction; None when nothing is left."""
        seqno = self.transaction_seqno if is_commit else self.seqno
        return NamedState(self.stream_id, seqno, self.written_ms) if seqno != NONE else None


class NamedWrite(NamedTuple):
    """The numbers of a batch that is appended."""

    scope: int
    seqnos: Mapping[bytes, tuple[int, int]]
    """By name, the last number that was decided before, or -1, and the greatest in the batch."""
    written_ms: int
    """The time of day."""

    def states(self, stream_id: int, transaction: int) -> States:
        """Return the states after a batch of the stream; `transaction` is its producer id, or -1."""
        pack, written_ms = STATE.pack, self.written_ms
        if transaction == NONE:
            return {
                name: pack(stream_id, seqno, written_ms, NONE, NONE)
                for name, (_, seqno) in self.seqnos.items()
            }
        return {
            name: pack(stream_id, decided, written_ms, transaction, seqno)
            for name, (decided, seqno) in self.seqnos.items()
        }


class NamedSnapshot(NamedTuple):
    """The durable states of all scopes, in parts."""

    scopes: dict[int, list[States]]


class _Change(NamedTuple):
    scope: int
    name: bytes
    before: bytes | None


class _Scope:
    """The names of one scope in parts, by a sum of the name; in each part the one idle longest comes first.

    A part that a snapshot shares is copied before its next change: 2 ms for 100,000 names if they were one.
    """

    __slots__ = ("count", "parts", "shared", "size_bytes", "swept")

    def __init__(self) -> None:
        self.size_bytes = SCOPE_BYTES
        self.parts: list[States] = [{} for _ in range(PARTS)]
        self.shared = [False] * PARTS
        self.count = 0
        self.swept = 0
        """The part that is looked at next for names to forget."""

    def get(self, name: bytes) -> bytes | None:
        """Return a name's state."""
        return self.parts[_part_of(name)].get(name)

    def put(self, name: bytes, state: bytes | None) -> bytes | None:
        """Replace a name's state, or forget it; return the state before."""
        number = _part_of(name)
        part = self.parts[number]
        if self.shared[number]:
            part = self.parts[number] = dict(part)
            self.shared[number] = False
        before = part.pop(name, None)
        if state is not None:
            part[name] = state
        change = (state is not None) - (before is not None)
        self.count += change
        self.size_bytes += change * weight_of(name)
        return before

    def share(self) -> list[States]:
        """Return the parts, never changed from here on."""
        self.shared = [True] * PARTS
        return list(self.parts)

    def idle_longest(self) -> bytes | None:
        """Return the name idle longest in the next part."""
        self.swept = (self.swept + 1) % PARTS
        return next(iter(self.parts[self.swept]), None)


class NamedProducers:
    """All names of a vnode, with the data to undo changes that did not become durable."""

    def __init__(self) -> None:
        self._scopes: dict[int, _Scope] = {}
        self._scope_of: dict[int, int] = {}
        """The scopes of the streams in which names have written."""
        self._counts: Counter[int] = Counter()
        """The number of names whose last batch is in a stream."""
        self._undecided: dict[int, dict[int, set[bytes]]] = {}
        """The names with an open transaction, by stream and producer id."""
        self._changes: deque[_Change] = deque()  # the changes that are not durable, oldest first
        self._durable_token = 0
        self._changed_at: dict[tuple[int, bytes], int] = {}
        """The token after the last change of each name that is not durable."""
        self._dropped: set[int] = set()
        """The scopes that were dropped since all changes were durable."""
        self._discarded: list[States] = []
        """The parts of large scopes that were dropped: each sync frees one."""
        self.size_bytes = 0
        """About how much memory all names take."""
        self.bytes_max = BYTES_MAX

    def configure(self, options: LogOptions) -> None:
        """Apply changed limits."""
        self.bytes_max = options.named_bytes_max

    def has_room(self, added_bytes: int) -> bool:
        """Whether there is memory for names that weigh so much (`weight_of`)."""
        return self.size_bytes + added_bytes <= self.bytes_max

    @property
    def token(self) -> int:
        """The number of changes so far; a sync makes durable those that it covers."""
        return self._durable_token + len(self._changes)

    def of(self, scope: int, name: bytes) -> NamedState | None:
        """Return the state of a name."""
        table = self._scopes.get(scope)
        state = table.get(name) if table is not None else None
        return NamedState._make(STATE.unpack(state)) if state is not None else None

    def all_of(self, scope: int) -> Iterator[tuple[bytes, NamedState]]:
        """Yield the names of a scope and their states, as they are now."""
        table = self._scopes.get(scope)
        if table is None:
            return iter(())
        # Shared, so that they do not change meanwhile.
        rows = chain.from_iterable(map(dict.items, table.share()))
        return ((name, NamedState._make(STATE.unpack(state))) for name, state in rows)

    @property
    def total(self) -> int:
        """The number of names in all scopes."""
        return sum(table.count for table in self._scopes.values())

    def count(self, stream_id: int) -> int:
        """Return the number of names whose last batch is in the stream."""
        return self._counts[stream_id]

    def undecided(self, stream_id: int, transaction: int) -> frozenset[bytes]:
        """Return the names that have written to the stream in this producer's open transaction."""
        return frozenset(self._undecided.get(stream_id, _NO_NAMES).get(transaction, ()))

    def is_durable(self, scope: int, name: bytes) -> bool:
        """Whether the name's state can no longer be taken back."""
        return (scope, name) not in self._changed_at

    def change(self, scope: int, states: Mapping[bytes, bytes | None]) -> None:
        """Apply changes that a frame will make durable; None forgets a name."""
        known = self._scopes.get(scope)
        for name in states:
            before = known.get(name) if known is not None else None
            self._changes.append(_Change(scope, name, before))
            self._changed_at[scope, name] = self.token
        self._put_all(scope, states.items())

    def replay(self, payload: bytes | memoryview) -> None:
        """Apply a meta entry of this module that was found in the log."""
        scope, states = read_named_meta(payload)
        self._put_all(scope, states.items())

    def decided(self, stream_id: int, transaction: int, *, is_commit: bool) -> tuple[int, States]:
        """Return the scope and the states after a marker in the stream; no states when it changes none."""
        names = self._undecided.get(stream_id, _NO_NAMES).get(transaction)
        if not names:
            return 0, {}
        scope = self._scope_of[stream_id]
        states: States = {}
        for name in sorted(names):
            state = self.of(scope, name)
            assert state is not None
            states[name] = STATE.pack(*(state.decided(is_commit=is_commit) or _FORGOTTEN))
        return scope, states

    def durable(self, token: int) -> None:
        """Mark everything before `token` as durable; it will not be taken back."""
        while self._durable_token < token:
            change = self._changes.popleft()
            self._durable_token += 1
            place = change.scope, change.name
            if self._changed_at[place] == self._durable_token:
                del self._changed_at[place]
        if not self._changes:
            self._dropped.clear()
        if self._discarded:
            self._discarded.pop()

    def revert(self) -> None:
        """Take back everything that is not durable, newest first."""
        while self._changes:
            change = self._changes.pop()
            if change.scope not in self._dropped:
                self._put_all(change.scope, [(change.name, change.before)])
        self._changed_at.clear()
        self._dropped.clear()

    def drop_stream(self, stream_id: int) -> None:
        """Forget the scope of a dropped stream: a scope's streams are dropped together."""
        scope = self._scope_of.pop(stream_id, None)
        self._counts.pop(stream_id, None)
        if scope is not None:
            table = self._scopes.pop(scope, None)
            if table is not None:
                self.size_bytes -= table.size_bytes
                if table.count > FREED_AT_ONCE:
                    self._discarded += table.parts
            self._dropped.add(scope)
            self._undecided.pop(stream_id, None)

    def forget_idle(self, scope: int, before_ms: int, *, at_most: int) -> None:
        """Forget some names whose last batch is older; called as new ones come, it keeps the number down."""
        forgotten = 0
        for _ in range(at_most + PARTS):
            table = self._scopes.get(scope)
            if table is None or forgotten == at_most:
                return
            name = table.idle_longest()
            state = self.of(scope, name) if name is not None else None
            if name is None or state is None or state.is_undecided or state.written_ms >= before_ms:
                continue
            self._put_all(scope, [(name, None)])
            forgotten += 1

    def snapshot(self) -> NamedSnapshot:
        """Return the durable part of all this, for the checkpoint; later changes do not affect it."""
        scopes = {scope: table.share() for scope, table in self._scopes.items()}
        undone: dict[tuple[int, int], dict[bytes, bytes | None]] = {}
        for change in reversed(self._changes):
            if change.scope not in self._dropped:
                place = change.scope, _part_of(change.name)
                undone.setdefault(place, {})[change.name] = change.before
        for (scope, number), before in undone.items():
            parts = scopes.setdefault(scope, [{} for _ in range(PARTS)])
            older = {**parts[number], **before}
            parts[number] = {name: state for name, state in older.items() if state is not None}
        return NamedSnapshot(scopes)

    def restore(self, snapshot: NamedSnapshot) -> None:
        """Fill an empty table from a snapshot, which is not changed."""
        for scope, parts in snapshot.scopes.items():
            self._put_all(scope, chain.from_iterable(map(dict.items, parts)))

    def _put_all(self, scope: int, states: Iterable[tuple[bytes, bytes | None]]) -> None:
        table = self._scopes.get(scope)
        if table is None:
            table = self._scopes[scope] = _Scope()
            self.size_bytes += SCOPE_BYTES
        size_before = table.size_bytes
        for name, state in states:
            kept = None if state == _FORGOTTEN_STATE else state
            before = table.put(name, kept)
            if before is not None:
                self._count(name, before, -1)
            if kept is not None:
                self._count(name, kept, 1)
                self._scope_of[STATE.unpack(kept)[0]] = scope
        self.size_bytes += table.size_bytes - size_before
        if not table.count:
            del self._scopes[scope]
            self.size_bytes -= SCOPE_BYTES

    def _count(self, name: bytes, state: bytes, by: int) -> None:
        stream_id, _, _, transaction, _ = STATE.unpack(state)
        self._counts[stream_id] += by
        if transaction == NONE:
            return
        open_here = self._undecided.setdefault(stream_id, {})
        names = open_here.setdefault(transaction, set())
        if by > 0:
            names.add(name)
        else:
            names.discard(name)
            if not names:
                del open_here[transaction]
            if not open_here:
                del self._undecided[stream_id]


def weight_of(name: bytes) -> int:
    """Return about how much memory a name takes."""
    return NAMED_BYTES + len(name)


def _part_of(name: bytes) -> int:
    return int(crc32c(name)) % PARTS


_FORGOTTEN = NamedState(0, NONE, 0)
_FORGOTTEN_STATE = STATE.pack(*_FORGOTTEN)


def named_meta(scope: int, states: States) -> bytes:
    """Return the payload of a meta entry that puts these states."""
    parts = [_HEAD.pack(MetaKind.NAMED, scope)]
    for name, state in states.items():
        parts += (_LENGTH.pack(len(name)), name, state)
    return b"".join(parts)


def read_named_meta(payload: bytes | memoryview) -> tuple[int, States]:
    """Return the scope and the states of such a payload."""
    view = bytes(payload)
    scope: int = _HEAD.unpack_from(view)[1]
    states: States = {}
    position = _HEAD.size
    while position < len(view):
        start = position + _LENGTH.size
        end = start + _LENGTH.unpack_from(view, position)[0]
        position = end + STATE.size
        states[view[start:end]] = view[end:position]
    return scope, states
