"""The server's signs of life, on the loop's timers."""

from __future__ import annotations

import pytest

from broker.upkeep.heartbeat import Heartbeat
from tests.broker.gateway import Gateway
from wal.memory_objects import MemoryObjects, ObjectFault
from wal.remote.heartbeat import Heart, Places, read_sign


class Bench:
    """A heartbeat of one second over a store in memory; the copy is kept under `epoch`."""

    def __init__(self) -> None:
        self.gateway = Gateway()
        self.objects = MemoryObjects()
        self.epoch: int | None = None
        self.lost: list[Exception] = []
        heart = Heart(self.objects, prefix="c", incarnation="a", interval_ms=1_000, places=Places("h:1"))
        self.heartbeat = Heartbeat(
            self.gateway.broker,
            heart,
            interval_ms=1_000,
            epoch=lambda: self.epoch,
            submit=self.gateway.broker.scheduler.offload,
            lost=self.lost.append,
        )

    def wait(self, ms: int) -> int:
        """Let time go on; return the count of the last sign."""
        for _ in range(0, ms, 500):
            self.gateway.advance(500)
        sign = read_sign(self.objects, "c")
        return sign.count if sign is not None else 0


def test_there_are_no_signs_before_the_copy_is_kept_and_one_at_once_and_at_each_interval_after() -> None:
    bench = Bench()
    assert bench.wait(5_000) == 0
    bench.epoch = 1
    bench.gateway.advance(100)
    assert bench.wait(0) == 1
    assert bench.wait(4_000) == 5


def test_a_store_that_is_away_is_tried_again_and_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.epoch = 1
    bench.objects.hook = lambda call: ObjectFault.AWAY
    for _ in range(10):
        bench.gateway.advance(1_000)
    assert bench.heartbeat.numbers() == {"heartbeat_signs": 0, "heartbeat_failures": 11}
    assert len([line for line in caplog.messages if "no sign of life reaches" in line]) == 1
    bench.objects.hook = None
    assert bench.wait(1_000) == 12
    assert bench.heartbeat.numbers() == {"heartbeat_signs": 1, "heartbeat_failures": 11}


def test_a_server_that_was_replaced_gives_no_more_signs() -> None:
    bench = Bench()
    bench.epoch = 1
    bench.wait(2_000)
    other = Heart(bench.objects, prefix="c", incarnation="b", interval_ms=1_000, places=Places("h:2"))
    other.beat(2)
    bench.wait(5_000)
    assert [str(error) for error in bench.lost] == ["memory/c/heartbeat: another server, h:2, has taken over"]
    assert bench.wait(5_000) == 1
