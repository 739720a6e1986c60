"""The copy of a server: the start that waits for it, its end, and what its signs say."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from broker.config.endpoints import Endpoint
from broker.server.listeners import Listener, StartError
from broker.server.remote_setup import Ending, places_of, say_farewell, share_of, wait_for_store
from tests.broker.cluster import Cluster
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.broker.upkeep.copies import copy_of
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL
from wal.memory_objects import MemoryObjects, ObjectFault
from wal.objects import Fenced
from wal.remote.heartbeat import Heart, Places, read_sign
from wal.remote.places import ALL, Share


class Started:
    """A broker whose first round of the copy is done here and now; times pass with each pause."""

    def __init__(self, disk: MemoryDisk | None = None, **settings: Any) -> None:
        self.gateway = Gateway(disk, kawal_durability="remote", kawal_remote_store="s3://b", **settings)
        self.objects = MemoryObjects()
        self.copy = copy_of(self.gateway, self.objects, submit=lambda work, done: self.sent.append(work))
        self.sent: list[Callable[[], object]] = []
        self.pauses: list[float] = []

    def wait(self, waiting: Callable[[], object] = lambda: None) -> None:
        wait_for_store(self.gateway.broker, self.copy, self._now_ms, self.pauses.append, waiting)

    def _now_ms(self) -> int:
        self.gateway.now_ms += 500
        return self.gateway.now_ms


def left_on_the_disk() -> MemoryDisk:
    """Return a disk with a topic that a process has synced, and no store has."""
    before = Gateway(kawal_durability="remote")
    create(before.client(), "t")
    before.settle()
    return before.disk.crash(DROP_ALL)


def test_a_node_waits_at_its_start_until_the_store_has_what_its_disk_has() -> None:
    started = Started(left_on_the_disk())
    vnodes = started.gateway.broker.vnodes.every
    assert not any(vnode.is_confirmed for vnode in vnodes)
    started.objects.hook = lambda call: ObjectFault.AWAY if len(started.pauses) < 2 else None
    started.wait()
    assert started.pauses == [0.5, 0.5]
    assert all(vnode.is_confirmed for vnode in vnodes)
    assert started.copy.journal.is_open
    assert started.sent == []


def test_the_copy_goes_on_by_itself_after_the_start_and_once() -> None:
    started = Started()
    started.wait()
    started.gateway.advance(10_000)
    assert len(started.sent) == 1


def test_a_node_whose_place_is_another_ones_does_not_start() -> None:
    started = Started()

    def taken() -> None:
        raise Fenced("another server, h:1, gives signs of life there")

    started.copy._probe = taken
    with pytest.raises(StartError, match="another server, h:1, gives signs of life there"):
        started.wait()


def test_a_server_ends_only_once_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(number))
    broker = Started().gateway.broker
    ending = Ending(broker)
    ending.lost(Fenced("replaced"))
    assert (broker.failure, killed) == ("", [])
    ending.is_serving = True
    ending.lost(Fenced("replaced"))
    assert (broker.failure, killed) == ("replaced", [signal.SIGTERM])


def test_a_sign_says_where_clients_and_other_nodes_reach_the_server() -> None:
    listeners = [
        Listener(socket.socket(), Endpoint("127.0.0.1", 9092), Endpoint("a.example", 19092)),
        Listener(socket.socket(), Endpoint("::1", 9093), None, name="INNER"),
    ]
    try:
        places = places_of(Gateway().broker, listeners)
    finally:
        for listener in listeners:
            listener.socket.close()
    assert places.listeners == {"PLAINTEXT": "a.example:19092", "INNER": "[::1]:9093"}
    assert (places.number, places.inner) == (0, "")


def heart_of(objects: MemoryObjects) -> Heart:
    return Heart(objects, prefix="c", incarnation="a", interval_ms=1_000, places=Places("h:1"))


def test_a_clean_end_says_farewell_and_one_before_the_first_cut_says_nothing() -> None:
    objects = MemoryObjects()
    say_farewell(heart_of(objects), None)
    assert read_sign(objects, "c") is None
    say_farewell(heart_of(objects), 1)
    sign = read_sign(objects, "c")
    assert sign is not None
    assert sign.ended


def test_a_store_that_hangs_or_is_away_does_not_hold_up_an_end() -> None:
    goes_on = threading.Event()
    hung = MemoryObjects(lambda _call: None if goes_on.wait() else ObjectFault.AWAY)
    say_farewell(heart_of(hung), 1, within_seconds=0)
    assert hung.calls
    goes_on.set()
    away = MemoryObjects(lambda _call: ObjectFault.AWAY)
    say_farewell(heart_of(away), 1)
    away.hook = None
    assert read_sign(away, "c") is None


def test_a_start_that_waits_gives_signs_of_life_to_its_supervisor() -> None:
    started = Started(left_on_the_disk())
    started.objects.hook = lambda call: ObjectFault.AWAY if len(started.pauses) < 3 else None
    signs: list[int] = []
    started.wait(lambda: signs.append(len(started.pauses)))
    assert signs == [0, 1, 2, 3]


def test_a_worker_copies_the_logs_that_it_leads_and_others_all_that_they_have() -> None:
    assert [share_of(node.broker) for node in Cluster(3)] == [Share(number, 3) for number in range(3)]
    assert share_of(Gateway().broker) == ALL
    assert [share_of(node.broker) for node in Cluster(2, own_directories=True)] == [ALL, ALL]
