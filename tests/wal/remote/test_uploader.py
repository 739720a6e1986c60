"""The copy of a data directory: what a restore finds after rounds, faults, and other processes."""

from __future__ import annotations

import errno

import pytest

from tests.wal.logs import batch
from tests.wal.remote.copies import Node, bodies, restored, without_files
from tests.wal.stores import OPTIONS, open_store
from wal.log_view import LogView
from wal.memory_faults import failing
from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.objects import Fenced, StoreAway
from wal.remote.formats import CUT, LogCut, Manifest, RemoteDamaged, open_cut
from wal.remote.heartbeat import Heart, Places
from wal.remote.log_upload import LocalDamage
from wal.remote.read_objects import read_manifest
from wal.remote.same_history import RemoteAhead, refuse_another_history
from wal.remote.uploader import Uploader
from wal.stream import epoch_after_loss

SMALL, LARGE = b"x" * 100, b"y" * 20_000


def found_in(objects: MemoryObjects) -> tuple[list[bytes], list[bytes]]:
    """Return what a server finds after a restore: bodies of the stream, records of the catalogue."""
    store = open_store(restored(objects))
    log = store.open_vnode("default", 0, now_ms=0, options=OPTIONS)
    assert log.state == "OPEN", log.damage
    return bodies(log), store.catalogue.records


def test_what_was_uploaded_comes_back() -> None:
    node = Node(MemoryObjects())
    node.record(b"a topic")
    node.append(SMALL, b"second")
    node.round()
    assert found_in(node.objects) == ([SMALL, b"second"], [b"a topic"])


def test_segments_that_were_closed_come_back_with_the_newest() -> None:
    node = Node(MemoryObjects())
    for number in range(20):
        node.append(LARGE + b"%d" % number)
        if number % 7 == 0:
            node.round()
    node.append(b"last")
    node.round()
    names = [key for key in node.objects.objects if key.endswith(".wal")]
    assert len(names) > 3
    assert found_in(node.objects)[0] == [*(LARGE + b"%d" % number for number in range(20)), b"last"]


def test_what_is_not_synced_is_not_uploaded() -> None:
    node = Node(MemoryObjects())
    node.append(b"durable")
    node.log.append(7, batch(body=b"open"))
    job = node.log.begin_sync(5)
    assert job is not None
    node.round()
    assert found_in(node.objects)[0] == [b"durable"]


def test_all_logs_are_at_one_moment() -> None:
    node = Node(MemoryObjects())
    node.append(b"one")
    node.uploader.take_over(node.views(), 0)
    views = node.views()
    node.record(b"later")
    node.append(b"later")
    node.uploader.round(views, budget_bytes=1 << 20, now_ms=1)
    assert found_in(node.objects) == ([b"one"], [])


def test_a_round_without_news_asks_the_store_nothing() -> None:
    node = Node(MemoryObjects())
    node.append(b"one")
    node.round()
    calls = len(node.objects.calls)
    node.round()
    assert len(node.objects.calls) == calls


def test_segments_that_retention_removed_leave_the_copy_after_the_delay() -> None:
    node = Node(MemoryObjects())
    node.append(*[LARGE] * 12)
    node.round()
    before = {key for key in node.objects.objects if key.endswith(".wal")}
    node.log.set_log_start(7, 10)
    node.commit(node.log)
    for _ in range(3):
        node.log.retire_segments()
        node.commit(node.log)
    node.round()
    assert node.uploader.clean(node.now_ms, count=100) == 0
    assert node.uploader.clean(node.now_ms + 1_000, count=100) > 0
    after = {key for key in node.objects.objects if key.endswith(".wal")}
    assert before - after
    assert found_in(node.objects)[0] == [LARGE] * 2


def test_after_the_sweep_the_store_has_what_the_cut_leads_to_and_nothing_else() -> None:
    node = Node(MemoryObjects())
    node.append(*[LARGE] * 6)
    node.round()
    kept = set(node.objects.objects)
    node.objects.create("cluster/default/vnode-0/wal/left-by-a-crash", b"x")
    assert node.uploader.sweep(0) == ["cluster/default/vnode-0/wal/left-by-a-crash"]
    node.uploader.clean(1_000, count=10)
    assert set(node.objects.objects) == kept


