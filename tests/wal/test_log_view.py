"""A log as a thread that copies it is told of it."""

from __future__ import annotations

from tests.wal.logs import batch
from tests.wal.stores import OPTIONS, open_store
from wal.log_view import LogView
from wal.memory_disk import MemoryDisk


def test_a_view_moves_with_what_is_durable_and_not_with_what_is_appended() -> None:
    store = open_store(MemoryDisk())
    store.create_vnode("default", 0)
    log = store.open_vnode("default", 0, now_ms=0, options=OPTIONS)
    before = log.view()
    log.append(7, batch())
    assert log.view() == before == LogView(0, 0, ())
    job = log.begin_sync(1)
    assert job is not None
    job.run()
    log.synced(job, 1)
    assert log.view() == LogView(1, 1, (0,))
