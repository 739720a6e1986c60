"""Appending to the open frame: refusals that leave no trace, and the values assigned before any disk."""

from __future__ import annotations

import pytest

from tests.wal.logs import (
    DIRECTORY,
    batch,
    commit,
    content,
    maintain,
    new_state,
    open_log,
    read_all,
    small_options,
)
from wal.appending import Appended, LogAppending
from wal.disk_errors import DiskFull
from wal.errors import LogClosed, LogDamaged, LogFailed, OffsetOutOfRange, StreamDropped, WalError
from wal.format import EntryKind
from wal.memory_disk import MemoryDisk
from wal.options import LogOptions
from wal.producers import NEW, Duplicate, OutOfOrderSequence, ProducerStamp

DAMAGE = LogDamaged("0.wal", 0, 9, "frame 3 is damaged")


def appending(options: LogOptions | None = None) -> LogAppending:
    return LogAppending(new_state(MemoryDisk(), options))


def refusing(error: WalError | None = None, *, closed: bool = False) -> LogAppending:
    state = new_state(MemoryDisk())
    state.stream(1)
    state.damage = error if isinstance(error, LogDamaged) else None
    state.failure = error if isinstance(error, LogFailed) else None
    state.closed = closed
    return LogAppending(state)


@pytest.mark.parametrize(
    ("log", "kind"),
    [
        (refusing(DAMAGE), LogDamaged),
        (refusing(LogFailed("the sync failed")), LogFailed),
        (refusing(closed=True), LogClosed),
    ],
)
def test_a_log_that_takes_nothing_takes_nothing_of_any_kind(log: LogAppending, kind: type[WalError]) -> None:
    data = batch()

    for refused in (
        lambda: log.append(1, data),
        lambda: log.append(1, data, reserved=True),
        lambda: log.append_meta(1, b"note"),
        lambda: log.set_leader_epoch(1, 1),
        lambda: log.drop_stream(1),
    ):
        with pytest.raises(kind):
            refused()

    state = log._state
    assert (list(state.pending), state.next_version, state.streams[1].next_offset) == ([], 0, 0)
    assert not state.streams[1].dropped
    assert state.streams[1].leader_epoch == 0
    assert data == batch(), "not even patched"


def test_a_full_disk_refuses_batches_and_takes_what_frees_room() -> None:
    log = appending()
    log._state.full = True

    with pytest.raises(DiskFull) as raised:
        log.append(1, batch())

    assert raised.value.path == DIRECTORY
    assert log.append(1, batch(), reserved=True).base_offset == 0
    assert log.append_meta(1, b"note") == 1


def test_a_dropped_stream_takes_no_batch() -> None:
    log = appending()
    log.append(1, batch())
    log.drop_stream(1)

    with pytest.raises(StreamDropped):
        log.append(1, batch())

    assert log._state.next_version == 2


@pytest.mark.parametrize("change", [-1, 1])
def test_a_batch_that_is_not_as_long_as_it_says_is_a_bug_of_the_caller(change: int) -> None:
    data = batch()
    data = data[:-1] if change < 0 else data + b"?"

    with pytest.raises(AssertionError):
        appending().append(1, data)


def test_offsets_versions_and_the_epoch_are_given_out_at_once() -> None:
    log = appending()
    log.append(1, batch(3))
    log.set_leader_epoch(1, 5)
    data = batch(2)

    appended = log.append(1, data)

    assert (appended.base_offset, appended.next_offset, appended.version) == (3, 5, 4)
    assert repr(appended) == "Appended(3, 5, version=4)"
    assert data[:8] == (3).to_bytes(8, "big")
    assert data[12:16] == (5).to_bytes(4, "big")
    assert data[:8] + data[8:12] + bytes(4) + data[16:] == (3).to_bytes(8, "big") + batch(2)[8:]
    assert log.next_offset(1) == 5
    assert log.high_watermark(1) == 0


def test_a_memoryview_is_patched_in_place_too() -> None:
    whole = bytearray(b"head") + batch(2) + b"tail"
    log = appending()
    log.append(1, batch(7))

    log.append(1, memoryview(whole)[4:-4])

    assert whole == b"head" + (7).to_bytes(8, "big") + batch(2)[8:] + b"tail"


