"""A connection that waits is read again when its time has come, the latest of several, and not before."""

from __future__ import annotations

from broker.loop.muting import mute
from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import Gateway


def test_the_latest_of_several_waits_counts(gateway: Gateway) -> None:
    client = gateway.client()
    timers = gateway.broker.timers
    for wait_ms in (500, 2_000, 1_000):
        mute(client.connection, gateway.now_ms + wait_ms, timers)
    client.send(MetadataRequest(topics=[]), 12)
    gateway.advance(1_999)
    assert client.answers() == []
    gateway.advance(1)
    assert len(client.answers()) == 1


def test_a_shorter_wait_adds_no_timer(gateway: Gateway) -> None:
    client = gateway.client()
    timers = gateway.broker.timers
    mute(client.connection, gateway.now_ms + 2_000, timers)
    count = len(timers)
    for _ in range(100):
        mute(client.connection, gateway.now_ms + 1_000, timers)
    assert len(timers) == count


def test_a_closed_connection_is_left_alone(gateway: Gateway) -> None:
    client = gateway.client()
    mute(client.connection, gateway.now_ms + 1_000, gateway.broker.timers)
    client.close()
    mute(client.connection, gateway.now_ms + 5_000, gateway.broker.timers)
    gateway.advance(5_000)
    assert client.connection.closed
