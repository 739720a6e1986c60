"""Databases are made and dropped while the server runs; failures and crashes leave all or nothing of them."""

from __future__ import annotations

import errno
import logging

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.kawal_databases import DatabaseAction
from tests.broker.databases import ask, asking, create_database, drop_database, listed
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, outcomes, producing, read, send
from tests.wal.crash import CrashState, RecordingDisk, check_every_crash, killed_states
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.memory_image import KEEP_ALL


def delete(gateway: Gateway, name: str) -> None:
    gateway.broker.delete_topic(gateway.broker.find_topic(name), gateway.now_ms)


def directories(disk: MemoryDisk) -> list[str]:
    return [name for name in disk.list("/data") if name.startswith("db-")]


def test_other_requests_are_served_while_the_directories_are_made() -> None:
    gateway = Gateway()
    slow, client = gateway.client(), gateway.client()
    slow.send(asking(DatabaseAction.CREATE, "d"), 0)
    jobs = list(gateway.broker.take_jobs(gateway.now_ms))
    assert gateway.broker.has_disk_work
    create(client, "t")
    send(client, "t", batch(b"a"))
    again = ask(client, DatabaseAction.CREATE, "d")
    assert again.error_code == ErrorCode.DUPLICATE_RESOURCE
    assert slow.answers() == []
    gateway.finish(jobs)
    gateway.settle()
    assert slow.answers()[0].databases[0].error_code == 0


@pytest.mark.parametrize("kind", ["make_directory", "sync_directory"])
def test_a_disk_that_refuses_leaves_no_database_and_no_directory(kind: str) -> None:
    gateway = Gateway()
    client = gateway.client()
    gateway.disk.faults.append(failing(kind, errno.EIO, path="db-"))
    refused = ask(client, DatabaseAction.CREATE, "d")
    assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert "'d' was not made" in (refused.error_message or "")
    gateway.settle()
    assert directories(gateway.disk) == []
    create_database(client, "d")


def test_a_record_that_is_lost_leaves_no_database_and_no_directory() -> None:
    gateway = Gateway()
    client = gateway.client()
    gateway.advance(5_000)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="/meta/"))
    refused = ask(client, DatabaseAction.CREATE, "d")
    assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    gateway.advance(2_000)
    assert directories(gateway.disk) == []
    assert listed(client) == ["default"]
    create_database(client, "d")


def test_a_log_that_refuses_the_record_leaves_nothing_either() -> None:
    gateway = Gateway()
    client = gateway.client()
    gateway.settle()
    client.send(asking(DatabaseAction.CREATE, "d"), 0)
    jobs = list(gateway.broker.take_jobs(gateway.now_ms))
    gateway.broker.meta.log.abandon()
    gateway.finish(jobs)
    assert client.answers()[0].databases[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    gateway.settle()
    assert directories(gateway.disk) == []


def test_a_drop_that_is_lost_leaves_the_database_serving() -> None:
    gateway = Gateway()
    client = gateway.client()
    create_database(client, "d")
    gateway.advance(5_000)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="/meta/"))
    assert drop_database(client, "d").error_code == ErrorCode.KAFKA_STORAGE_ERROR
    gateway.advance(2_000)
    assert listed(client) == ["d", "default"]
    create(client, "t", 1, **{"kawal.database": "d"})
    send(client, "t", batch(b"a"))
    assert read(client, "t") == [b"a"]


def test_vnodes_at_work_are_waited_for_and_who_waits_for_them_is_answered() -> None:
    gateway = Gateway()
    admin, producer = gateway.client(), gateway.client()
    create_database(admin, "d", vnodes="1")
    create(admin, "t", 1, **{"kawal.database": "d"})
    (vnode,) = gateway.broker.vnodes["d"]
    producer.send(producing(("t", 0, batch(b"a"))), 9)
    jobs = list(gateway.broker.take_jobs(gateway.now_ms))
    assert vnode.busy
    producer.send(producing(("t", 0, batch(b"b"))), 9)
    delete(gateway, "t")
    admin.send(asking(DatabaseAction.DROP, "d"), 0)
    gateway.settle()
    assert directories(gateway.disk) != []
    assert producer.answers() == []
    gateway.finish(jobs)
    gateway.settle()
    first, second = (outcomes(answer)[0].error_code for answer in producer.answers())
    assert (first, second) == (0, ErrorCode.KAFKA_STORAGE_ERROR)
    assert directories(gateway.disk) == []
    assert vnode.log.state == "CLOSED"


def test_files_that_cannot_be_removed_are_tried_again() -> None:
    gateway = Gateway()
    client = gateway.client()
    create_database(client, "d")
    gateway.disk.faults.append(failing("remove_directory", errno.EBUSY, path="db-"))
    assert drop_database(client, "d").error_code == 0
    gateway.settle()
    assert len(directories(gateway.disk)) == 1
    gateway.advance(60_000)
    assert directories(gateway.disk) == []
    # A removal that a file system could not make durable may be lost: it is remembered until the next start.
    assert len(gateway.broker.catalogue.databases.dropped) == 1
    gateway.restart()
    assert gateway.broker.catalogue.databases.dropped == {}


def test_a_removal_that_cannot_be_recorded_is_recorded_at_the_next_start() -> None:
    gateway = Gateway()
    client = gateway.client()
    create_database(client, "d")
    client.send(asking(DatabaseAction.DROP, "d"), 0)
    while not any(name for name in gateway.broker.catalogue.databases.dropped):
        assert gateway.run_jobs()
    jobs = list(gateway.broker.take_jobs(gateway.now_ms))
    gateway.broker.meta.log.abandon()
    gateway.finish(jobs)
    gateway.disk.locks.clear()
    again = Gateway(disk=gateway.disk)
    assert again.broker.catalogue.databases.dropped == {}
    assert listed(again.client()) == ["default"]


