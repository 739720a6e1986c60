"""From a data directory to a broker: new ones are initialised, old ones recovered, foreign ones refused."""

from __future__ import annotations

import errno
import logging
from random import Random

import pytest

from broker.catalogue.databases import log_options
from broker.start import open_broker, vnodes_of
from tests.broker.databases import create_database, drop_database
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, fetch, read, send
from wal.backup_catalogue import catalogue_records
from wal.disk import DiskError
from wal.errors import ForeignDirectory, MetadataLost, StoreInUse, UnknownFormat
from wal.memory_disk import MemoryDisk
from wal.memory_faults import Call, Fault, failing
from wal.memory_image import DROP_ALL, KEEP_ALL
from wal.options import LogOptions


def test_a_new_directory_gets_its_vnodes_and_an_identity() -> None:
    gateway = Gateway(kawal_vnodes=3)
    assert [vnode.name for vnode in gateway.broker.vnodes["default"]] == [
        f"default/vnode-{index}" for index in range(3)
    ]
    assert len(gateway.broker.cluster_id) == 22


def test_the_number_of_vnodes_is_that_of_the_directory() -> None:
    gateway = Gateway(kawal_vnodes=2)
    create(gateway.client(), "t")
    gateway.restart()
    again = Gateway(disk=gateway.disk.crash(), kawal_vnodes=5)
    assert len(again.broker.vnodes["default"]) == 2


def test_everything_is_there_after_every_kind_of_end() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t", 3)
    for end in (gateway.restart, gateway.crash, gateway.restart, gateway.crash):
        expected = read(gateway.client(), "t", partition=2)
        send(gateway.client(), "t", batch(b"%d" % len(expected)), 2)
        end()
        assert read(gateway.client(), "t", partition=2) == [*expected, b"%d" % len(expected)]


def test_a_start_that_is_interrupted_anywhere_can_be_made_again() -> None:
    """The power fails at each call of the first start, with all or nothing of that call on the disk."""
    calls: list[int] = []
    counted = MemoryDisk()
    counted.faults.append(lambda _call: calls.append(1))
    Gateway(disk=counted)
    for number in range(len(calls)):
        for fates in (DROP_ALL, KEEP_ALL):
            disk = MemoryDisk()
            _cut_after(disk, number)
            with pytest.raises(KeyboardInterrupt):
                Gateway(disk=disk)
            gateway = Gateway(disk=disk.crash(fates))
            create(gateway.client(), "t")
            gateway.crash()
            assert gateway.broker.catalogue.find("t") is not None


def _cut_after(disk: MemoryDisk, count: int) -> None:
    left = [count]

    def cut(_call: object) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1

    disk.faults.append(cut)


def test_a_second_server_on_the_same_directory_is_refused() -> None:
    gateway = Gateway()
    with pytest.raises(StoreInUse, match="in use by process 1"):
        Gateway(disk=gateway.disk)


def test_a_directory_that_is_somebody_elses_is_left_alone() -> None:
    disk = MemoryDisk()
    disk.make_directory("/data")
    file = disk.open("/data/thesis.txt", create=True)
    file.write_at(0, [b"years of work"])
    with pytest.raises(ForeignDirectory, match="thesis"):
        Gateway(disk=disk)
    assert disk.files() == ["/data/thesis.txt"]


def test_lost_metadata_is_never_made_anew() -> None:
    gateway = Gateway()
    create(gateway.client(), "t")
    gateway.restart()
    disk = gateway.disk.crash()
    for path in disk.files():
        if "/meta/" in path:
            disk.remove(path)
    with pytest.raises(MetadataLost):
        Gateway(disk=disk)


def test_a_directory_of_another_format_is_refused() -> None:
    gateway = Gateway()
    disk = gateway.disk.crash()
    file = disk.open("/data/kawal.json")
    text = file.read_at(0, file.size()).replace(b'"format": 4', b'"format": 9')
    file.truncate(0)
    file.write_at(0, [text])
    with pytest.raises(UnknownFormat, match="9"):
        Gateway(disk=disk)


