"""The crash kit finds its bugs, one at a time in a toy log, and none in the log without them."""

from __future__ import annotations

import errno
import zlib
from dataclasses import dataclass

import pytest

from tests.wal.crash import (
    CrashBug,
    CrashState,
    RecordingDisk,
    check_every_crash,
    crash_states,
    killed_states,
    state_at,
)
from wal.disk import Disk, SyncFailed
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.memory_image import DROP_ALL


@dataclass(frozen=True)
class Rules:
    """The rules that the toy log observes."""

    syncs_directory: bool = True
    syncs_before_ack: bool = True
    syncs_before_rename: bool = True


class ToyLog:
    """A log of 8-byte records: number, CRC; two files, the second made by a rename."""

    def __init__(self, disk: RecordingDisk, rules: Rules) -> None:
        self.disk = disk
        self.rules = rules
        disk.make_directory("log")
        disk.sync_directory("/")
        self.roll("log/0")

    def roll(self, path: str) -> None:
        self.file = self.disk.open("log/new.tmp", create=True, exclusive=True)
        self.file.allocate(4096)
        self.file.write_at(0, [b"header.."])
        if self.rules.syncs_before_rename:
            self.file.sync()
        self.disk.rename("log/new.tmp", path)
        if self.rules.syncs_directory:
            self.disk.sync_directory("log")
        self.position = 8

    def append(self, number: int) -> None:
        self.file.write_at(self.position, [record(number)])
        self.position += 8
        if self.rules.syncs_before_ack:
            self.file.sync()
        self.disk.trace.mark(number)


def record(number: int) -> bytes:
    body = number.to_bytes(4, "big")
    return body + zlib.crc32(body).to_bytes(4, "big")


def recover(disk: Disk) -> list[int]:
    numbers = []
    for name in disk.list("log") if disk.exists("log") else []:
        file = disk.open(f"log/{name}", read_only=True)
        data = file.read_at(0, file.size())
        assert name == "new.tmp" or data.startswith(b"header..")
        for position in range(8, len(data), 8):
            number = int.from_bytes(data[position : position + 4], "big")
            if data[position : position + 8] != record(number):
                break
            numbers.append(number)
    return numbers


def run(rules: Rules) -> RecordingDisk:
    disk = RecordingDisk()
    log = ToyLog(disk, rules)
    for number in range(1, 6):
        log.append(number)
    log.roll("log/1")
    for number in range(6, 9):
        log.append(number)
    return disk


def check(state: CrashState) -> None:
    numbers = recover(state.disk)
    assert numbers[: len(state.marks)] == list(state.marks)
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) <= len(state.marks) + 1


def test_a_right_log_survives_every_state() -> None:
    disk = run(Rules())
    assert check_every_crash(disk.trace, check, random_states=30) > 400


@pytest.mark.parametrize(
    "rules",
    [
        Rules(syncs_directory=False),
        Rules(syncs_before_ack=False),
        Rules(syncs_before_rename=False),
    ],
    ids=str,
)
def test_a_broken_log_is_caught(rules: Rules) -> None:
    disk = run(rules)
    with pytest.raises(CrashBug, match=r"state_at\(trace, "):
        check_every_crash(disk.trace, check)


def test_one_write_is_seen_whole_missing_zero_short_and_torn() -> None:
    disk = RecordingDisk()
    file = disk.open("a", create=True)
    disk.sync_directory("/")
    file.write_at(0, [b"x" * 1500])
    states = list(crash_states(disk.trace, random_states=200))
    seen = {state.disk.contents("a") for state in states if state.prefix_length == len(disk.trace.events)}
    assert {b"", bytes(1500), b"x" * 1500} <= seen
    assert any(0 < len(data) < 1500 and b"\0" not in data for data in seen)
    assert any(b"x" in data and b"\0" in data for data in seen)


