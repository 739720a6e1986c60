"""Lag is the records between a group's progress and the end; its age is that of the first of them."""

from __future__ import annotations

import pytest

from broker.coordinators.group_lag import UNKNOWN_AGE, Lag, lag_of
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send
from wal.errors import WalError

WALL_MS = 1_000_000


@pytest.fixture
def gateway() -> Gateway:
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    create(client, "t")
    for timestamp_ms in (400_000, 700_000, 900_000):
        send(client, "t", batch(b"v" * 200_000, timestamp_ms=timestamp_ms))
    return gateway


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (None, Lag(0, 3, 3, 600_000)),
        (0, Lag(0, 3, 3, 600_000)),
        (1, Lag(0, 3, 2, 300_000)),
        (2, Lag(0, 3, 1, 100_000)),
        (3, Lag(0, 3, 0, 0)),
        (9, Lag(0, 3, 0, 0)),
    ],
)
def test_lag_counts_records_and_the_age_of_the_first_unread(
    gateway: Gateway, offset: int | None, expected: Lag
) -> None:
    assert lag_of(gateway.partition("t"), offset, WALL_MS) == expected


def test_progress_below_the_log_start_counts_what_is_left(gateway: Gateway) -> None:
    partition = gateway.partition("t")
    partition.vnode.log.set_log_start(partition.stream_id, 2)
    gateway.settle()
    assert lag_of(partition, 0, WALL_MS) == Lag(2, 3, 1, 100_000)


def test_an_index_that_cannot_be_read_leaves_the_age_unknown(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = gateway.partition("t")

    def fails(*_: object) -> None:
        raise WalError("lost")

    monkeypatch.setattr(type(partition.vnode.log), "extents", fails)
    assert lag_of(partition, 1, WALL_MS) == Lag(0, 3, 2, UNKNOWN_AGE)
