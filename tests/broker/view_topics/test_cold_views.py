"""Views over what lies on a cold disk: threads read it, and other clients do not wait."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from broker.loop.slices import run_here
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, fetch, records_of, send
from tests.broker.views import named_client
from wal.memory_disk import MemoryFile
from wal.segment import FileRange

VIEWS = {
    "plain": "SELECT id FROM t WHERE id > 1",
    "routed": "SELECT id FROM t WHERE id = 2",
    "bad": "UNFIT t",
    "tagged": "SELECT id FROM t WHERE name = 'a' AND id > 1",
}


@pytest.mark.parametrize("view", VIEWS)
def test_what_a_view_reads_from_a_cold_disk_is_read_in_threads(
    monkeypatch: pytest.MonkeyPatch, view: str
) -> None:
    gateway = Gateway(kawal_vnodes=1)
    client = named_client(gateway)
    create(client, "t", kawal_columns="id bigint, name string tag")
    create(client, view, partitions=-1, kawal_sql=VIEWS[view])
    send(
        client, "t", batch(*(json.dumps({"id": number, "name": "a"}).encode() for number in (1, 2, 3)), b"no")
    )
    gateway.restart()
    in_thread: list[bool] = []
    reads: list[bool] = []
    read = FileRange.read

    def noted(part: FileRange) -> bytes:
        reads.append(bool(in_thread))
        return read(part)

    def offload(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        in_thread.append(True)
        failed: list[Exception | None] = []
        run_here(work, failed.append)
        in_thread.clear()
        done(failed[0])

    monkeypatch.setattr(FileRange, "read", noted)
    monkeypatch.setattr(MemoryFile, "read_at_if_cached", lambda *_: None)
    gateway.broker.scheduler.offload = offload
    shown = [record.value for record in records_of(fetch(named_client(gateway), view).records)]
    assert shown
    assert reads
    assert all(reads)