def test_random_tears_are_at_sector_boundaries_of_the_file() -> None:
    disk = RecordingDisk()
    file = disk.open("a", create=True)
    disk.sync_directory("/")
    file.allocate(4096)
    file.sync()
    file.write_at(100, [b"x" * 1500])
    tears = set()
    for state in crash_states(disk.trace, random_states=200):
        data = state.disk.contents("a") if state.disk.exists("a") else b""
        kept = [position for position in range(1, len(data)) if data[position - 1] != data[position]]
        if len(kept) > 2:
            tears.update(kept)
    assert tears <= {100, 512, 1024, 1536, 1600}
    assert {512, 1024, 1536} <= tears


def test_unsynced_writes_of_one_file_are_reordered() -> None:
    disk = RecordingDisk()
    file = disk.open("a", create=True)
    file.allocate(8)
    file.sync()
    disk.sync_directory("/")
    file.write_at(0, [b"1"])
    file.write_at(4, [b"2"])
    seen = {
        state.disk.contents("a")
        for state in crash_states(disk.trace, random_states=60)
        if state.prefix_length >= 5
    }
    assert bytes(4) + b"2" + bytes(3) in seen


def test_states_are_the_same_for_the_same_seed_and_others_for_another() -> None:
    disk = run(Rules(syncs_before_ack=False))
    first, again, other = (
        [(str(state), fingerprint(state.disk)) for state in crash_states(disk.trace, seed=seed)]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert [print_ for _, print_ in first] != [print_ for _, print_ in other]


def test_state_at_gives_a_reported_state_again() -> None:
    disk = run(Rules(syncs_before_ack=False))
    for state in [*crash_states(disk.trace, seed=7), *killed_states(disk.trace)]:
        again = state_at(disk.trace, state.prefix_length, state.how, seed=state.seed)
        assert (fingerprint(again.disk), again.marks) == (fingerprint(state.disk), state.marks)
    with pytest.raises(ValueError, match="no crash state after 9999"):
        state_at(disk.trace, 9999, "dropped")


def test_marks_count_before_the_next_effect() -> None:
    disk = RecordingDisk()
    disk.trace.mark("early")
    disk.open("a", create=True)
    disk.trace.mark("late")
    assert [state.marks for state in crash_states(disk.trace, random_states=0)] == [
        ("early",),
        *[("early", "late")] * 5,
    ]


def test_using_a_state_changes_neither_the_trace_nor_other_states() -> None:
    disk = run(Rules())
    before = [fingerprint(state.disk) for state in crash_states(disk.trace)]
    for state in crash_states(disk.trace):
        for path in state.disk.files():
            state.disk.open(path).write_at(0, [b"overwritten"])
    assert [fingerprint(state.disk) for state in crash_states(disk.trace)] == before


def test_a_recording_starts_from_what_another_disk_holds_unsynced_bytes_included() -> None:
    disk = MemoryDisk()
    disk.open("a", create=True).write_at(0, [b"unsynced"])
    recording = RecordingDisk(disk)
    assert recording.contents("a") == b"unsynced"
    assert {tuple(state.disk.files()) for state in crash_states(recording.trace)} == {(), ("/a",)}


def test_a_killed_process_leaves_the_page_cache_which_the_next_power_cut_takes() -> None:
    disk = RecordingDisk()
    file = disk.open("a", create=True)
    file.sync()
    disk.sync_directory("/")
    file.write_at(0, [b"unsynced"])
    last = list(killed_states(disk.trace))[-1]
    assert last.disk.contents("a") == b"unsynced"
    assert last.disk.crash(DROP_ALL).contents("a") == b""


def test_a_failed_sync_is_recorded_as_lost_bytes() -> None:
    disk = RecordingDisk()
    file = disk.open("a", create=True)
    disk.sync_directory("/")
    disk.faults.append(failing("sync", errno.EIO))
    file.write_at(0, [b"lost"])
    with pytest.raises(SyncFailed):
        file.sync()
    file.sync()
    last = state_at(disk.trace, len(disk.trace.events), "dropped")
    assert last.disk.contents("a") == b""


def fingerprint(disk: MemoryDisk) -> dict[str, bytes]:
    return {path: disk.contents(path) for path in disk.files()}