def test_a_frame_is_closed_before_it_grows_too_large_and_one_batch_always_fits() -> None:
    log = appending(small_options(frame_bytes_max=1_000))

    for size in (439, 439, 0, 5_000, 438, 440):
        log.append(1, batch(body=bytes(size)))

    assert [frame.payload_bytes for frame in log._state.pending] == [1_000, 61, 5_061, 1_000]
    assert [frame.base_version for frame in log._state.pending] == [0, 2, 3, 4]


def test_meta_entries_join_the_open_frame() -> None:
    log = appending()
    log.append(1, batch(3))

    assert log.append_meta(2, b"note") == 3
    assert log.append(1, batch()).version == 4
    assert len(log._state.pending) == 1


@pytest.mark.parametrize("offset", [-1, 6, 9])
def test_a_log_start_is_set_inside_what_is_visible(offset: int) -> None:
    log = open_log(MemoryDisk())
    log.append(1, batch(5))
    commit(log)
    log.append(1, batch(5))

    with pytest.raises(OffsetOutOfRange) as raised:
        log.set_log_start(1, offset)

    assert (raised.value.log_start, raised.value.high_watermark) == (0, 5)
    with pytest.raises(OffsetOutOfRange):
        log.set_log_start(2, 1)


def test_a_log_start_that_is_there_already_needs_no_entry() -> None:
    log = open_log(MemoryDisk())
    log.append(1, batch(5))
    commit(log)

    assert log.set_log_start(2, 0) == 4
    assert log.set_log_start(1, 0) == 4
    assert not log._state.pending
    version = log.set_log_start(1, 3)
    assert log.set_log_start(1, 2) == version
    assert log._state.pending[-1].entry_count == 1


def test_a_stream_is_dropped_once_and_an_unknown_one_not_at_all() -> None:
    log = appending()
    log.append(1, batch())

    for stream_id in (1, 1, 2):
        log.drop_stream(stream_id)

    assert [meta.stream_id for meta in log._state.pending[-1].metas] == [1]


def test_a_segment_that_may_go_is_announced_once() -> None:
    log = open_log(MemoryDisk(), small_options(segment_bytes=4 << 10))
    for _ in range(6):
        log.append(1, batch(body=bytes(900)))
        commit(log)
    for _ in range(2):
        log._maintenance.checkpoint_wanted = True
        maintain(log)

    announced = [log.retire_below(2), log.retire_below(2)]

    assert announced == [1, 0]
    assert log._state.retiring_bases == {0}
    assert [meta.stream_id for meta in log._state.pending[-1].metas] == [0]


@pytest.mark.parametrize("epoch", [-1, 0, 3])
def test_a_leader_epoch_must_be_new(epoch: int) -> None:
    log = appending()
    log.set_leader_epoch(1, 3)

    with pytest.raises(AssertionError):
        log.set_leader_epoch(1, epoch)
    assert log.leader_epoch(1) == 3


def test_lost_offsets_are_filled_with_a_batch_without_records() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(1, batch(2))
    commit(log)
    stream = log._state.streams[1]
    stream.next_offset = stream.high_watermark = 9
    log._state.full = True

    log.fill_lost_offsets()
    commit(log)

    filler = content(log.read(1, 2, 1_000))
    assert (log.next_offset(1), log.high_watermark(1)) == (9, 9)
    assert (filler[:8], filler[23:27], filler[57:61]) == (
        (2).to_bytes(8, "big"), (6).to_bytes(4, "big"), bytes(4),
    )  # fmt: skip
    log.fill_lost_offsets()
    assert not log._state.pending
    assert read_all(open_log(disk), 1)[-61:] == filler


def test_a_producers_batch_counts_at_once_and_is_durable_with_its_frame() -> None:
    log = open_log(MemoryDisk())
    stamp = ProducerStamp(7, 0, 0, 2)

    log.append(1, batch(2, producer=(7, 0, 0), timestamp=44), producer=stamp)

    assert log.producers(1).check(stamp) == Duplicate(0, 1, 44)
    assert log._state.pending[-1].producers_token == log._state.producers.token == 1
    log._state.producers.revert()
    assert log.producers(1).check(stamp) == NEW


def test_what_comes_behind_a_refused_batch_is_out_of_order() -> None:
    log = appending()
    log.append_refused(1, ProducerStamp(7, 0, 0, 1))

    with pytest.raises(OutOfOrderSequence):
        log.producers(1).check(ProducerStamp(7, 0, 1, 1))


