"""The defaults for share groups are Kafka's."""

from __future__ import annotations

from groups.share.config import ShareConfig, ShareGroupConfig


def test_the_state_is_kept_as_in_kafka() -> None:
    """Source: share.coordinator.* in Kafka 4.3's ShareCoordinatorConfig."""
    config = ShareConfig()
    assert config.share_coordinator_state_topic_num_partitions == 50
    assert config.share_coordinator_snapshot_update_records_per_snapshot == 500


def test_members_have_kafkas_times() -> None:
    """Source: group.share.* in Kafka 4.3's GroupCoordinatorConfig."""
    config = ShareGroupConfig()
    assert config.group_share_max_size == 200
    assert config.group_share_session_timeout_ms == 45_000
    assert config.group_share_heartbeat_interval_ms == 5_000