def test_a_directory_of_an_older_format_is_brought_up_to_date_and_that_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gateway = Gateway()
    create(gateway.client(), "t")
    disk = gateway.disk.crash()
    file = disk.open("/data/kawal.json")
    text = file.read_at(0, file.size()).replace(b'"format": 4', b'"format": 1')
    file.truncate(0)
    file.write_at(0, [text])
    assert Gateway(disk=disk).broker.catalogue.find("t") is not None
    assert "/data was of format 1 and is of format 4 now" in caplog.text


def test_a_failed_start_leaves_the_directory_free() -> None:
    gateway = Gateway()
    create(gateway.client(), "t")
    disk = gateway.disk.crash()
    disk.faults.append(failing("list", errno.EIO, path="vnode-1"))
    with pytest.raises(DiskError):
        Gateway(disk=disk)
    assert Gateway(disk=disk).broker.catalogue.find("t") is not None


def test_a_damaged_vnode_is_told_and_the_others_work(caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway(kawal_vnodes=2)
    client = gateway.client()
    create(client, "t", 2)
    for index in (0, 1):
        for _ in range(3):
            send(client, "t", batch(bytes(500)), index)
    gateway.advance(5_000)
    (path,) = [name for name in gateway.disk.files() if "vnode-0" in name and name.endswith(".wal")]
    disk = gateway.disk.crash()
    disk.damage(path, 1_500, b"rot")
    with caplog.at_level(logging.ERROR):
        again = Gateway(disk=disk, kawal_vnodes=2)
    assert "default/vnode-0 is damaged and refuses writes" in caplog.text
    client = again.client()
    codes = sorted(send(client, "t", batch(b"a"), index).error_code for index in (0, 1))
    assert codes == [0, 56]


def test_bytes_cut_from_a_torn_tail_are_told(caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    create(client, "t")
    send(client, "t", batch(b"a"))
    (path,) = [name for name in gateway.disk.files() if "vnode-0" in name and name.endswith(".wal")]
    file = gateway.disk.open(path)
    end = len(gateway.disk.contents(path).rstrip(b"\0"))
    file.write_at(end + 8, [b"torn"])
    disk = gateway.disk.crash(KEEP_ALL)
    with caplog.at_level(logging.WARNING):
        again = Gateway(disk=disk, kawal_vnodes=1)
    assert "never acknowledged" in caplog.text
    assert read(again.client(), "t") == [b"a"]


@pytest.mark.parametrize(
    ("vnodes", "share_ms"), [(1, 400), (2, 200), (8, 100), (16, 100), (100, 24), (1_000, 20)]
)
def test_vnodes_share_the_time_that_a_start_after_a_crash_may_take(vnodes: int, share_ms: int) -> None:
    options = log_options(Gateway().config, {}, vnode_count=vnodes)
    assert options.checkpoint_ns == share_ms * 1_000_000


@pytest.mark.parametrize(
    ("vnodes", "share_bytes"), [(1, 32 << 20), (2, 16 << 20), (32, 1 << 20), (1_000, 1 << 20)]
)
def test_vnodes_share_the_memory_for_old_indexes(vnodes: int, share_bytes: int) -> None:
    assert log_options(Gateway().config, {}, vnode_count=vnodes).index_cache_bytes == share_bytes


def test_the_configuration_reaches_the_logs() -> None:
    config = Gateway(
        kawal_durability="os",
        kawal_segment_bytes=2 << 20,
        kawal_tail_cache_bytes=8 << 20,
        kawal_vnodes=4,
        kawal_flush_ms=7,
        kawal_min_free_bytes=3,
        log_segment_delete_delay_ms=11,
        producer_id_expiration_ms=13,
        kawal_max_producers_per_partition=17,
    ).config
    assert log_options(config, {}, vnode_count=4) == LogOptions(
        durability="os",
        checkpoint_ns=100_000_000,
        segment_bytes=2 << 20,
        producers_bytes_max=12 << 20,
        aborted_bytes_max=24 << 20,
        named_bytes_max=24 << 20,
        tail_cache_bytes=2 << 20,
        index_cache_bytes=8 << 20,
        flush_ms=7,
        min_free_bytes=3,
        reserve_bytes=4 << 20,
        delete_delay_ms=11,
        producer_expiry_ms=13,
        producers_per_stream_max=17,
    )


def test_records_changed_on_the_disk_after_a_clean_stop_reach_no_consumer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gateway = Gateway(kawal_vnodes=1)
    create(gateway.client(), "t")
    for text in (b"good", b"to be spoiled", b"good"):
        send(gateway.client(), "t", batch(text))
    gateway.broker.begin_stop(gateway.now_ms)
    gateway.settle()
    gateway.broker.close(gateway.now_ms)
    (path,) = [name for name in gateway.disk.files() if "vnode-0" in name and name.endswith(".wal")]
    disk = gateway.disk.kill()
    disk.damage(path, disk.contents(path).index(b"to be spoiled"), b"TO")
    gateway = Gateway(disk=disk, kawal_vnodes=1)
    client = gateway.client()
    assert fetch(client, "t", 1).error_code == 56
    assert read(client, "t", 2) == [b"good"]
    assert fetch(client, "t", 1).error_code == 56
    assert send(client, "t", batch(b"refused")).error_code == 56
    gateway.settle()
    assert "vnode default/vnode-0 is damaged and refuses writes" in caplog.text


def test_a_sector_that_cannot_be_read_costs_its_vnode_and_no_other(caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway(kawal_vnodes=2)
    create(gateway.client(), "t", 2)
    for number in range(20):
        for index in (0, 1):
            send(gateway.client(), "t", batch(b"%d" % number * 300), index)
    bad = gateway.partition("t", 0).vnode
    folder = bad.log._state.directory
    (path,) = [name for name in gateway.disk.files() if name.startswith(folder) and name.endswith(".wal")]
    disk = gateway.disk.crash(KEEP_ALL)
    disk.faults.append(lambda call: _unreadable(call, path, 4_096))
    gateway = Gateway(disk=disk, kawal_vnodes=2)
    client = gateway.client()
    assert f"vnode {bad.name} is damaged and refuses writes: {path}: bytes" in caplog.text
    assert [send(client, "t", batch(b"new"), index).error_code for index in (0, 1)] == [56, 0]
    assert len(read(client, "t", partition=1)) == 21
    assert 0 < len(read(client, "t")) < 20
    assert fetch(client, "t", 19).error_code == 56


def _unreadable(call: Call, path: str, position: int) -> Fault | None:
    hit = call.path == path and call.position <= position < call.position + call.size_bytes
    return Fault(errno.EIO) if hit and call.kind == "read" else None


def test_the_logs_that_a_start_opens_follow_from_the_catalogues_records() -> None:
    gateway = Gateway(kawal_vnodes=2)
    create_database(gateway.client(), "d", vnodes="1")
    create_database(gateway.client(), "gone", vnodes="3")
    drop_database(gateway.client(), "gone")
    gateway.settle()
    directory = gateway.broker.catalogue.databases["d"].directory
    expected = ["default/vnode-0", "default/vnode-1", f"{directory}/vnode-0"]
    assert vnodes_of(catalogue_records(gateway.disk, "/data/meta")) == expected
    gateway.crash()
    opened = [vnode.log._state.directory for vnode in gateway.broker.vnodes.every[1:]]
    assert sorted(opened) == sorted(f"/data/{folder}" for folder in expected)


def test_a_first_user_is_there_from_the_start_and_never_changed_by_it() -> None:
    disk = MemoryDisk()
    added: list[str] = []

    def start(credential: str) -> dict[str, dict[str, str]]:
        broker = open_broker(
            disk,
            Gateway(disk=MemoryDisk()).config,
            random=Random(1),
            now_ms=1,
            wall_ms=1,
            users={"admin": {"SCRAM_SHA_256": credential}},
            user_added=added.append,
        )
        found = dict(broker.catalogue.scram_credentials)
        disk.restart()
        return found

    assert start("one") == start("two") == {"admin": {"SCRAM_SHA_256": "one"}}
    assert added == ["admin"]
