"""Named producers: their numbers count at once, are taken back when lost, and come back after a crash."""

from __future__ import annotations

import random
import struct
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wal.backups import back_up, clock, make, restored
from tests.wal.crash import CrashState, RecordingDisk, check_every_crash, killed_states
from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log, read_all
from tests.wal.recorded_runs import OPTIONS
from wal.format import EntryKind
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.named_producers import (
    NONE,
    SCOPE_BYTES,
    STATE,
    NamedProducers,
    NamedState,
    NamedWrite,
    States,
    named_meta,
    read_named_meta,
    weight_of,
)
from wal.stream_producers import ProducerStamp

SCOPE = 100
TRANSACTIONAL, CONTROL = 0x10, 0x20
PRODUCER = 7


def packed(stream_id: int, seqno: int, written_ms: int = 0, *pending: int) -> bytes:
    return STATE.pack(*NamedState(stream_id, seqno, written_ms, *pending))


def write(log: VnodeLog, stream_id: int, seqno: int, *, decided: int = NONE, sequence: int = NONE) -> None:
    """Append a batch whose timestamp is its number; with a sequence it is part of a transaction."""
    named = NamedWrite(SCOPE, {b"sensor": (decided, seqno)}, seqno)
    if sequence == NONE:
        log.append(stream_id, batch(timestamp=seqno), named=named)
        return
    stamp = ProducerStamp(PRODUCER, 0, sequence, 1, is_transactional=True)
    data = batch(timestamp=seqno, producer=(PRODUCER, 0, sequence), attributes=TRANSACTIONAL)
    log.append(stream_id, data, producer=stamp, named=named)


def end(log: VnodeLog, stream_id: int, *, is_commit: bool) -> None:
    """Append the marker of the transaction."""
    body = b"\x20\0\0\0\x08" + struct.pack(">hh", 0, is_commit) + b"\x0c" + struct.pack(">hi", 0, 0) + b"\0"
    data = batch(body=body, producer=(PRODUCER, 0, -1), attributes=TRANSACTIONAL | CONTROL)
    log.append(stream_id, data, kind=EntryKind.CONTROL)


def known(log: VnodeLog) -> NamedState | None:
    return log.named_producers.of(SCOPE, b"sensor")


def test_a_number_counts_before_it_is_durable_and_is_taken_back_when_it_is_lost() -> None:
    named = NamedProducers()
    named.change(SCOPE, {b"a": packed(1, 5)})
    named.durable(named.token)
    named.change(SCOPE, {b"a": packed(1, 6), b"b": packed(1, 1)})
    assert (named.is_durable(SCOPE, b"a"), named.is_durable(SCOPE, b"c")) == (False, True)
    assert named.count(1) == 2
    named.revert()
    assert named.of(SCOPE, b"a") == NamedState(1, 5, 0)
    assert named.of(SCOPE, b"b") is None
    assert (named.is_durable(SCOPE, b"a"), named.count(1)) == (True, 1)


def test_a_name_is_durable_when_its_last_change_is() -> None:
    named = NamedProducers()
    named.change(SCOPE, {b"a": packed(1, 5)})
    first = named.token
    named.change(SCOPE, {b"a": packed(1, 6)})
    named.durable(first)
    assert not named.is_durable(SCOPE, b"a")
    named.durable(named.token)
    assert named.is_durable(SCOPE, b"a")


@pytest.mark.parametrize(("is_commit", "seqno"), [(True, 9), (False, 5)])
def test_a_marker_decides_what_its_transaction_wrote(is_commit: bool, seqno: int) -> None:
    named = NamedProducers()
    named.change(SCOPE, {b"a": packed(1, 5, 0, PRODUCER, 9), b"b": packed(1, NONE, 0, PRODUCER, 3)})
    assert named.undecided(1, PRODUCER) == {b"a", b"b"}
    scope, states = named.decided(1, PRODUCER, is_commit=is_commit)
    named.change(scope, states)
    state = named.of(SCOPE, b"a")
    assert state == NamedState(1, seqno, 0)
    assert state.last_seqno == seqno
    assert (named.of(SCOPE, b"b") is None) is not is_commit
    assert named.undecided(1, PRODUCER) == frozenset()
    assert named.decided(1, PRODUCER, is_commit=is_commit) == (0, {})


