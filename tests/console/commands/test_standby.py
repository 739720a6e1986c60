"""`kawal standby`: what it refuses, when it takes over, and what it says."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from console.cli import main
from tests.wal.remote.copies import Node
from tests.wal.remote.test_mirror import RemoteNode
from tests.wal.remote.workers import workers_over
from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.objects import Fenced, StoreAway, StoreRefuses
from wal.remote.heartbeat import Heart, Places

SETTINGS = ("--set", "kawal.remote.store=s3://bucket/p")


class Seconds:
    """A clock that sleeping moves on; `then` happens at given moments."""

    def __init__(self) -> None:
        self.now = 100.0
        self.then: list[tuple[float, object]] = []

    def sleep(self, seconds: float) -> None:
        """Move on."""
        self.now += seconds
        while self.then and self.then[0][0] <= self.now:
            call = self.then.pop(0)[1]
            assert callable(call)
            call()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Seconds:
    seconds = Seconds()
    monkeypatch.setattr("console.commands.standby.time.sleep", seconds.sleep)
    monkeypatch.setattr("console.commands.standby._now_ms", lambda: int(seconds.now * 1_000))
    return seconds


@pytest.fixture(autouse=True)
def probes(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """Return the outcomes of the next tries of the store; after them it can be trusted."""
    outcomes: list[Exception] = []

    def probe(_store: object, _tag: str) -> None:
        if outcomes:
            raise outcomes.pop(0)

    monkeypatch.setattr("broker.server.object_probe.probe", probe)
    return outcomes


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> MemoryObjects:
    store = MemoryObjects()
    monkeypatch.setattr("broker.server.object_store.open_store", lambda _place, _folder: store)
    return store


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[argparse.Namespace]:
    """Return the arguments with which the standby goes on to serve."""
    found: list[argparse.Namespace] = []

    def serve(arguments: argparse.Namespace, *, took_over: bool) -> int:
        assert took_over
        found.append(arguments)
        return 0

    monkeypatch.setattr("console.commands.serve.serve", serve)
    return found


def beating(objects: MemoryObjects) -> Heart:
    """Return the heart of a server with a copy in the store, which has given a sign."""
    node = Node(objects)
    node.append(b"one")
    node.round()
    heart = Heart(objects, prefix="cluster", incarnation="a", interval_ms=1_000, places=Places("h:1"))
    heart.beat(1)
    return heart


def test_a_silent_server_is_replaced_and_its_place_taken(
    objects: MemoryObjects,
    clock: Seconds,
    served: list[argparse.Namespace],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    heart = beating(objects)
    clock.then = [(100 + second, lambda: heart.beat(1)) for second in range(1, 11)]
    began = clock.now

    assert main(["standby", *SETTINGS, "--data", str(tmp_path / "d"), "--listen", "127.0.0.1:0"]) == 0

    assert 12.5 < clock.now - began < 14.5
    assert served[0].listen == "127.0.0.1:0"
    assert (tmp_path / "d" / "kawal.json").exists()
    said = capsys.readouterr().err
    assert "kawal standby: follows h:1 by memory: 2 logs" in said
    assert "kawal standby: the server h:1 has been silent for 3" in said
    assert "kawal standby: took over within" in said


def test_the_silence_can_be_chosen(
    objects: MemoryObjects, clock: Seconds, served: list[argparse.Namespace], tmp_path: Path
) -> None:
    beating(objects)
    began = clock.now
    assert main(["standby", *SETTINGS, "--data", str(tmp_path / "d"), "--after", "30"]) == 0
    assert 30 <= clock.now - began < 32
    assert len(served) == 1


def test_a_standby_that_cannot_reach_the_store_does_not_take_over(
    objects: MemoryObjects,
    clock: Seconds,
    served: list[argparse.Namespace],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    beating(objects)

    def away(_call: ObjectCall) -> ObjectFault | None:
        return ObjectFault.AWAY if 101 <= clock.now < 200 else None

    objects.hook = away
    assert main(["standby", *SETTINGS, "--data", str(tmp_path / "d")]) == 0
    assert clock.now >= 203
    assert "the copy cannot be followed now, which is tried again" in capsys.readouterr().err
    assert len(served) == 1


def test_a_server_without_signs_of_life_is_not_followed(
    objects: MemoryObjects, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Node(objects)
    node.round()
    assert main(["standby", *SETTINGS, "--data", str(tmp_path / "d")]) == 1
    assert "gives no signs of life; set kawal.remote.heartbeat.ms there" in capsys.readouterr().err


def test_a_standby_needs_a_store_and_a_silence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["standby", "--data", str(tmp_path / "d")]) == 2
    assert "give the server's kawal.remote.store" in capsys.readouterr().err
    assert main(["standby", *SETTINGS, "--after", "0"]) == 2
    assert "--after takes seconds above 0" in capsys.readouterr().err


@pytest.mark.parametrize("error", [StoreAway("memory: no answer"), StoreRefuses("memory: no such bucket")])
def test_a_store_that_is_not_there_at_the_start_is_told(
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fails(_place: object, _folder: str) -> None:
        raise error

    monkeypatch.setattr("broker.server.object_store.open_store", fails)
    assert main(["standby", *SETTINGS, "--data", str(tmp_path / "d")]) == 1
    assert str(error) in capsys.readouterr().err


def test_a_directory_with_data_is_not_taken(
    objects: MemoryObjects, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beating(objects)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "kawal.json").write_text("{}")
    assert main(["standby", *SETTINGS, "--data", str(tmp_path / "d")]) == 1
    assert "not empty, and not a standby's" in capsys.readouterr().err


def nodes_of(tmp_path: Path, *, listen: str = "127.0.0.1:0") -> list[str]:
    """Return the flags of a cluster of two nodes."""
    (tmp_path / "secret").write_text("x" * 32)
    settings = (
        "kawal.cluster.nodes=127.0.0.1:9092,127.0.0.1:9093",
        f"kawal.cluster.secret.file={tmp_path}/secret",
    )
    flags = [word for text in settings for word in ("--set", text)]
    return [*flags, "--listen", listen, "--data", str(tmp_path / "d")]


def test_a_standby_of_a_node_follows_the_place_of_that_node(
    monkeypatch: pytest.MonkeyPatch,
    clock: Seconds,
    served: list[argparse.Namespace],
    tmp_path: Path,
) -> None:
    store, asked = MemoryObjects(), list[str]()
    beating(store)

    def opened(_place: object, folder: str) -> MemoryObjects:
        asked.append(folder)
        return store

    monkeypatch.setattr("broker.server.object_store.open_store", opened)
    assert main(["standby", *SETTINGS, *nodes_of(tmp_path), "--node", "1"]) == 0
    assert asked == ["node-1"]
    assert served[0].node == "1"


def test_a_standby_of_a_node_needs_an_address_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = nodes_of(tmp_path, listen="0.0.0.0:9092")
    assert main(["standby", *SETTINGS, *flags, "--node", "1", "--insecure"]) == 2
    assert "has no address by which the other nodes find this one" in capsys.readouterr().err


def test_a_server_that_is_alive_moves_as_soon_as_its_copy_was_followed(
    objects: MemoryObjects, clock: Seconds, served: list[argparse.Namespace], tmp_path: Path
) -> None:
    node = RemoteNode(objects)
    node.begin()
    node.acknowledge(b"one")
    began = clock.now
    assert main(["standby", *SETTINGS, "--data", str(tmp_path / "d"), "--now"]) == 0
    assert clock.now == began
    assert len(served) == 1
    with pytest.raises(Fenced):
        node.acknowledge(b"two")


def test_a_server_whose_newest_records_would_be_lost_does_not_move(
    objects: MemoryObjects, clock: Seconds, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beating(objects)
    assert main(["standby", *SETTINGS, "--data", str(tmp_path / "d"), "--now"]) == 1
    assert "no database of durability 'remote'" in capsys.readouterr().err
    assert main(["standby", *SETTINGS, "--data", str(tmp_path / "e"), "--now", "--after", "3"]) == 2
    assert "--now does not wait for a silence" in capsys.readouterr().err


def test_the_store_is_tried_before_it_is_needed_and_again_until_it_can_be_trusted(
    objects: MemoryObjects,
    clock: Seconds,
    served: list[argparse.Namespace],
    probes: list[Exception],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    beating(objects)
    probes += [StoreRefuses("memory: its conditional writes are not atomic"), StoreAway("memory: no answer")]
    began = clock.now
    assert main(["standby", *SETTINGS, "--data", str(tmp_path / "d")]) == 0
    assert clock.now - began >= 10 + 3
    assert "its conditional writes are not atomic" in capsys.readouterr().err
    assert len(served) == 1


def test_a_server_of_several_workers_is_not_followed_and_no_directory_is_made(
    objects: MemoryObjects, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for worker in workers_over(objects):
        worker.round()
    assert main(["standby", *SETTINGS, "--data", str(tmp_path / "d")]) == 1
    said = capsys.readouterr().err
    assert "the copy is that of worker 0 of 2, and a standby follows one process" in said
    assert not (tmp_path / "d").exists()


def test_a_standby_does_not_become_several_workers(
    objects: MemoryObjects, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["standby", *SETTINGS, "--workers", "2", "--data", str(tmp_path / "d")]) == 2
    assert "kawal.workers=2: a standby follows one process" in capsys.readouterr().err
    assert not objects.calls
