"""The server's keys of share groups have Kafka's bounds, and take effect in groups without their own."""

from __future__ import annotations

from typing import Any

import pytest

from broker.config.config import config_of
from broker.config.config_keys import ConfigError
from broker.config.server_keys import KEYS
from broker.config.share_keys import SHARE_KEYS
from tests.broker.gateway import Gateway
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.kit import batch, create, send
from tests.broker.shares import RELEASE, Member, acquired, configure


def test_the_keys_of_share_groups_are_keys_of_the_server() -> None:
    assert all(KEYS[key.name] is key for key in SHARE_KEYS)


@pytest.mark.parametrize(
    ("name", "below", "above"),
    [
        ("max.size", 0, 1001),
        ("delivery.count.limit", 1, 11),
        ("min.delivery.count.limit", 1, 6),
        ("max.delivery.count.limit", 4, 26),
        ("record.lock.duration.ms", 999, 3_600_001),
        ("min.record.lock.duration.ms", 999, 30_001),
        ("max.record.lock.duration.ms", 29_999, 3_600_001),
        ("partition.max.record.locks", 99, 10_001),
        ("min.partition.max.record.locks", 99, 2001),
        ("max.partition.max.record.locks", 1999, 10_001),
    ],
)
def test_values_out_of_kafkas_bounds_are_refused(name: str, below: int, above: int) -> None:
    for value in (below, above):
        with pytest.raises(ConfigError, match="must be between"):
            config_of({f"group.share.{name}": str(value)})


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"group.share.session.timeout.ms": "44999"}, r"group\.share\.min\.session\.timeout\.ms = 45000"),
        ({"group.share.record.lock.duration.ms": "60001"}, r"max\.record\.lock\.duration\.ms = 60000"),
        ({"group.share.min.delivery.count.limit": "5", "group.share.delivery.count.limit": "4"},
         r"group\.share\.min\.delivery\.count\.limit = 5"),
        ({"group.share.partition.max.record.locks": "4001"}, r"max\.partition\.max\.record\.locks = 4000"),
        ({"group.share.heartbeat.interval.ms": "45000", "group.share.max.heartbeat.interval.ms": "45000"},
         r"must be greater than group\.share\.heartbeat\.interval\.ms"),
    ],
)  # fmt: skip
def test_values_at_odds_with_the_bounds_are_refused(settings: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        config_of(settings)


class Configured(Jobs):
    """Jobs on a server with settings for all share groups."""

    def __init__(self, **settings: Any) -> None:
        self.gateway = Gateway(kawal_vnodes=1, **settings)
        self.topic_id = create(self.gateway.client(), "jobs", 1)
        configure(self.gateway, share_auto_offset_reset="earliest")
        self.place = (self.topic_id, 0)


def test_a_group_without_settings_has_the_servers() -> None:
    jobs = Configured(
        group_share_record_lock_duration_ms=20_000,
        group_share_delivery_count_limit=2,
        group_share_session_timeout_ms=50_000,
        group_share_heartbeat_interval_ms=7_000,
    )
    member = Member(jobs.gateway, "m1")
    assert member.beat("jobs").heartbeat_interval_ms == 7_000
    jobs.produce(b"a")
    answer = member.fetch(jobs.place)
    assert (acquired(answer), answer.acquisition_lock_timeout_ms) == ([(0, 0, 1)], 20_000)
    member.acknowledge(jobs.place, (0, 0, [RELEASE]))
    assert acquired(member.fetch()) == [(0, 0, 2)]
    member.acknowledge(jobs.place, (0, 0, [RELEASE]))
    assert acquired(member.fetch()) == []


def test_locks_are_bounded_in_number_by_the_server() -> None:
    jobs = Configured(group_share_partition_max_record_locks=100)
    member = jobs.member("m1")
    for _ in range(3):
        send(jobs.gateway.client(), "jobs", batch(*[b"x"] * 60), 0)
    taken = [acquired(member.fetch(*places)) for places in ([jobs.place], [], [])]
    assert sum(last - first + 1 for found in taken for first, last, _ in found) <= 120
    assert taken[-1] == []


def test_a_setting_of_a_group_is_within_the_bounds_of_the_server() -> None:
    jobs = Configured(group_share_min_record_lock_duration_ms=25_000)
    with pytest.raises(AssertionError, match=r"min\.record\.lock\.duration\.ms"):
        configure(jobs.gateway, share_record_lock_duration_ms="20000")


def test_a_group_has_no_more_members_than_the_server_allows() -> None:
    jobs = Configured(group_share_max_size=1)
    jobs.member("m1")
    assert Member(jobs.gateway, "m2").beat("jobs").error_code == 81
