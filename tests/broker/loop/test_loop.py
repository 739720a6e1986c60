"""The broker is the interface to its event loop."""

from __future__ import annotations

from broker.loop.loop import Loop
from tests.broker.gateway import Gateway


def test_a_broker_is_a_loop() -> None:
    loop: Loop = Gateway().broker
    offered = [name for name in vars(Loop) if isinstance(vars(Loop)[name], property)]
    assert len(offered) == 7
    assert [name for name in offered if not hasattr(loop, name)] == []


def test_a_loop_says_when_it_stops() -> None:
    gateway = Gateway()
    loop: Loop = gateway.broker
    assert not loop.stopping
    gateway.broker.begin_stop(gateway.now_ms)
    assert loop.stopping