def test_a_sign_of_life_is_not_swept() -> None:
    node = Node(MemoryObjects())
    node.append(b"one")
    node.round()
    Heart(node.objects, prefix="cluster", incarnation="a", interval_ms=1_000, places=Places("h:1")).beat(1)
    assert node.uploader.sweep(0) == []


def test_a_backlog_is_uploaded_newest_first_and_refused_until_it_is_whole() -> None:
    node = Node(MemoryObjects())
    node.append(*[LARGE] * 12)
    node.round(budget_bytes=1)
    first = [key for key in node.objects.objects if "/default/" in key and key.endswith(".wal")]
    newest_closed = node.log.view().bases[-2]
    (uploaded,) = (node.objects.read(key).data for key in first)
    assert int.from_bytes(uploaded[16:24], "little") == newest_closed
    with pytest.raises(Exception, match=r"not complete yet: \d+ of default/vnode-0 segments"):
        restored(node.objects)
    while node.uploader.cut is not None and node.uploader.cut.segments_missing:
        node.round(budget_bytes=1)
    assert found_in(node.objects)[0] == [LARGE] * 12


def test_the_next_process_goes_on_and_fences_the_one_before() -> None:
    node = Node(MemoryObjects())
    node.append(*[LARGE] * 4)
    node.round()
    node.append(b"not uploaded yet")
    puts = len(node.objects.calls)
    node.disk.restart()
    other = Node(node.objects, disk=node.disk, incarnation="b")
    other.append(b"of the next process")
    other.round()
    uploads = [call for call in node.objects.calls[puts:] if call.kind == "create"]
    assert not any(call.key.endswith(".wal") for call in uploads), "no segment is uploaded twice"
    for _ in range(3):  # it was not fenced the second time: it had kept the other's etag
        with pytest.raises(Fenced):
            node.round()
    assert found_in(node.objects)[0] == [*[LARGE] * 4, b"not uploaded yet", b"of the next process"]


def test_an_older_directory_never_replaces_its_copy() -> None:
    objects = MemoryObjects()
    node = Node(objects)
    node.append(b"one")
    node.round()
    old = restored(objects)
    node.append(b"two", b"three", b"four", b"five")
    node.round()
    other = Node(objects, disk=old, incarnation="b")
    with pytest.raises(
        RemoteAhead, match=r"older than the copy, which was left as it is; .* 'kawal restore'"
    ):
        other.round()
    assert found_in(objects)[0] == [b"one", b"two", b"three", b"four", b"five"]


def test_a_restored_directory_begins_another_leader_epoch() -> None:
    node = Node(MemoryObjects())
    node.append(b"one")
    node.round()
    disk = restored(node.objects)
    epochs = []
    for _ in range(2):
        store = open_store(disk)
        log = store.open_vnode("default", 0, now_ms=0, options=OPTIONS)
        epochs.append(log.largest_leader_epoch())
        log.close(0)
        store.close(0)
    assert epochs == [epoch_after_loss(node.log.largest_leader_epoch(), 0)] * 2


def test_damage_on_the_disk_never_reaches_the_copy() -> None:
    node = Node(MemoryObjects())
    node.append(*[LARGE] * 8)
    base = node.log.view().bases[0]
    file = node.disk.open(f"data/default/vnode-0/{base:020d}.wal")
    file.write_at(5_000, [b"!"])
    node.round()
    assert node.uploader.cut is not None
    assert node.uploader.cut.segments_missing == 1
    report = node.uploader.round(node.views(), budget_bytes=1 << 30, now_ms=0)
    assert "run 'kawal wal verify'" in report.problem


def test_damage_of_the_newest_segment_ends_the_round_and_names_the_place() -> None:
    node = Node(MemoryObjects())
    node.append(b"first", b"second")
    base = node.log.view().bases[-1]
    file = node.disk.open(f"data/default/vnode-0/{base:020d}.wal")
    file.write_at(1_024, [b"!"])
    with pytest.raises(LocalDamage, match="frame 0 was synced, but at byte 1024"):
        node.round()