def marker(*, is_commit: bool) -> bytearray:
    """Return a control batch of producer 7, epoch 0, coordinator epoch 5."""
    key, value = bytes((0, 0, 0, is_commit)), bytes((0, 0, 0, 0, 0, 5))
    record = b"\0\0\0" + bytes((2 * len(key),)) + key + bytes((2 * len(value),)) + value + b"\0"
    body = bytes((2 * len(record),)) + record
    return batch(1, body=body, producer=(7, 0, -1), attributes=0x30)


@pytest.mark.parametrize("is_commit", [False, True])
def test_a_marker_ends_its_producers_transaction(*, is_commit: bool) -> None:
    log = appending()
    stamp = ProducerStamp(7, 0, 0, 2, is_transactional=True)
    log.append(1, batch(2, producer=(7, 0, 0), attributes=0x10), producer=stamp)
    assert log.producers(1).last_stable_offset(2) == 0

    log.append(1, marker(is_commit=is_commit), kind=EntryKind.CONTROL)

    assert log.producers(1).last_stable_offset(3) == 3
    aborted = log.producers(1).aborted_between(0, 3)
    assert [
        (transaction.producer_id, transaction.first_offset, transaction.last_offset)
        for transaction in aborted
    ] == ([] if is_commit else [(7, 0, 2)])


def test_an_append_tells_nothing_but_its_place() -> None:
    appended = Appended(1, 2, 3)

    with pytest.raises(AttributeError):
        appended.synced = True  # type: ignore[attr-defined]


def test_batches_that_claim_all_records_there_can_be_go_into_frames_that_can_count_them() -> None:
    """Three batches of 2^31 - 1 records are more than a frame's header can count."""
    disk = MemoryDisk()
    log = open_log(disk)
    claims = 2**31 - 1
    for _ in range(3):
        log.append(1, batch(claims))
    log.append(2, batch(5))
    commit(log)
    assert log.high_watermark(1) == 3 * claims
    again = open_log(disk.crash())
    assert (again.high_watermark(1), again.high_watermark(2)) == (3 * claims, 5)
    assert again.next_version == 3 * claims + 5


@pytest.mark.parametrize("room", ["bytes", "entries"])
def test_appends_that_are_kept_together_join_one_frame(room: str) -> None:
    size = len(batch())
    limits = {"bytes": {"frame_bytes_max": 3 * size}, "entries": {"frame_entries_max": 3}}[room]
    log = appending(small_options(**limits))
    log.append(1, batch())
    log.append(1, batch())
    log.keep_together(2 * size, entries=2, records=2)
    log.append(1, batch())
    log.append(2, batch())
    assert [frame.entry_count for frame in log._state.pending] == [2, 2]
    log.keep_together(size, entries=1, records=1)
    log.append(3, batch())
    assert [frame.entry_count for frame in log._state.pending] == [2, 3]


def test_a_log_without_an_open_frame_keeps_together_what_comes() -> None:
    log = appending()
    log.keep_together(1_000, entries=2, records=2)
    assert list(log._state.pending) == []
    log.append(1, batch())
    log.append(2, batch())
    assert [frame.entry_count for frame in log._state.pending] == [2]


def test_a_frame_takes_no_more_changes_than_its_limit_and_order_is_kept() -> None:
    """A commit of 6,000 changes of the catalogue kept the event loop for 10 ms."""
    disk = MemoryDisk()
    log = open_log(disk, small_options(frame_entries_max=3))
    log.append(1, batch())
    log.append(2, batch())
    commit(log)
    versions = [log.append_meta(7, bytes([number])) for number in range(4)]
    versions.append(log.set_log_start(1, 1))
    log.drop_stream(2)
    versions.append(log.append_meta(7, b"last"))
    assert [frame.entry_count for frame in log._state.pending] == [3, 3, 1]
    assert versions == [2, 3, 4, 5, 6, 8]
    commit(log)
    again = open_log(disk.crash(), small_options(frame_entries_max=3))
    told = [entry.opaque for entry in again.read_versions(2, 1 << 20)]
    assert [bytes(payload) for payload in told if payload is not None] == [
        b"\0",
        b"\1",
        b"\2",
        b"\3",
        b"last",
    ]
    assert (again.log_start(1), list(again.streams())) == (1, [1])


def test_what_belongs_to_a_batch_stays_in_its_frame_however_full_that_is() -> None:
    log = appending(small_options(frame_entries_max=1))
    log.append(1, batch())
    log.set_leader_epoch(1, 5)
    assert [frame.entry_count for frame in log._state.pending] == [2]