def test_a_name_that_moves_counts_for_the_stream_that_it_wrote_to_last() -> None:
    named = NamedProducers()
    named.change(SCOPE, {b"a": packed(1, 5)})
    named.change(SCOPE, {b"a": packed(2, 6)})
    assert (named.count(1), named.count(2)) == (0, 1)


def test_a_dropped_stream_takes_the_names_of_its_scope_along_and_a_later_loss_does_not_bring_them_back() -> (
    None
):
    named = NamedProducers()
    named.change(SCOPE, {b"a": packed(1, 5)})
    named.change(SCOPE, {b"b": packed(1, 5, 0, PRODUCER, 6)})
    named.drop_stream(1)
    named.revert()
    assert list(named.all_of(SCOPE)) == []
    assert named.snapshot().scopes == {}


def test_names_that_are_idle_are_forgotten_some_at_a_time_but_not_in_a_transaction() -> None:
    named = NamedProducers()
    for number in range(200):
        pending = (PRODUCER, 2) if number == 99 else ()
        named.change(SCOPE, {b"%d" % number: packed(1, 1, number, *pending)})
    named.forget_idle(SCOPE, 100, at_most=5)
    assert named.count(1) == 195
    for _ in range(50):
        named.forget_idle(SCOPE, 100, at_most=5)
    assert {int(name) for name, _ in named.all_of(SCOPE)} == {99, *range(100, 200)}
    named.forget_idle(SCOPE + 1, 9, at_most=5)


def test_a_listing_does_not_change_while_it_is_read() -> None:
    named = NamedProducers()
    named.change(SCOPE, {b"a": packed(1, 1), b"b": packed(1, 1)})
    listed = named.all_of(SCOPE)
    next(listed)
    named.change(SCOPE, {b"c": packed(1, 1)})
    assert len(list(listed)) == 1


@given(st.dictionaries(st.binary(max_size=300), st.integers(0, 2**63 - 1), max_size=5))
def test_a_meta_entry_is_read_as_it_was_written(seqnos: dict[bytes, int]) -> None:
    states = {name: packed(3, seqno) for name, seqno in seqnos.items()}
    assert read_named_meta(named_meta(2**64 - 1, states)) == (2**64 - 1, states)


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from([b"a", b"b", b"c"]), st.integers(1, 2)),
        st.tuples(st.just("pending"), st.sampled_from([b"a", b"b", b"c"]), st.integers(1, 2)),
        st.tuples(st.just("commit"), st.just(b""), st.integers(1, 2)),
        st.tuples(st.just("abort"), st.just(b""), st.integers(1, 2)),
    ),
    max_size=30,
)


@given(CHANGES, st.data())
def test_replay_from_anywhere_before_a_snapshot_gives_the_same_states(
    changes: list[tuple[str, bytes, int]], data: st.DataObject
) -> None:
    """A checkpoint may hold more than its place in the log says."""
    named = NamedProducers()
    entries: list[bytes] = []
    captured_at = data.draw(st.integers(0, max(0, len(changes) - 1)))
    snapshot = named.snapshot()
    for number, (what, name, stream_id) in enumerate(changes):
        if number == captured_at:
            named.durable(named.token)
            snapshot = named.snapshot()
        scope, states = changed(named, what, name, stream_id, number)
        named.change(scope, states)
        entries.append(named_meta(scope, states))
    restored = NamedProducers()
    restored.restore(snapshot)
    for entry in entries[data.draw(st.integers(0, captured_at)) :]:
        restored.replay(entry)
    assert dict(restored.all_of(SCOPE)) == dict(named.all_of(SCOPE))
    for stream_id in (1, 2):
        assert restored.undecided(stream_id, PRODUCER) == named.undecided(stream_id, PRODUCER)
        assert restored.count(stream_id) == named.count(stream_id)


