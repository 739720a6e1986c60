"""A restore to a moment after the cut has what was acknowledged by then, and nothing that came later."""

from __future__ import annotations

from random import Random

import pytest

from tests.wal.remote.copies import bodies
from tests.wal.remote.journals import FIRST, REMOTE, SECOND, Writer, opened
from tests.wal.stores import open_store
from wal.memory_disk import MemoryDisk
from wal.remote.formats import RemoteDamaged
from wal.remote.journal_format import JournalHeader, JournalSlice, decode_journal, encode_journal
from wal.remote.journal_times import newest_ms
from wal.remote.restore import RemoteRestore


def restored_at(writer: Writer, at_ms: int) -> dict[str, list[bytes]]:
    """Return what each log has in a directory restored as of a moment."""
    disk = MemoryDisk()
    for _ in RemoteRestore(writer.objects, disk, cluster_id="cluster", data="data", at_ms=at_ms).run():
        pass
    store = open_store(disk)
    logs = {
        name: store.open_vnode("default", int(name[-1]), now_ms=0, options=REMOTE) for name in (FIRST, SECOND)
    }
    assert [log.state for log in logs.values()] == ["OPEN"] * 2
    return {name: bodies(log) for name, log in logs.items()}


def test_the_journal_ends_at_the_moment_that_was_asked_for() -> None:
    writer = opened()
    times = []
    for number in range(5):
        writer.write(b"%d" % number)
        writer.send()
        times.append(writer.now_ms)
    for count, at_ms in enumerate(times, 1):
        assert restored_at(writer, at_ms)[FIRST] == [b"%d" % number for number in range(count)]
    assert len(restored_at(writer, times[-1] + 1_000_000)[FIRST]) == 5


def test_a_chunk_with_a_frame_of_later_is_left_out_as_a_whole() -> None:
    writer = opened()
    writer.write(b"before")
    writer.send()
    writer.write(b"at", FIRST)
    at_ms = writer.now_ms
    writer.write(b"after", SECOND)
    writer.send()
    found = restored_at(writer, at_ms)
    assert (found[FIRST], found[SECOND]) == ([b"before"], [])


@pytest.mark.parametrize("seed", range(20))
def test_what_was_acknowledged_by_then_is_there_and_what_was_written_later_is_not(seed: int) -> None:
    random, writer = Random(seed), opened()
    written: dict[bytes, tuple[str, int]] = {}
    acknowledged: dict[bytes, int] = {}
    moments = [writer.now_ms]
    for number in range(30):
        name = random.choice([FIRST, SECOND])
        body = b"%d" % number + b"x" * random.choice([1, 900])
        writer.write(body, name)
        written[body] = name, writer.now_ms
        if random.random() < 0.4:
            writer.now_ms += random.randrange(3)
            writer.send()
            acknowledged |= {body: writer.now_ms for body in written if body not in acknowledged}
        moments.append(writer.now_ms)
    for at_ms in random.sample(moments, 5):
        found = restored_at(writer, at_ms)
        for body, (name, written_ms) in written.items():
            if acknowledged.get(body, at_ms + 1) <= at_ms:
                assert body in found[name]
            if written_ms > at_ms:
                assert body not in found[name]


def test_a_chunk_whose_frames_cannot_be_told_is_refused_with_a_sentence() -> None:
    part = JournalSlice(FIRST, 0, 5, 8_192, 100)
    header = JournalHeader(epoch=1, number=0, incarnation="a", slices=(part,))
    chunk = decode_journal(encode_journal(header, bytes(100)), "key")
    with pytest.raises(RemoteDamaged, match=r"key: bytes 8192 on of default/vnode-0/0+\.wal are no frame"):
        newest_ms(chunk, "key")
