"""A wall clock that is wrong for a while deletes nothing, at work and at a start."""

from __future__ import annotations

from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, offset_of, send

INTERVAL_MS = 10_000
SETTINGS = {"log_retention_check_interval_ms": INTERVAL_MS}


def start_of(client: Client, name: str) -> int:
    return int(offset_of(client, name, -2).offset)


TEN_YEARS_MS = 10 * 365 * 86_400_000


def set_wall(gateway: Gateway, ahead_ms: int) -> None:
    gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms + ahead_ms)


def test_a_wall_clock_that_jumps_back_deletes_nothing(gateway: Gateway, client: Client) -> None:
    create(client, "t", retention_ms="60000")
    send(client, "t", batch(b"a", timestamp_ms=START_MS))
    set_wall(gateway, -3_600_000)
    gateway.advance(20 * INTERVAL_MS)
    assert start_of(gateway.client(), "t") == 0


def test_a_wall_clock_that_jumps_ahead_deletes_nothing_until_it_has_stayed_there_for_an_hour(
    gateway: Gateway, client: Client
) -> None:
    create(client, "t", retention_ms="864000000")
    send(client, "t", batch(b"a", timestamp_ms=START_MS))
    for _ in range(360):
        set_wall(gateway, TEN_YEARS_MS)
        gateway.advance(INTERVAL_MS)
    assert start_of(gateway.client(), "t") == 0
    set_wall(gateway, TEN_YEARS_MS)
    gateway.advance(INTERVAL_MS)
    assert start_of(gateway.client(), "t") == 1


def test_a_wall_clock_that_is_set_right_again_has_deleted_nothing(gateway: Gateway, client: Client) -> None:
    create(client, "t", retention_ms="864000000")
    send(client, "t", batch(b"a", timestamp_ms=START_MS))
    for ahead_ms in (TEN_YEARS_MS, 0, TEN_YEARS_MS, 0):
        set_wall(gateway, ahead_ms)
        gateway.advance(3_000_000)
    assert start_of(gateway.client(), "t") == 0


def test_a_wall_clock_that_is_wrong_at_the_start_deletes_nothing(gateway: Gateway, client: Client) -> None:
    create(client, "t", retention_ms="864000000")
    send(client, "t", batch(b"a", timestamp_ms=START_MS))
    gateway.wall_ahead_ms = TEN_YEARS_MS
    gateway.crash()
    gateway.advance(20 * INTERVAL_MS)
    assert start_of(gateway.client(), "t") == 0


def test_frames_carry_the_time_of_day_also_after_a_jump(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    gateway.advance(1_000)
    set_wall(gateway, 300_000)
    send(client, "t", batch(b"a"))
    written_ms = gateway.now_ms
    gateway.wall_ahead_ms = 300_000
    gateway.crash()
    log = gateway.partition("t").vnode.log
    assert 0 <= written_ms + 300_000 - log.recovery.last_wall_ms < 60_000


def test_a_wall_clock_that_is_wrong_at_several_starts_deletes_nothing(
    gateway: Gateway, client: Client
) -> None:
    create(client, "t", retention_ms="864000000")
    send(client, "t", batch(b"a", timestamp_ms=START_MS))
    gateway.wall_ahead_ms = TEN_YEARS_MS
    for _ in range(3):
        gateway.crash()
        send(gateway.client(), "t", batch(b"b", timestamp_ms=gateway.now_ms))
        set_wall(gateway, TEN_YEARS_MS)
        gateway.advance(20 * INTERVAL_MS)
        gateway.restart()
        gateway.advance(20 * INTERVAL_MS)
    assert start_of(gateway.client(), "t") == 0
