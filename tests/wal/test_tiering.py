"""Segments leave the disk once the store was proved to have them, and are read from there."""

from __future__ import annotations

import errno

import pytest

import wal.store_marker
from tests.wal.remote.copies import Node, at_once, bodies, restored
from tests.wal.stores import OPTIONS, open_store
from wal.block_cache import BLOCK_BYTES
from wal.disk_errors import DiskError
from wal.errors import RemoteOnly, RemoteReadError, RemoteWaits, UnknownFormat
from wal.maintenance_jobs import Job, TierJob
from wal.memory_faults import failing
from wal.memory_image import DROP_ALL
from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.objects import Fenced
from wal.remote.formats import CUT, RemoteDamaged
from wal.remote.proof import FAILURES_MAX
from wal.remote_record import RemoteRecord, record_name
from wal.segment import segment_name
from wal.store_marker import MARKER, STORE_FORMAT, TIERED_FORMAT, marker_format, write_marker
from wal.tierable import LocalPolicy

LARGE = b"y" * 20_000


def filled(count: int = 20, *, stream: int = 7) -> tuple[Node, list[bytes]]:
    """Return a node with some segments, which are in the store, and what was written."""
    node = Node(MemoryObjects())
    written = [LARGE + b"%d" % number for number in range(count)]
    node.append(*written, stream=stream)
    checkpointed(node)
    node.round()
    return node, written


def checkpointed(node: Node) -> None:
    """Write two checkpoints, so that no start needs the closed segments."""
    for _ in range(2):
        node.log.storage[1].checkpoint_wanted = True
        node.commit(node.log)


def reopened(node: Node) -> Node:
    """Return the node after a power failure."""
    return Node(node.objects, disk=node.disk.crash(DROP_ALL), incarnation="b")


def test_a_segment_that_no_stream_wants_leaves_the_disk_and_is_read_from_the_store() -> None:
    node, written = filled()
    left = node.tier()
    assert len(left) > 3
    assert not {segment_name(base) for base in left} & set(node.local_files())
    assert bodies(node.log) == written
    assert node.log.remote_usage()[0] == len(left)


def test_a_segment_is_read_also_between_the_loss_of_its_name_and_the_end_of_the_job() -> None:
    node, written = filled()
    node = reopened(node)
    node.round()
    find = node.log.begin_maintenance
    read: list[list[bytes]] = []

    def begin(now_ms: int) -> Job | None:
        job = find(now_ms)
        if isinstance(job, TierJob):
            job.run()
            read.append(bodies(node.log))
        return job

    node.log.begin_maintenance = begin  # type: ignore[method-assign]
    with pytest.raises(DiskError):  # the job is run again, and its file has lost its name
        node.tier()
    assert read == [written]


def test_a_segment_that_cannot_be_opened_fails_its_job_and_not_the_event_loop() -> None:
    node = reopened(filled()[0])
    node.round()
    find = node.log.begin_maintenance
    found: list[TierJob] = []

    def begin(now_ms: int) -> Job | None:
        is_full = bool(node.log.storage[0].to_tier)
        if is_full:
            node.disk.faults.append(failing("open", errno.EMFILE, path=".wal"))
        job = find(now_ms)
        found.extend([job] if isinstance(job, TierJob) else [])
        return job

    node.log.begin_maintenance = begin  # type: ignore[method-assign]
    with pytest.raises(DiskError, match="open"):
        node.tier()
    assert len(found) == 1
    assert node.log.remote_usage() == (0, 0)


def test_a_log_that_has_files_to_let_go_asks_to_be_called() -> None:
    node, _ = filled()
    node.log.storage[1]._scrubbing.due_ms = 1 << 60
    node.log.tier([RemoteRecord(1, salt=0, key="seg/a.wal", size_bytes=1, crc=0)])
    assert node.log.next_deadline() == node.log.storage[0].now_ms


def test_older_programs_refuse_a_directory_of_which_a_segment_has_left_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node, _ = filled()
    assert marker_format(node.disk, f"data/{MARKER}") == STORE_FORMAT
    node.tier()
    assert marker_format(node.disk, f"data/{MARKER}") == TIERED_FORMAT
    again = reopened(node)
    again.append(b"more")
    assert marker_format(again.disk, f"data/{MARKER}") == TIERED_FORMAT, "a start does not lower it"
    monkeypatch.setattr(wal.store_marker, "NEWEST_FORMAT", STORE_FORMAT)
    with pytest.raises(UnknownFormat, match="has format 5, but this version of kawal reads 1, 2, 3, 4"):
        reopened(again)


def test_a_directory_tiered_by_an_older_version_is_brought_to_the_format_of_such() -> None:
    node, written = filled()
    node.tier()
    write_marker(node.disk, "data", node.store.identity)
    again = reopened(node)
    assert marker_format(again.disk, f"data/{MARKER}") == TIERED_FORMAT
    assert bodies(again.log) == written


