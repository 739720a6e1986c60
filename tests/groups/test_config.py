"""Tests of groups/config.py."""

from __future__ import annotations

import pytest

from groups.config import GroupConfig, MigrationPolicy


def test_where_the_server_decides_the_defaults_are_tdengines() -> None:
    config = GroupConfig()
    assert (config.group_consumer_session_timeout_ms, config.group_consumer_heartbeat_interval_ms) == (
        12_000,
        3_000,
    )
    assert config.kawal_rebalance_interval_ms == 2_000
    assert config.group_consumer_assignors[0] == "tdengine"
    assert config.offsets_retention_minutes is None


@pytest.mark.parametrize(
    ("policy", "upgrades", "downgrades"),
    [
        (MigrationPolicy.BIDIRECTIONAL, True, True),
        (MigrationPolicy.UPGRADE, True, False),
        (MigrationPolicy.DOWNGRADE, False, True),
        (MigrationPolicy.DISABLED, False, False),
    ],
)
def test_a_policy_allows_one_direction_both_or_none(
    policy: MigrationPolicy, upgrades: bool, downgrades: bool
) -> None:
    assert (policy.upgrades, policy.downgrades) == (upgrades, downgrades)
