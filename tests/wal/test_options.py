"""A log's options: fixed once, named, and by default within the limits of the file format."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from tests.wal.logs import batch, calls_of, commit, maintain, open_log, read_all, small_options
from wal.memory_disk import MemoryDisk
from wal.options import ENTRY_NS, FRAME_NS, LogOptions

COLUMN_MAX = 2**32 - 1
"""The limit of an index's positions, which are u32."""


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="segment_byte"):
        LogOptions(segment_byte=1)  # type: ignore[call-arg]


def test_options_do_not_change_under_a_running_log() -> None:
    options = LogOptions()

    with pytest.raises(FrozenInstanceError):
        options.segment_bytes = 1  # type: ignore[misc]
    assert replace(options, segment_bytes=1).segment_bytes == 1
    assert options == LogOptions()


def test_the_defaults_fit_the_columns_of_an_index() -> None:
    options = LogOptions()

    assert options.segment_bytes + options.frame_bytes_max <= COLUMN_MAX


def test_the_defaults_let_several_frames_into_a_segment_and_several_seals_wait_for_one_another() -> None:
    options = LogOptions()

    assert options.segment_bytes >= 4 * options.frame_bytes_max
    assert options.seal_interval_ms >= options.seal_idle_ms


def test_entries_count_towards_the_next_checkpoint_as_well_as_bytes() -> None:
    few, many = 8, 60
    options = small_options(segment_bytes=1 << 20, checkpoint_ns=few * ENTRY_NS + FRAME_NS + (few + 1) * 300)
    log = open_log(MemoryDisk(), options)

    for _ in range(few):
        log.append(1, batch(body=b""))
    commit(log)
    assert "CheckpointJob" not in maintain(log)
    for _ in range(many - few):
        log.append(1, batch(body=b""))
    commit(log)

    assert "CheckpointJob" in maintain(log)


@pytest.mark.parametrize("durability", ["disk", "os"])
def test_records_are_visible_once_synced_or_once_written(durability: str) -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(durability=durability))
    log.append(1, batch(body=b"first"))
    commit(log)
    synced = calls_of(disk, "sync")

    sent = batch(body=b"second")
    log.append(1, sent)
    commit(log)

    assert read_all(log, 1).endswith(bytes(sent))
    assert len(synced) == (1 if durability == "disk" else 0)


def test_stores_of_different_identity_give_the_same_segment_different_salts() -> None:
    salts = set()
    for identity in (b"", b"a", b"b"):
        log = open_log(MemoryDisk(), small_options(identity=identity))
        log.append(1, batch())
        commit(log)
        salts.add(log._state.segments.all[0].salt)

    assert len(salts) == 3