def test_wrong_bytes_in_the_store_are_an_error_that_names_the_object() -> None:
    node = Node(MemoryObjects())
    node.append(*[LARGE] * 6)
    node.round()
    for key in [key for key in node.objects.objects if key.endswith((".wal", ".idx")) or "/wal/" in key]:
        node.objects.hook = lambda call, key=key: ObjectFault.DAMAGED if call.key == key else None
        with pytest.raises(RemoteDamaged, match=f"{key}: the object is damaged"):
            restored(node.objects)
        node.objects.hook = lambda call, key=key: ObjectFault.SHORT if call.key == key else None
        with pytest.raises(RemoteDamaged, match=key):
            restored(node.objects)


def test_a_damaged_cut_is_told_and_not_replaced() -> None:
    node = Node(MemoryObjects())
    node.append(b"one")
    node.round()
    data, etag = node.objects.read(f"cluster/{CUT}")
    node.objects.replace(f"cluster/{CUT}", data[:-20], etag)
    with pytest.raises(RemoteDamaged, match="memory/cluster/cut: not an object of this kind"):
        restored(node.objects)
    node.disk.restart()
    with pytest.raises(RemoteDamaged):
        Node(node.objects, disk=node.disk, incarnation="b").round()


@pytest.mark.parametrize(
    "fault", [ObjectFault.AWAY, ObjectFault.LOST, ObjectFault.LATE, ObjectFault.CONFLICT]
)
def test_a_fault_at_any_call_costs_a_round_and_nothing_else(fault: ObjectFault) -> None:
    for nth in range(60):
        seen = 0

        def hook(_call: ObjectCall, nth: int = nth) -> ObjectFault | None:
            nonlocal seen
            seen += 1
            return fault if seen == nth + 1 else None

        node = Node(MemoryObjects(hook))
        written = []
        for number in range(6):
            node.append(LARGE + b"%d" % number)
            written.append(LARGE + b"%d" % number)
            for _ in range(3):
                try:
                    node.round()
                except StoreAway:
                    continue
                break
            if number == 3:
                node.objects.land_late()
        node.objects.land_late()
        node.round()
        node.objects.hook = None
        assert found_in(node.objects)[0] == written
        if seen <= nth:
            return
    pytest.fail("more calls than were expected")


def test_a_disk_that_cannot_be_read_costs_a_round() -> None:
    node = Node(MemoryObjects())
    node.append(b"one")
    node.disk.faults.append(failing("read", errno.EIO, path=".wal"))
    with pytest.raises(Exception, match="input/output error"):
        node.round()
    node.round()
    assert found_in(node.objects)[0] == [b"one"]


def test_the_cut_holds_who_keeps_it_and_in_which_epoch() -> None:
    node = Node(MemoryObjects())
    node.round()
    cut = open_cut(node.objects.read(f"cluster/{CUT}").data, CUT)
    assert (cut.cluster_id, cut.epoch, cut.incarnation, sorted(cut.logs)) == (
        "cluster", 1, "a", ["default/vnode-0", "meta"],
    )  # fmt: skip


def test_an_object_without_an_answer_is_not_taken_for_the_one_that_replaces_it() -> None:
    """Seed 19 of the simulation: it was swept as an orphan, then accepted as uploaded, then removed."""
    node = Node(MemoryObjects())
    node.append(*[LARGE] * 6)
    node.uploader.take_over(node.views(), 0)
    faults = [ObjectFault.LOST]
    node.objects.hook = lambda call: faults.pop() if faults and call.key.endswith(".wal") else None
    with pytest.raises(StoreAway):
        node.round()
    node.uploader.sweep(0)
    node.round()
    node.uploader.clean(10_000, count=100)
    assert found_in(node.objects)[0] == [LARGE] * 6


def test_a_copy_that_could_be_restored_stays_one_while_a_backlog_is_uploaded() -> None:
    node = Node(MemoryObjects())
    node.append(b"covered")
    node.round()
    node.append(*[LARGE] * 12)
    assert node.round(budget_bytes=1).segments_missing > 0
    assert found_in(node.objects)[0] == [b"covered"]
    while node.round(budget_bytes=1).segments_missing:
        pass
    assert found_in(node.objects)[0] == [b"covered", *[LARGE] * 12]


