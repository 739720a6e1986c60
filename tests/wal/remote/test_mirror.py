"""A directory that follows a copy, and takes its server's place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.wal.logs import batch
from tests.wal.remote.copies import Node, bodies
from tests.wal.remote.journals import FIRST as LOG
from tests.wal.remote.journals import REMOTE, LogCommit
from tests.wal.stores import OPTIONS, open_store
from wal.errors import StoreError, StoreInUse
from wal.jobs import CommitJob
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL, KEEP_ALL
from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.objects import Fenced, ObjectStoreError, StoreAway
from wal.remote.formats import RemoteDamaged
from wal.remote.journal import Journal
from wal.remote.mirror import STANDBY, Mirror
from wal.segment import segment_name
from wal.store_marker import MARKER


class RemoteNode(Node):
    """A node whose log counts what the store has."""

    def __init__(
        self, objects: MemoryObjects, incarnation: str = "a", disk: MemoryDisk | None = None
    ) -> None:
        super().__init__(objects, incarnation=incarnation, disk=disk)
        self.log.change_options(REMOTE)
        self.journal = Journal[LogCommit](
            objects,
            prefix=self.store.identity.cluster_id,
            incarnation=incarnation,
            logs=lambda: ["meta", LOG],
            companion=("meta", self.store.catalogue.log),
        )

    def begin(self) -> None:
        """Take the copy over, and let the journal follow it."""
        self.uploader.take_over(self.views(), self.now_ms)
        self.cover()
        assert self.uploader.cut is not None
        self.journal.open(self.uploader.cut.epoch)

    def cover(self) -> None:
        """Make a round."""
        places = {"meta": self.store.catalogue.log.place, LOG: self.log.place}
        self.uploader.round(
            self.views(), budget_bytes=1 << 30, now_ms=self.now_ms, chunk=self.journal.mark.number
        )
        self.journal.covered(places)

    def acknowledge(self, *found: bytes) -> None:
        """Write records, each in a frame of its own, and wait until they count.  Raises: Fenced."""
        for body in found:
            self.log.append(7, batch(body=body))
            job = self.log.begin_sync(self.now_ms)
            assert isinstance(job, CommitJob)
            job.run()
            self.log.written(job, self.now_ms)
            self.journal.add(LogCommit(LOG, self.log, job))
            for put in self.journal.begin():
                put.run()
                for commit in self.journal.done(put, None):
                    self.log.synced(commit.job, self.now_ms)


def mirror_of(objects: MemoryObjects, disk: MemoryDisk | None = None) -> tuple[Mirror, MemoryDisk]:
    disk = disk or MemoryDisk()
    return Mirror(objects, disk, cluster_id="cluster", data="data"), disk


def take_over(mirror: Mirror) -> None:
    for _ in mirror.take_over("standby"):
        pass
    mirror.close()


def served(disk: MemoryDisk) -> list[bytes]:
    """Return what a server finds that starts with a directory."""
    return bodies(open_store(disk).open_vnode("default", 0, now_ms=0, options=OPTIONS))


def test_a_standby_serves_what_was_acknowledged_after_the_last_cut() -> None:
    objects = MemoryObjects()
    node = RemoteNode(objects)
    node.begin()
    node.acknowledge(b"one", b"two")
    mirror, disk = mirror_of(objects)
    list(mirror.follow())
    node.cover()
    node.acknowledge(b"three")

    take_over(mirror)

    assert served(disk) == [b"one", b"two", b"three"]
    assert MARKER in disk.list("data")
    assert STANDBY not in disk.list("data")


def test_the_other_server_acknowledges_nothing_after_it_was_replaced() -> None:
    objects = MemoryObjects()
    node = RemoteNode(objects)
    node.begin()
    node.acknowledge(b"one")
    mirror, disk = mirror_of(objects)
    take_over(mirror)

    with pytest.raises(Fenced, match="another process writes there"):
        node.acknowledge(b"two")
    with pytest.raises(Fenced):
        node.cover()

    assert served(disk) == [b"one"]


def test_what_is_there_is_not_fetched_again() -> None:
    objects = MemoryObjects()
    node = RemoteNode(objects)
    node.begin()
    node.acknowledge(*(b"%d" % number + b"x" * 30_000 for number in range(20)))
    node.cover()
    mirror, disk = mirror_of(objects)
    list(mirror.follow())
    node.acknowledge(b"last")
    node.cover()

    objects.calls.clear()
    list(mirror.follow())
    fetched = [call for call in objects.calls if call.kind == "read_range" and "/state/" not in call.key]
    assert len(fetched) == 1

    # Another process goes on in the same directory, and compares what is there.
    mirror.close()
    again, _ = mirror_of(objects, disk)
    objects.calls.clear()
    list(again.follow())
    assert not [call for call in objects.calls if call.kind == "read_range" and "/state/" not in call.key]
    take_over(again)
    assert served(disk)[-1] == b"last"


def test_wrong_bytes_on_the_disk_of_a_standby_are_fetched_again() -> None:
    objects = MemoryObjects()
    node = RemoteNode(objects)
    node.begin()
    node.acknowledge(b"one" * 1_000)
    node.cover()
    mirror, disk = mirror_of(objects)
    list(mirror.follow())
    mirror.close()
    path = f"data/{LOG}/{0:020d}.wal"
    file = disk.open(path)
    file.write_at(200, [b"wrong"])
    file.close()

    again, _ = mirror_of(objects, disk)
    take_over(again)

    assert served(disk) == [b"one" * 1_000]


def test_segments_that_retention_has_removed_leave_the_standby_too() -> None:
    objects = MemoryObjects()
    node = RemoteNode(objects)
    node.begin()
    node.acknowledge(*(b"%d" % number + b"x" * 30_000 for number in range(20)))
    node.cover()
    mirror, disk = mirror_of(objects)
    list(mirror.follow())
    before = [name for name in disk.list(f"data/{LOG}") if name.endswith(".wal")]

    log = node.uploader._logs[LOG]
    view = node.log.view()
    assert len(view.bases) > 2
    kept = view._replace(bases=view.bases[1:])
    node.uploader.round({**node.views(), LOG: kept}, budget_bytes=1 << 30, now_ms=1, chunk=0)
    assert log.bases == frozenset(kept.bases[:-1])
    list(mirror.follow())

    after = [name for name in disk.list(f"data/{LOG}") if name.endswith(".wal")]
    assert after == before[1:]


def test_what_went_while_the_standby_was_away_is_removed_when_it_comes_back() -> None:
    objects = MemoryObjects()
    node = RemoteNode(objects)
    node.begin()
    node.acknowledge(*(b"%d" % number + b"x" * 30_000 for number in range(20)))
    node.cover()
    mirror, disk = mirror_of(objects)
    list(mirror.follow())
    disk.make_directory("data/db-1")
    disk.make_directory("data/db-1/vnode-0")
    disk.open("data/db-1/vnode-0/00000000000000000000.wal", create=True).close()
    view = node.log.view()
    kept = view._replace(bases=view.bases[2:])
    node.uploader.round({**node.views(), LOG: kept}, budget_bytes=1 << 30, now_ms=1, chunk=0)
    mirror.close()

    again, _ = mirror_of(objects, disk)
    list(again.follow())

    names = [name for name in disk.list(f"data/{LOG}") if name.endswith(".wal")]
    assert names == [segment_name(base) for base in kept.bases]
    assert sorted(disk.list("data")) == ["LOCK", "default", "meta", STANDBY]


@pytest.mark.parametrize("names", [["kawal.json"], ["other"], ["kawal.json", "standby"]])
def test_another_directory_is_refused(names: list[str]) -> None:
    disk = MemoryDisk()
    disk.make_directory("data")
    for name in names:
        disk.open(f"data/{name}", create=True).close()
    with pytest.raises(StoreError, match="data: not empty, and not a standby's"):
        mirror_of(MemoryObjects(), disk)


def test_two_standbys_do_not_share_a_directory() -> None:
    mirror, disk = mirror_of(MemoryObjects())
    with pytest.raises(StoreInUse, match="data: in use by"):
        mirror_of(MemoryObjects(), disk)
    mirror.close()
    mirror_of(MemoryObjects(), disk)


def test_without_a_copy_there_is_nothing_to_follow() -> None:
    mirror, _ = mirror_of(MemoryObjects())
    with pytest.raises(RemoteDamaged, match="cluster/cut: there is no copy of this cluster"):
        list(mirror.follow())


def test_a_first_copy_that_is_not_complete_is_waited_for() -> None:
    objects = MemoryObjects()
    node = RemoteNode(objects)
    node.log.change_options(OPTIONS)
    node.append(*(b"%d" % number + b"x" * 30_000 for number in range(20)))
    node.uploader.take_over(node.views(), 0)
    node.uploader.round(node.views(), budget_bytes=1, now_ms=0)
    mirror, _ = mirror_of(objects)
    with pytest.raises(StoreAway, match="not complete yet"):
        list(mirror.follow())


def test_damaged_objects_are_named_and_end_the_following() -> None:
    objects = MemoryObjects()
    node = RemoteNode(objects)
    node.begin()
    node.acknowledge(b"one")
    node.cover()
    objects.hook = lambda call: ObjectFault.DAMAGED if "/wal/" in call.key else None
    mirror, _ = mirror_of(objects)
    with pytest.raises(RemoteDamaged, match=r"vnode-0/wal/\d+-\d+: the object is damaged"):
        list(mirror.follow())


def test_a_take_over_that_ends_at_any_call_can_be_made_again_by_either_side() -> None:
    for step in range(200):
        objects = MemoryObjects()
        node = RemoteNode(objects)
        node.begin()
        node.acknowledge(b"one")
        node.cover()
        node.acknowledge(b"two", b"three")
        mirror, disk = mirror_of(objects)
        list(mirror.follow())
        calls = iter(range(step + 1))

        def away(_call: ObjectCall, calls: object = calls) -> ObjectFault | None:
            return None if next(calls, None) is not None else ObjectFault.AWAY  # type: ignore[call-overload]

        objects.hook = away
        try:
            take_over(mirror)
        except ObjectStoreError:
            objects.hook = None
        else:
            assert step > 5
            return
        # The standby's machine fails, too; the old server starts again, or does not.
        expected = [b"one", b"two", b"three"]
        if step % 2:
            old = RemoteNode(objects, "old", node.disk.crash())
            old.begin()
            old.acknowledge(b"four")
            expected.append(b"four")
        after = disk.crash(DROP_ALL if step % 3 else KEEP_ALL)
        if MARKER not in after.list("data"):
            take_over(mirror_of(objects, after)[0])
        assert served(after) == expected
    raise AssertionError("the take-over never ended")


class PowerCut(Exception):
    """The end of the process."""


def test_a_take_over_that_ends_between_any_two_calls_of_the_disk_goes_on_afterwards() -> None:
    for last in range(1_000):
        objects = MemoryObjects()
        node = RemoteNode(objects)
        node.begin()
        node.acknowledge(b"one")
        node.cover()
        node.acknowledge(b"two", b"three")
        disk, left = MemoryDisk(), iter(range(last))

        def cut(_effect: object, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise PowerCut

        disk.observe = cut
        try:
            take_over(mirror_of(objects, disk)[0])
        except PowerCut:
            disk.observe = lambda _effect: None
        else:
            assert last > 20
            return
        after = disk.crash(DROP_ALL if last % 2 else KEEP_ALL)
        if not after.exists("data"):
            after.make_directory("data")
        if MARKER not in after.list("data"):
            take_over(mirror_of(objects, after)[0])
        assert served(after) == [b"one", b"two", b"three"]
    raise AssertionError("the take-over never ended")