def test_the_number_of_vnodes_has_a_limit() -> None:
    gateway = Gateway()
    client = gateway.client()
    for number in range(3):
        create_database(client, f"d{number}", vnodes="256")
    refused = ask(client, DatabaseAction.CREATE, "d4", vnodes="256")
    assert refused.error_code == ErrorCode.POLICY_VIOLATION
    assert "would exceed the 1024" in (refused.error_message or "")


def test_a_directory_that_no_record_knows_goes_unless_it_holds_records(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gateway = Gateway()
    client = gateway.client()
    create_database(client, "d", vnodes="1")
    create(client, "t", 1, **{"kawal.database": "d"})
    send(client, "t", batch(b"a"))
    held = ask(client, DatabaseAction.DESCRIBE, "d").directory
    disk = gateway.disk.crash(KEEP_ALL)
    for name in disk.list("/data/meta"):
        disk.remove(f"/data/meta/{name}")
    # A catalogue put back from a backup that knows only the default database.
    old = Gateway()
    for name in old.disk.list("/data/meta"):
        file = disk.open(f"/data/meta/{name}", create=True)
        file.write_at(0, [old.disk.contents(f"/data/meta/{name}")])
    marker = disk.open("/data/kawal.json", create=False)
    marker.truncate(0)
    marker.write_at(0, [old.disk.contents("/data/kawal.json")])
    disk.make_directory("/data/db-empty")
    disk.make_directory("/data/db-empty/vnode-0")
    with caplog.at_level(logging.ERROR):
        again = Gateway(disk=disk)
    assert directories(again.disk) == [held]
    assert f"/data/{held}: the catalogue knows no database there" in caplog.text


def lived(disk: RecordingDisk) -> None:
    """Make, use, empty and drop a database; the trace notes the answers that clients got."""
    gateway = Gateway(disk=disk, kawal_vnodes=1, kawal_segment_bytes=20_000)
    client = gateway.client()
    create_database(client, "d", vnodes="2", retention_ms="5")
    disk.trace.mark("created")
    create(client, "t", 1, **{"kawal.database": "d"})
    send(client, "t", batch(b"a"))
    disk.trace.mark("sent")
    disk.trace.mark("deleting")
    delete(gateway, "t")
    gateway.settle()
    disk.trace.mark("dropping")
    drop_database(client, "d")
    disk.trace.mark("dropped")
    gateway.settle()


def check_database(state: CrashState) -> None:
    again = Gateway(disk=state.disk, kawal_vnodes=1, kawal_segment_bytes=20_000)
    client, marks = again.client(), set(state.marks)
    found = listed(client)
    assert found in (["default"], ["d", "default"])
    if "created" in marks and "dropping" not in marks:
        assert "d" in found
    if "dropped" in marks:
        assert "d" not in found
    assert len(directories(state.disk)) == len(found) - 1
    if "d" not in found:
        create_database(client, "d", vnodes="1")
    elif "sent" in marks and "deleting" not in marks:
        assert read(client, "t") == [b"a"]
    assert again.broker.vnodes["d"][0].log.state == "OPEN"


def test_no_crash_leaves_half_a_database() -> None:
    disk = RecordingDisk()
    lived(disk)
    assert check_every_crash(disk.trace, check_database, random_states=1) > 100
    for state in killed_states(disk.trace):
        check_database(state)


def test_a_removal_whose_record_is_lost_is_recorded_later() -> None:
    gateway = Gateway()
    client = gateway.client()
    create_database(client, "d")
    client.send(asking(DatabaseAction.DROP, "d"), 0)
    while not gateway.broker.catalogue.databases.dropped:
        assert gateway.run_jobs()
    gateway.disk.faults.append(failing("write", errno.EIO, path="/meta/"))
    gateway.settle()
    gateway.advance(1_000)
    assert len(gateway.broker.catalogue.databases.dropped) == 1
    gateway.advance(61_000)
    assert gateway.broker.catalogue.databases.dropped == {}


def restart_shares(gateway: Gateway) -> list[int]:
    return [vnode.log.options.checkpoint_ns for vnode in gateway.broker.vnodes.every[1:]]


def test_each_log_keeps_its_share_of_the_time_that_a_start_may_take() -> None:
    few, many = Gateway(kawal_vnodes=2), Gateway(kawal_vnodes=16)
    assert sum(restart_shares(few)) <= 400_000_000
    assert sum(restart_shares(many)) <= 1_600_000_000
    before = max(restart_shares(many))
    assert create_database(many.client(), "d", vnodes="16").error_code == 0
    shares = restart_shares(many)
    assert len(shares) == 32
    assert sum(shares) <= 2_400_000_000
    assert max(shares) < before, "logs that were there before have a smaller share, too"


def test_a_database_of_durability_remote_needs_a_server_with_a_store() -> None:
    client = Gateway().client()
    made = ask(client, DatabaseAction.CREATE, "d", durability="remote")
    altered = ask(client, DatabaseAction.ALTER, "default", durability="remote")
    for result in (made, altered):
        assert result.error_code == ErrorCode.INVALID_CONFIG
        assert "durability=remote needs a server with kawal.remote.store" in (result.error_message or "")
    assert listed(client) == ["default"]
