"""The place of a node on a machine of its own."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker.catalogue.nodes import Nodes
from broker.config.config import Config, config_of
from broker.config.endpoints import Endpoint
from broker.config.node_share import of_node
from broker.server import node_place
from broker.server.listeners import Listener, StartError
from broker.server.node_place import NodePlace, serve_node
from tests.broker.cluster import Cluster
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from wal.disk import OsDisk
from wal.store_marker import StoreIdentity, write_marker


def config(tmp_path: Path, number: int = 0, **settings: Any) -> Config:
    secret = tmp_path / "secret"
    secret.write_bytes(b"0123456789abcdef")
    secret.chmod(0o600)
    return of_node(
        config_of(
            {
                "kawal.cluster.nodes": "a.lan:9092,b.lan:9093",
                "kawal.cluster.node": str(number),
                "kawal.cluster.secret.file": str(secret),
                "log.dirs": str(tmp_path / "data"),
                **settings,
            }
        )
    )


def listener(name: str, bound: str, told: str | None = None) -> Listener:
    sock: Any = None
    return Listener(sock, Endpoint(bound, 9092), None if told is None else Endpoint(told, 1), name=name)


class Threads:
    """Threads that are not used."""

    def submit_peer(self, *_: object) -> None:
        raise AssertionError("nothing is asked")


def joined(settings: Config, listeners: list[Listener]) -> Nodes:
    threads: Any = Threads()
    place = NodePlace(settings)
    nodes, catalogue = place.join(settings, threads, listeners)
    assert catalogue is None
    return nodes


def test_node_0_is_the_controller_and_waits_for_none(tmp_path: Path) -> None:
    nodes = joined(config(tmp_path), [])
    assert (nodes.own_id, nodes.number, nodes.count, nodes.is_controller) == (1, 0, 2, True)
    assert nodes.has_own_directory
    assert nodes.greeter is not None


def test_a_node_tells_what_its_listeners_advertise_and_its_own_address_for_all_interfaces(
    tmp_path: Path,
) -> None:
    listeners = [
        listener("A", "10.0.0.1"),
        listener("B", "10.0.0.1", "b.example"),
        listener("C", "0.0.0.0"),
        listener("D", "::"),
    ]
    members = joined(config(tmp_path), listeners).members
    assert members is not None
    found = {name: members.address(0, name) for name in "ABCD"}
    assert found == {
        "A": ("10.0.0.1", 9092),
        "B": ("b.example", 1),
        "C": ("a.lan", 9092),
        "D": ("a.lan", 9092),
    }


def test_a_directory_of_another_node_is_refused_before_the_controller_is_asked(tmp_path: Path) -> None:
    settings = config(tmp_path, 1)
    (tmp_path / "data").mkdir()
    identity = StoreIdentity(cluster_id="c", node_id=1, secret="", node=0, nodes=2)
    write_marker(OsDisk(), str(tmp_path / "data"), identity)
    with pytest.raises(Exception, match="this is the directory of node 0, and this is node 1"):
        joined(settings, [])


def test_a_node_has_the_file_that_its_settings_name(tmp_path: Path) -> None:
    assert NodePlace(config(tmp_path, 1)).own_path("/a/audit.log") == "/a/audit.log"


def test_a_secret_that_cannot_be_used_ends_the_start(tmp_path: Path) -> None:
    settings = config(tmp_path)
    (tmp_path / "secret").chmod(0o644)
    with pytest.raises(StartError, match="chmod 600"):
        NodePlace(settings)


def test_a_node_shows_its_own_pages_and_binds_its_own_sockets(tmp_path: Path) -> None:
    place = NodePlace(config(tmp_path))

    def pages(_broker: Any, _now_ms: Any) -> Any:
        return {}

    assert place.joined(pages) is pages
    assert (place.pages, place.sockets, place.life_ms, place.reads_again) == (None, (), None, False)


@pytest.mark.parametrize("begins_anew", [False, True])
def test_a_node_that_cannot_follow_any_more_starts_once_more_as_the_same_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins_anew: bool
) -> None:
    started: list[list[str]] = []

    def serve(_config: Config, *, place: NodePlace, ready: object) -> int:
        place.begins_anew = begins_anew
        return 0

    monkeypatch.setattr(node_place, "main", serve)
    monkeypatch.setattr("os.execv", lambda _program, words: started.append(words))
    settings = config(tmp_path)
    assert serve_node(replace(settings, node_id=1), ready=print) == 0
    assert started == ([[sys.executable, *sys.orig_argv[1:]]] if begins_anew else [])


@pytest.mark.parametrize(("number", "topics", "warned"), [(1, 1, True), (1, 0, False), (0, 1, False)])
def test_a_new_directory_in_a_cluster_with_topics_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, number: int, topics: int, warned: bool
) -> None:
    place = NodePlace(config(tmp_path, number))
    place._cluster_id(str(tmp_path / "data"))
    gateway = Gateway(kawal_vnodes=2)
    for count in range(topics):
        create(gateway.client(), f"t{count}")
    with caplog.at_level(logging.WARNING):
        place.warn(gateway.broker)
    assert ("this directory of node 1 is new" in caplog.text) is warned


def test_a_new_cluster_has_internal_topics_and_warns_of_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = NodePlace(config(tmp_path, 1))
    place._cluster_id(str(tmp_path / "data"))
    cluster = Cluster(2)
    cluster.advance(0)
    assert "__consumer_offsets" in cluster[1].broker.catalogue.by_name
    with caplog.at_level(logging.WARNING):
        place.warn(cluster[1].broker)
    assert not caplog.text


def test_nodes_without_logs_are_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        NodePlace(config(tmp_path)).warn(Gateway(kawal_vnodes=1).broker)
    assert "there are 2 nodes, but no database has more than 1 write-ahead logs" in caplog.text