def test_nothing_leaves_the_disk_while_the_format_cannot_be_raised() -> None:
    node, written = filled()
    node.disk.faults.append(failing("rename", errno.EIO, path="kawal"))
    with pytest.raises(DiskError):
        node.tier()
    assert node.log.remote_usage() == (0, 0)
    assert bodies(node.log) == written


def test_after_a_power_failure_the_same_records_are_read() -> None:
    node, written = filled()
    left = node.tier()
    again = reopened(node)
    assert again.log.state == "OPEN", again.log.damage
    assert bodies(again.log) == written
    assert set(again.log.view().remote) == set(left)
    again.append(b"more")
    assert bodies(again.log) == [*written, b"more"]


def test_the_next_process_keeps_what_only_the_store_has() -> None:
    node, written = filled()
    node.tier()
    again = reopened(node)
    again.append(b"more")
    assert again.round().segments_missing == 0
    assert again.uploader.sweep(1) == []
    again.uploader.clean(1 << 40, count=1_000)
    assert bodies(again.log) == [*written, b"more"]
    log = open_store(restored(again.objects)).open_vnode("default", 0, now_ms=0, options=OPTIONS)
    assert bodies(log) == [*written, b"more"]


def test_a_stream_that_stays_keeps_its_segments_on_the_disk() -> None:
    node = Node(MemoryObjects())
    for number in range(20):
        node.append(LARGE, stream=7 if number < 10 else 8)
    checkpointed(node)
    node.round()
    left = node.tier(stays=(8,))
    assert left
    assert node.log.local_start(8) == 0
    assert 0 < node.log.local_start(7) <= 10


def test_a_segment_that_the_cut_does_not_name_stays() -> None:
    node = Node(MemoryObjects())
    node.append(*[LARGE] * 20)
    checkpointed(node)
    node.round(budget_bytes=1)  # the newest closed one only
    assert len(node.tier()) == 1
    assert bodies(node.log) == [LARGE] * 20


def test_a_segment_that_a_start_may_need_stays() -> None:
    node = Node(MemoryObjects())
    node.append(*[LARGE] * 20)
    node.round()
    assert node.tier() == []


@pytest.mark.parametrize("fault", [ObjectFault.DAMAGED, ObjectFault.SHORT])
def test_a_segment_whose_object_reads_back_otherwise_stays_and_is_uploaded_again(fault: ObjectFault) -> None:
    node, written = filled()
    victim = segment_keys(node)[0]
    node.objects.hook = lambda call: (
        fault if call == ObjectCall("read_range", victim, call.size_bytes) else None
    )
    left = node.tier()
    assert 0 not in left
    assert segment_name(0) in node.local_files()
    node.objects.hook = None
    node.round()
    assert victim not in segment_keys(node)
    assert 0 in node.tier()
    assert bodies(node.log) == written


def segment_keys(node: Node) -> list[str]:
    """Return the keys of the segments that the copy names, oldest first."""
    log = node.uploader._logs["default/vnode-0"]
    return [f"cluster/default/vnode-0/{log._segments[base].stem}.wal" for base in sorted(log._segments)]


def test_a_read_without_an_answer_takes_nothing_from_the_proofs_of_the_others() -> None:
    node, written = filled()
    victim = segment_keys(node)[0]
    node.objects.hook = lambda call: ObjectFault.AWAY if call.key == victim else None
    left = node.tier()
    assert len(left) > 3
    assert 0 not in left
    assert segment_name(0) in node.local_files()
    node.objects.hook = None
    assert node.tier() == [0]
    assert bodies(node.log) == written


def test_objects_without_an_answer_are_tried_after_the_others() -> None:
    node, _ = filled()
    victims = segment_keys(node)[:FAILURES_MAX]
    node.objects.hook = lambda call: ObjectFault.AWAY if call.key in victims else None
    assert node.tier() == []
    assert len(node.tier()) > 1


def test_a_store_that_is_away_is_asked_for_few_proofs_of_a_round() -> None:
    node, _ = filled()
    asked = len(node.objects.calls)
    node.objects.hook = lambda call: ObjectFault.AWAY if call.kind == "read_range" else None
    assert node.tier() == []
    assert sum(call.kind == "read_range" for call in node.objects.calls[asked:]) == FAILURES_MAX


def test_a_process_that_was_fenced_removes_nothing() -> None:
    node, written = filled()
    other = reopened(node)
    other.round()
    with pytest.raises(Fenced):
        node.tier()
    assert segment_name(0) in node.local_files()
    node.objects.hook = lambda _: ObjectFault.AWAY
    assert bodies(node.log) == written


def test_without_the_cut_nothing_leaves_the_disk_and_all_is_read() -> None:
    node, written = filled()
    node.tier(budget_bytes=1)
    del node.objects.objects[f"cluster/{CUT}"]
    left = set(node.objects.objects)
    with pytest.raises(RemoteDamaged, match="cluster/cut: the object is missing"):
        node.tier()
    node.append(b"more")
    with pytest.raises(RemoteDamaged, match="cluster/cut: the object is missing"):
        node.round()
    assert bodies(node.log) == [*written, b"more"]
    again = reopened(node)
    with pytest.raises(RemoteDamaged, match="cluster/cut: the object is missing"):
        again.round()
    assert left <= set(node.objects.objects), "nothing is removed"
    assert bodies(again.log) == [*written, b"more"]