def changed(named: NamedProducers, what: str, name: bytes, stream_id: int, number: int) -> tuple[int, States]:
    if what in ("commit", "abort"):
        return named.decided(stream_id, PRODUCER, is_commit=what == "commit")
    before = named.of(SCOPE, name)
    decided = before.seqno if before is not None else NONE
    transaction = PRODUCER if what == "pending" else NONE
    return SCOPE, NamedWrite(SCOPE, {name: (decided, number)}, number).states(stream_id, transaction)


# --- in a log ------------------------------------------------------------------------------------------


def test_a_lost_sync_takes_the_numbers_of_its_frame_back() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    write(log, 1, 5)
    commit(log)
    write(log, 1, 6)
    job = log.begin_sync(0)
    assert job is not None
    write(log, 1, 7)
    log.failed(job, OSError("lost"), 0)
    assert known(log) == NamedState(1, 5, 5)


def test_a_lost_marker_leaves_its_transaction_open() -> None:
    log = open_log(MemoryDisk())
    write(log, 1, 5, sequence=0)
    commit(log)
    end(log, 1, is_commit=False)
    assert known(log) is None
    job = log.begin_sync(0)
    assert job is not None
    log.failed(job, OSError("lost"), 0)
    assert known(log) == NamedState(1, NONE, 5, PRODUCER, 5)


def test_numbers_are_there_after_a_clean_stop_without_a_look_at_the_log() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    write(log, 1, 5)
    write(log, 1, 8, decided=5, sequence=0)
    log.close(0)
    log = open_log(disk)
    assert log.recovery.frames == 0
    assert known(log) == NamedState(1, 5, 8, PRODUCER, 8)
    end(log, 1, is_commit=True)
    commit(log)
    assert known(log) == NamedState(1, 8, 8)
    log.drop_stream(1)
    commit(log)
    assert known(log) is None


def test_a_marker_in_the_frame_of_its_batch_decides_after_it_at_a_start_too() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    write(log, 1, 5, sequence=0)
    end(log, 1, is_commit=False)
    write(log, 1, 4, sequence=1)
    commit(log)
    assert known(log) == known(open_log(disk)) == NamedState(1, NONE, 4, PRODUCER, 4)


def test_a_backup_holds_the_numbers_of_a_checkpoint_and_those_after_it() -> None:
    disk = MemoryDisk()
    _, log = make(disk)
    write(log, 1, 5)
    commit(log)
    assert "CheckpointJob" in maintain(log)
    log.append(1, batch(), named=NamedWrite(SCOPE, {b"later": (NONE, 7)}, 8))
    commit(log)
    again = restored(disk, back_up(disk, clock()).path)
    assert dict(again.named_producers.all_of(SCOPE)) == {
        b"sensor": NamedState(1, 5, 5),
        b"later": NamedState(1, 7, 8),
    }


class Run:
    """A log in which one name writes, in and out of transactions, with all that goes on beside it."""

    def __init__(self, seed: int) -> None:
        self.disk = RecordingDisk()
        self.log = open_log(self.disk, OPTIONS)
        self.random = random.Random(seed)
        self.now_ms = 0
        self.sequence = 0
        self.open_in: int | None = None

    def step(self, seqno: int) -> None:
        stream_id = self.random.choice((1, 2))
        state = known(self.log)
        decided = state.seqno if state is not None else NONE
        match self.random.randrange(4):
            case 0 if self.open_in is None:
                write(self.log, stream_id, seqno)
            case 1 if self.open_in in (None, stream_id):
                write(self.log, stream_id, seqno, decided=decided, sequence=self.sequence)
                self.sequence, self.open_in = self.sequence + 1, stream_id
            case 2 if self.open_in is not None:
                end(self.log, self.open_in, is_commit=self.random.random() < 0.5)
                # Another stream's sequences begin anew, so the next transaction stays here.
                self.open_in = None
            case _:
                commit(self.log, self.now_ms)
                self.disk.trace.mark(self.promise())
                maintain(self.log, self.now_ms)
        self.now_ms += 100

    def promise(self) -> tuple[int, int]:
        return self.log.high_watermark(1), self.log.high_watermark(2)


