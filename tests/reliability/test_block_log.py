"""The states that a power failure may leave of a device: what was flushed is in all, what was not in some."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from reliability import block_plugin
from reliability.block_log import SECTOR_BYTES, PowerFailures, copy_sparsely, read_block_log
from reliability.block_plugin import RECORD, WRITE

DISK_BYTES = 64 << 10
BLOCK = 4096


def logged(directory: Path, *ops: tuple[int, bytes] | str) -> Path:
    """Let the plugin carry out these writes and flushes; return its log."""
    store, log = directory / "store.img", directory / "block.log"
    with store.open("wb") as file:
        file.truncate(DISK_BYTES)
    block_plugin.config("store", str(store))
    block_plugin.config("log", str(log))
    block_plugin.get_ready()
    handle = block_plugin.open(False)
    assert block_plugin.get_size(handle) == DISK_BYTES
    for op in ops:
        if isinstance(op, str):
            block_plugin.flush(handle, 0)
        else:
            block_plugin.pwrite(handle, op[1], op[0], 0)
    return log


def image_after(directory: Path, log: Path, at: int, seed: int) -> bytes:
    failures = PowerFailures(log, directory / "power.img", DISK_BYTES)
    failures.fail(at, Random(seed))
    data = (directory / "power.img").read_bytes()
    failures.close()
    return data


def test_the_plugin_reads_what_it_wrote_and_logs_it_in_order(tmp_path: Path) -> None:
    log = logged(tmp_path, (0, b"a" * BLOCK), "flush", (BLOCK, b"b" * BLOCK))
    buffer = bytearray(2 * BLOCK)
    block_plugin.pread(0, buffer, 0, 0)
    assert buffer == b"a" * BLOCK + b"b" * BLOCK
    ops = list(read_block_log(log))
    assert [(op.is_flush, op.position, op.size_bytes) for op in ops] == [
        (False, 0, BLOCK), (True, 0, 0), (False, BLOCK, BLOCK),
    ]  # fmt: skip
    assert sorted(op.time_ns for op in ops) == [op.time_ns for op in ops]


def test_flushed_writes_survive_every_failure_and_later_ones_some(tmp_path: Path) -> None:
    log = logged(tmp_path, (0, b"a" * BLOCK), "flush", (BLOCK, b"b" * BLOCK), (0, b"c" * BLOCK), "flush")
    seen = set()
    for seed in range(60):
        image = image_after(tmp_path, log, 4, seed)
        assert set(image[:BLOCK]) <= {ord("a"), ord("c")}, "the flushed block, or the later one over it"
        assert set(image[BLOCK : 2 * BLOCK]) <= {0, ord("b")}
        seen.add((image[0], image[BLOCK]))
    assert seen == {(a, b) for a in b"ac" for b in (0, ord("b"))}, "any of them, in any order"


def test_a_write_may_be_torn_between_sectors_and_not_within_one(tmp_path: Path) -> None:
    log = logged(tmp_path, (0, b"a" * BLOCK), "flush")
    torn = 0
    for seed in range(400):
        image = image_after(tmp_path, log, 1, seed)
        sectors = [image[start : start + SECTOR_BYTES] for start in range(0, BLOCK, SECTOR_BYTES)]
        assert {len(set(sector)) for sector in sectors} == {1}
        torn += len(set(sectors)) == 2
    assert torn


def test_failures_at_later_moments_go_on_from_what_was_flushed_before(tmp_path: Path) -> None:
    log = logged(tmp_path, (0, b"a" * BLOCK), "flush", (BLOCK, b"b" * BLOCK), "flush", (0, b"c" * 512))
    failures = PowerFailures(log, tmp_path / "power.img", DISK_BYTES)
    assert len(failures) == 5
    for at in (0, 2, 2, 4):
        failure = failures.fail(at, Random(1))
        assert failure.summary.startswith(f"before operation {at}: ")
    image = (tmp_path / "power.img").read_bytes()
    assert image[: 2 * BLOCK] == b"a" * BLOCK + b"b" * BLOCK
    assert failures.after(failure.time_ns) == 4
    failures.close()


def test_a_record_that_is_not_complete_yet_is_left_out(tmp_path: Path) -> None:
    log = logged(tmp_path, (0, b"a" * BLOCK))
    with log.open("ab") as file:
        file.write(RECORD.pack(WRITE, 1, 0, BLOCK) + b"b")
    assert len(list(read_block_log(log))) == 1


def test_a_log_with_anything_else_in_it_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "block.log"
    log.write_bytes(b"x" * RECORD.size)
    with pytest.raises(ValueError, match="no record at byte 0"):
        list(read_block_log(log))


def test_holes_stay_holes(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with source.open("wb") as file:
        file.truncate(64 << 20)
        file.seek(32 << 20)
        file.write(b"data")
    copy_sparsely(source, target)
    assert target.stat().st_size == 64 << 20
    assert target.stat().st_blocks * 512 < 1 << 20
    with target.open("rb") as file:
        file.seek(32 << 20)
        assert file.read(4) == b"data"