def test_retention_removes_segments_in_the_store_too() -> None:
    node, written = filled()
    left = node.tier()
    names = segment_keys(node)
    node.log.set_log_start(7, 18)
    node.commit(node.log)
    assert node.log.retire_segments() >= len(left)
    node.commit(node.log)
    node.round()
    node.uploader.clean(1 << 40, count=1_000)
    assert not set(names[:-1]) & set(node.objects.objects)
    assert not node.disk.exists(f"data/default/vnode-0/{record_name(0)}")
    again = reopened(node)
    assert again.log.state == "OPEN", again.log.damage
    assert bodies(again.log) == written[18:]


def test_a_store_that_is_away_ends_one_read_and_the_log_stays_as_good_as_before() -> None:
    node, written = filled()
    node.tier()
    node.objects.hook = lambda _: ObjectFault.AWAY
    for _ in range(3):
        with pytest.raises(RemoteWaits):
            node.log.read(7, 0, 1 << 20)
    assert node.log.state == "OPEN"
    node.append(b"more")
    node.objects.hook = None
    assert bodies(node.log) == [*written, b"more"]


def test_wrong_bytes_end_one_read_with_the_name_of_the_object_and_are_read_again() -> None:
    node, written = filled()
    node.tier()
    reads = node.objects.calls
    node.objects.hook = lambda call: ObjectFault.DAMAGED if call.kind == "read_range" else None
    with pytest.raises(RemoteWaits):
        node.log.read(7, 0, 1)
    with pytest.raises(RemoteReadError, match=r"seg/.*\.wal: bytes .* are not those that were written"):
        read_all(node)
    assert node.log.state == "OPEN"
    node.objects.hook = None
    before = len(reads)
    assert bodies(node.log) == written
    assert len(reads) > before, "what was wrong is not kept"


def read_all(node: Node) -> None:
    """Read what can be read."""
    offset = 0
    while offset < node.log.high_watermark(7):
        try:
            offset = node.log.read(7, offset, 1 << 20).next_offset
        except RemoteWaits:
            continue


def test_a_server_without_the_store_says_what_is_missing() -> None:
    node, _ = filled()
    node.tier()
    store = open_store(node.disk.crash(DROP_ALL))
    log = store.open_vnode("default", 0, now_ms=0, options=OPTIONS)
    assert log.state == "OPEN"
    told: list[Exception | None] = []
    record = log.view().remote[0]
    store.blocks.fetch(record.key, record.size_bytes, 0, 1, told.append)
    assert "set kawal.remote.store" in str(told[0])


def test_a_read_that_needs_the_file_is_refused_with_a_sentence() -> None:
    node, _ = filled()
    node.tier()
    with pytest.raises(RemoteOnly, match="the segment has left the disk"):
        node.log.read_versions(0, 1_000)


def test_a_small_read_fetches_one_block() -> None:
    node, _ = filled()
    node.tier()
    asked = len(node.objects.calls)
    with pytest.raises(RemoteWaits):
        node.log.read(7, 0, 1)
    assert node.log.read(7, 0, 1).size_bytes > len(LARGE)
    assert node.store.blocks.fetched_bytes <= BLOCK_BYTES
    assert [call.kind for call in node.objects.calls[asked:]] == ["read_range"]


def test_a_proof_that_was_not_used_before_the_next_round_counts_no_more() -> None:
    node, written = filled()
    state, _ = node.log.storage
    bases = at_once(node.log.tierable(lambda _: LocalPolicy(-1, 0), wall_ms=0))
    proofs = node.uploader.proved({"default/vnode-0": bases}, budget_bytes=1 << 30)
    node.log.tier(proofs.records["default/vnode-0"])
    node.log.tier([])
    node.commit(node.log)
    assert state.remote_records == {}
    assert bodies(node.log) == written


def test_an_object_that_was_distrusted_is_not_removed_by_this_process() -> None:
    node, _ = filled()
    victim = segment_keys(node)[0]
    node.objects.hook = lambda call: ObjectFault.DAMAGED if call.key == victim else None
    node.tier()
    node.objects.hook = None
    node.round()
    node.uploader.clean(1 << 40, count=1_000)
    assert victim in node.objects.objects
    again = reopened(node)
    again.round()
    assert victim in again.uploader.sweep(1)


def test_an_index_that_was_to_be_made_again_is_not_asked_of_a_file_that_has_left() -> None:
    node, written = filled()
    node.tier()
    state, maintenance = node.log.storage
    state.to_rebuild.append(state.segments.all[0])
    node.commit(node.log)
    assert (state.to_rebuild, maintenance.job) == ([], None)
    assert bodies(node.log) == written