def told_by_batches(log: VnodeLog) -> NamedState | None:
    """Return the state that the log's batches give, by their timestamps and order of versions."""
    state: NamedState | None = None
    for stream_id, timestamp, attributes, kind in sorted_batches(log):
        if attributes & CONTROL:
            if state is not None and state.is_undecided and state.stream_id == stream_id:
                state = state.decided(is_commit=bool(kind))
        else:
            decided = state.seqno if state is not None else NONE
            pending = (PRODUCER, timestamp) if attributes & TRANSACTIONAL else ()
            state = NamedState(stream_id, decided if pending else timestamp, timestamp, *pending)
    return state


def sorted_batches(log: VnodeLog) -> Iterator[tuple[int, int, int, int]]:
    found = []
    for stream_id in (1, 2):
        data, at = read_all(log, stream_id), 0
        while at < len(data):
            (size,) = struct.unpack_from(">i", data, at + 8)
            (offset,) = struct.unpack_from(">q", data, at)
            version = log.version_of(stream_id, offset)
            (attributes,) = struct.unpack_from(">h", data, at + 21)
            (timestamp,) = struct.unpack_from(">q", data, at + 35)
            is_commit = data[at + 61 + 8] if attributes & CONTROL else 0
            found.append((version, stream_id, timestamp, attributes, is_commit))
            at += 12 + size
    return (place[1:] for place in sorted(found))


@pytest.mark.parametrize("seed", range(2))
def test_after_every_crash_the_numbers_are_those_of_the_batches_that_are_left(seed: int) -> None:
    run = Run(seed)
    for seqno in range(25):
        run.step(seqno)

    def check(state: CrashState) -> None:
        if not state.disk.exists(DIRECTORY):
            return
        log = VnodeLog.open(state.disk, DIRECTORY, options=OPTIONS, now_ms=run.now_ms)
        assert log.state == "OPEN"
        promised = state.marks[-1] if state.marks else (0, 0)
        assert (log.high_watermark(1), log.high_watermark(2)) >= promised  # type: ignore[operator]
        assert known(log) == told_by_batches(log)

    assert check_every_crash(run.disk.trace, check, random_states=2) > 50
    for state in killed_states(run.disk.trace):
        check(state)


@pytest.mark.parametrize(("scopes", "names"), [(100, 1), (1, 10_000), (20, 300)])
def test_the_memory_of_names_is_counted_as_about_what_it_takes(scopes: int, names: int) -> None:
    tracemalloc.start()
    try:
        named = NamedProducers()
        for scope in range(scopes):
            states = {b"producer-%08d" % number: packed(scope, 1) for number in range(names)}
            named.change(scope, states)
            named.durable(named.token)
            del states
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.7 * taken < named.size_bytes < 1.8 * taken


def test_names_that_are_forgotten_taken_back_or_dropped_count_no_more() -> None:
    named = NamedProducers()
    named.change(SCOPE, {b"a": packed(SCOPE, 1)})
    named.durable(named.token)
    one = named.size_bytes
    assert one == SCOPE_BYTES + weight_of(b"a")
    named.change(SCOPE, {b"b": packed(SCOPE, 1), b"a": packed(SCOPE, 2)})
    named.change(SCOPE + 1, {b"c": packed(SCOPE + 1, 1)})
    assert named.size_bytes == 2 * SCOPE_BYTES + 3 * weight_of(b"a")
    named.revert()
    assert named.size_bytes == one
    restored_names = NamedProducers()
    restored_names.restore(named.snapshot())
    assert restored_names.size_bytes == one
    named.drop_stream(SCOPE)
    assert named.size_bytes == 0
    restored_names.change(SCOPE, {b"a": None})
    assert restored_names.size_bytes == 0


def test_names_have_room_up_to_the_limit_of_their_log() -> None:
    named = open_log(MemoryDisk(), replace(OPTIONS, named_bytes_max=1_000)).named_producers
    assert named.has_room(1_000)
    assert not named.has_room(1_001)
