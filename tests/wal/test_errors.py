"""The engine's errors: one tree, and messages with the thing, the values and the remedy."""

from __future__ import annotations

import inspect

import pytest

from wal import disk_errors, errors
from wal.errors import (
    DiskFull,
    ForeignDirectory,
    LogClosed,
    LogDamaged,
    LogFailed,
    MetadataLost,
    NotUsable,
    OffsetOutOfRange,
    StoreError,
    StoreInUse,
    StreamDropped,
    UnknownFormat,
    VnodeMissing,
    WalError,
)


def test_an_offset_out_of_range_carries_the_bounds_to_answer_with() -> None:
    error = OffsetOutOfRange(7, 99, 5, 20)

    assert (error.stream_id, error.offset, error.log_start, error.high_watermark) == (7, 99, 5, 20)
    assert str(error) == (
        "stream 7: offset 99 is outside [5, 20]; read from the log start or the high watermark"
    )


def test_a_damage_names_file_bytes_and_the_way_out() -> None:
    error = LogDamaged("vnode-1/7.wal", 1_024, 2_048, "the entry table of frame 3 has a wrong crc")

    assert (error.file, error.start, error.end) == ("vnode-1/7.wal", 1_024, 2_048)
    assert error.problem == "the entry table of frame 3 has a wrong crc"
    assert str(error).startswith("vnode-1/7.wal: bytes 1024 to 2048 are damaged: the entry table of frame 3")
    assert "'kawal wal repair --accept-loss'" in str(error)


def test_an_append_to_a_dropped_stream_is_told_what_to_do_instead() -> None:
    error = StreamDropped(8)

    assert error.stream_id == 8
    assert str(error) == "stream 8 was dropped; create a new stream instead of appending to it"


def test_whoever_is_refused_a_store_learns_who_holds_it() -> None:
    error = StoreInUse("data: process 12 holds it", 12)

    assert (error.holder_pid, str(error)) == (12, "data: process 12 holds it")


@pytest.mark.parametrize(
    "kind", [OffsetOutOfRange, StreamDropped, LogClosed, LogFailed, LogDamaged, StoreError]
)
def test_one_clause_catches_what_the_engine_raises(kind: type[WalError]) -> None:
    assert issubclass(kind, WalError)


@pytest.mark.parametrize(
    "kind", [NotUsable, UnknownFormat, StoreInUse, ForeignDirectory, MetadataLost, VnodeMissing]
)
def test_one_clause_catches_all_that_is_wrong_with_a_data_directory(kind: type[StoreError]) -> None:
    assert issubclass(kind, StoreError)


def test_a_full_disk_stays_an_error_of_the_disk() -> None:
    assert DiskFull is disk_errors.DiskFull
    assert not issubclass(DiskFull, WalError)


def test_every_error_of_the_module_is_exported() -> None:
    own = {
        name
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if kind.__module__ == errors.__name__
    }

    assert own | {"DiskFull"} == set(errors.__all__)
