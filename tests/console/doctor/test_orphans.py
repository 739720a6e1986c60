"""Streams without a topic are found by reading alone, those of deleted topics are none."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree, rmtree

from console.doctor.databases import check_databases
from console.doctor.durability import check_durability
from console.doctor.finding import Finding
from console.doctor.orphans import check_orphans
from tests.broker.kit import batch, create, send
from tests.console.doctor.test_storage import config
from tests.console.test_wal_orphans import DiskGateway
from tests.wal.logs import commit
from wal.disk import OsDisk
from wal.store import Store
from wal.store_marker import StoreIdentity


def found(path: Path) -> list[Finding]:
    return list(check_orphans(OsDisk(), config(path)))


def test_a_directory_that_is_none_of_ours_has_no_finding(tmp_path: Path) -> None:
    assert found(tmp_path) == []


def test_streams_of_topics_and_of_deleted_topics_are_no_orphans(tmp_path: Path) -> None:
    gateway = DiskGateway(tmp_path)
    for name in ("kept", "gone"):
        create(gateway.client(), name, 2)
        send(gateway.client(), name, batch(b"a"))
    gateway.broker.delete_topic(gateway.broker.find_topic("gone"), gateway.now_ms)
    gateway.settle()
    (while_open,) = found(tmp_path)
    gateway.stop()
    (stopped,) = found(tmp_path)
    assert (while_open.verdict, stopped.verdict) == ("ok", "ok")


def test_a_catalogue_that_is_older_than_the_logs_leaves_orphans(tmp_path: Path) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup"
    DiskGateway(data).stop()
    copytree(data / "meta", backup)
    gateway = DiskGateway(data)
    create(gateway.client(), "lost", 2)
    for index in (0, 1):
        send(gateway.client(), "lost", batch(b"a"), index)
    gateway.stop()
    rmtree(data / "meta")
    copytree(backup, data / "meta")
    findings = found(data)
    assert [finding.verdict for finding in findings] == ["warning", "warning"]
    texts = {finding.text for finding in findings}
    assert {text.partition(" keeps")[0] for text in texts} == {"default/vnode-0", "default/vnode-1"}
    assert {text.partition(" keeps")[2] for text in texts} == {
        f" records of 1 streams without a topic: {number}" for number in (1, 2)
    }
    assert "kawal wal adopt" in findings[0].advice


def test_a_node_without_the_catalogue_has_no_orphans(tmp_path: Path) -> None:
    """All its streams looked as if they had no topic, and the advice was to adopt them."""
    identity = StoreIdentity(cluster_id="c", node_id=1, secret="00", node=1, nodes=2)
    store = Store.open(OsDisk(), str(tmp_path), new_identity=identity, now_ms=0, records=[])
    store.create_vnode("default", 1)
    log = store.open_vnode("default", 1, now_ms=0)
    log.append(7, batch(b"a"))
    commit(log)
    log.close(0)
    store.close(0)
    (finding,) = found(tmp_path)
    assert (finding.verdict, finding.text.endswith("is on node 0")) == ("ok", True)
    assert list(check_databases(OsDisk(), config(tmp_path), cores=4)) == []
    (told,) = check_durability(OsDisk(), config(tmp_path))
    assert (told.verdict, "is on node 0" in told.text) == ("ok", True)