def node_with_segments_elsewhere() -> tuple[Node, dict[str, LogView], list[bytes]]:
    """Return a node whose two oldest segments are in the store only, its views, and what was written."""
    node = Node(MemoryObjects())
    written = [LARGE + b"%d" % number for number in range(20)]
    node.append(*written)
    node.round()
    return node, without_files(node), written


def successor_of(node: Node) -> Uploader:
    """Return the uploader of the next process on the same directory."""
    return Uploader(
        node.objects, node.disk, path="data", identity=node.store.identity, incarnation="b", delete_delay_ms=1
    )


def test_a_segment_without_a_local_file_stays_in_the_copy_while_it_is_alive() -> None:
    node, views, written = node_with_segments_elsewhere()
    node.uploader.round(views, budget_bytes=1 << 30, now_ms=1)
    assert node.uploader.sweep(1) == []
    node.uploader.clean(1 << 40, count=1_000)
    assert found_in(node.objects)[0] == written


def test_the_next_process_does_not_take_a_segment_without_a_local_file_for_garbage() -> None:
    node, views, written = node_with_segments_elsewhere()
    again = successor_of(node)
    again.take_over(views, 2)
    report = again.round(views, budget_bytes=1 << 30, now_ms=2)
    assert (report.segments_missing, report.problem) == (0, "")
    assert again.sweep(2) == []
    again.clean(1 << 40, count=1_000)
    assert found_in(node.objects)[0] == written


def test_a_segment_that_the_log_does_not_have_any_more_is_garbage_without_a_local_file_too() -> None:
    node, views, _ = node_with_segments_elsewhere()
    log = views["default/vnode-0"]
    gone = log.remote[log.bases[0]].key
    left = {base: record for base, record in log.remote.items() if base != log.bases[0]}
    views["default/vnode-0"] = log._replace(bases=log.bases[1:], remote=left)
    node.uploader.round(views, budget_bytes=1 << 30, now_ms=1)
    node.uploader.clean(1 << 40, count=1_000)
    assert gone not in node.objects.objects


def test_a_copy_without_its_cut_is_named_and_left_as_it_is() -> None:
    node, views, _ = node_with_segments_elsewhere()
    cut = node.objects.objects.pop(f"cluster/{CUT}")
    left = dict(node.objects.objects)
    for uploader in (successor_of(node), node.uploader):
        node.append(b"more")
        with pytest.raises(RemoteDamaged, match="memory/cluster/cut: the object is missing"):
            uploader.take_over(views, 2)
    with pytest.raises(RemoteDamaged, match="memory/cluster/cut: the object is missing"):
        restored(node.objects)
    assert node.objects.objects == left
    node.objects.objects[f"cluster/{CUT}"] = cut
    again = successor_of(node)
    again.take_over(views, 3)
    assert again.round(views, budget_bytes=1 << 30, now_ms=3).segments_missing == 0


def test_a_cut_that_is_removed_under_a_process_is_not_taken_for_another_process() -> None:
    node, _, _ = node_with_segments_elsewhere()
    node.append(b"more")
    del node.objects.objects[f"cluster/{CUT}"]
    for _ in range(2):
        with pytest.raises(RemoteDamaged, match="memory/cluster/cut: the object is missing"):
            node.round()


def test_a_copy_whose_newest_segment_has_no_local_file_is_known_by_its_salt() -> None:
    node, views, _ = node_with_segments_elsewhere()
    log, key = "default/vnode-0", "cluster/default/vnode-0"
    assert node.uploader.cut is not None
    manifest = read_manifest(node.objects, key, node.uploader.cut.logs[log])
    segment = manifest.segments[0]
    cut = LogCut(durable_sequence=segment.next_sequence)
    oldest = Manifest(segments=(segment,))
    refuse_another_history(node.disk, f"data/{log}", views[log], cut, oldest, copy="memory")
    record = views[log].remote[segment.base_version]
    other = views[log]._replace(remote={segment.base_version: record._replace(salt=1)})
    with pytest.raises(RemoteAhead, match="another history"):
        refuse_another_history(node.disk, f"data/{log}", other, cut, oldest, copy="memory")
