"""The data directory and the disk under it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker.config.config import Config, config_of
from console.doctor.finding import Finding
from console.doctor.storage import check_directory, check_disk, check_space, existing_parent
from tests.console.doctor.machine import FakeFacts
from wal.disk import OsDisk
from wal.store import Store
from wal.store_marker import StoreIdentity

IDENTITY = StoreIdentity(cluster_id="c1", node_id=7, secret="00")


def config(path: Path, **settings: Any) -> Config:
    return config_of(
        {"log.dirs": str(path), **{key.replace("_", "."): value for key, value in settings.items()}}
    )


def store(path: Path) -> None:
    made = Store.open(OsDisk(), str(path), new_identity=IDENTITY, now_ms=0)
    made.create_vnode("default", 0)
    made.close(0)


def directory(path: Path, **facts: Any) -> list[Finding]:
    return list(check_directory(FakeFacts(**facts), OsDisk(), config(path)))


def test_a_directory_that_does_not_exist_will_be_made(tmp_path: Path) -> None:
    (found,) = directory(tmp_path / "a/b")
    assert found.verdict == "ok"
    assert "will be made" in found.text


def test_no_right_to_make_it_or_use_it_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "is not writable" in directory(tmp_path / "a")[0].text
    (found,) = directory(tmp_path)
    assert found.verdict == "problem"
    assert "user 10001" in found.text


def test_an_empty_directory_will_be_used(tmp_path: Path) -> None:
    assert "is empty" in directory(tmp_path)[0].text


def test_a_strangers_directory_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("cluster.id=x")
    (found,) = directory(tmp_path)
    assert found.verdict == "problem"
    assert "has no kawal.json" in found.text


def test_ours_is_told_with_its_format_and_owner(tmp_path: Path) -> None:
    store(tmp_path)
    (found,) = directory(tmp_path)
    assert found.verdict == "ok"
    assert "has format 4, cluster c1, node 7, 1 logs" in found.text
    assert "process 12" in directory(tmp_path, holder=12)[1].text
    assert "(unknown)" in directory(tmp_path, holder=0)[1].text


def test_the_directory_of_another_node_is_a_problem(tmp_path: Path) -> None:
    identity = replace(IDENTITY, node=1, nodes=2)
    Store.open(OsDisk(), str(tmp_path), new_identity=identity, now_ms=0).close(0)
    told, refused = directory(tmp_path)
    assert "node 7 (node 1 of 2 in kawal.cluster.nodes)" in told.text
    assert "it would be that of a server without kawal.cluster.nodes" in refused.text
    assert (refused.verdict, "--node" in refused.advice) == ("problem", True)
    secret = tmp_path / "secret"
    own = config(
        tmp_path,
        kawal_cluster_nodes="a:9092,b:9092",
        kawal_cluster_node="1",
        kawal_cluster_secret_file=str(secret),
    )
    assert [found.verdict for found in check_directory(FakeFacts(), OsDisk(), own)] == ["ok"]


def test_another_format_is_a_problem(tmp_path: Path) -> None:
    store(tmp_path)
    marker = tmp_path / "kawal.json"
    marker.write_text(marker.read_text().replace('"format": 4', '"format": 9'))
    (found,) = directory(tmp_path)
    assert found.verdict == "problem"
    assert "format 9" in found.text


def test_an_older_format_is_a_warning(tmp_path: Path) -> None:
    store(tmp_path)
    marker = tmp_path / "kawal.json"
    marker.write_text(marker.read_text().replace('"format": 4', '"format": 1'))
    assert [found.verdict for found in directory(tmp_path)] == ["ok", "warning"]


@pytest.mark.parametrize(
    ("space", "verdict"),
    [
        ((100 << 30, 50 << 30, 10**6), "ok"),
        ((100 << 30, 1 << 20, 10**6), "problem"),
        ((100 << 30, 9 << 30, 10**6), "warning"),
        ((100 << 30, 50 << 30, 5), "warning"),
        ((100 << 30, 50 << 30, 0), "ok"),  # btrfs counts none
    ],
)
def test_space_must_be_left(tmp_path: Path, space: tuple[int, int, int], verdict: str) -> None:
    (found,) = check_space(FakeFacts(space=space), config(tmp_path))
    assert found.verdict == verdict


def disk(path: Path, durability: str = "disk", **facts: Any) -> list[Finding]:
    return list(check_disk(FakeFacts(**facts), config(path, kawal_durability=durability)))


@pytest.mark.parametrize(
    ("facts", "verdicts", "words"),
    [
        ({}, ["ok"], "1.00 ms (median of 20)"),
        ({"kind": "tmpfs"}, ["warning"], "in memory (tmpfs)"),
        ({"kind": "nfs4"}, ["warning", "ok"], "on another machine"),
        ({"kind": "overlay"}, ["warning", "ok"], "container's own layer"),
        ({"read_only": True}, ["problem"], "read-only"),
        ({"syncs": [0.03] * 20}, ["warning"], "30.00 ms"),
        ({"syncs": [0.000_001] * 20}, ["warning"], "faster than devices are"),
        ({"syncs": [0.03] * 20, "durability": "os"}, ["ok"], "no acknowledgement waits"),
        ({"syncs": OSError(5, "Input/output error")}, ["problem"], "Input/output error"),
        ({"syncs": PermissionError(13, "no")}, ["warning"], "was not measured"),
    ],
)
def test_the_disk_must_keep_what_it_says_it_keeps(
    tmp_path: Path, facts: dict[str, Any], verdicts: list[str], words: str
) -> None:
    found = disk(tmp_path, **facts)
    assert [finding.verdict for finding in found] == verdicts
    assert words in found[0].text


def test_the_measuring_file_never_lies_in_a_directory_that_shall_stay_empty(tmp_path: Path) -> None:
    def measured(path: Path) -> str:
        facts = FakeFacts()
        list(check_disk(facts, config(path)))
        return facts.synced_in

    data = tmp_path / "data"
    assert measured(data) == str(tmp_path)
    data.mkdir()
    assert measured(data) == str(tmp_path)
    store(data)
    assert measured(data) == str(data)


def test_the_nearest_directory_above_is_found(tmp_path: Path) -> None:
    assert existing_parent(str(tmp_path / "a/b/c")) == str(tmp_path)
