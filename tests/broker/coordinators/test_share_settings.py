"""The settings of share groups as fetches need them, remembered for as long as they are right."""

from __future__ import annotations

from broker.config.config import config_of
from broker.coordinators import share_settings as tested
from broker.coordinators.share_settings import (
    NO_QUEUE_SETTINGS,
    QueueSettings,
    ShareReading,
    limits_of,
    queue_settings,
    share_reading,
    share_settings,
)
from groups.share.delivery import Limits
from groups.share.states import AtLimit
from protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.broker.gateway import Gateway
from tests.broker.shares import configure


def test_a_group_has_its_own_limits_within_the_servers_bounds() -> None:
    gateway = Gateway(kawal_vnodes=1)
    broker = gateway.broker
    assert limits_of(broker, "g") == Limits()
    configure(gateway, share_record_lock_duration_ms="20000", share_delivery_count_limit="7")
    assert limits_of(broker, "g") == Limits(20_000, 7, 2_000)
    assert limits_of(broker, "other") == Limits()


def test_every_setting_arrives_and_is_remembered_until_it_changes() -> None:
    gateway = Gateway(kawal_vnodes=1)
    broker = gateway.broker
    assert queue_settings(broker, "g") is NO_QUEUE_SETTINGS
    configure(
        gateway,
        share_isolation_level="read_committed",
        share_renew_acknowledge_enable="false",
        kawal_share_member_max_records="7",
        kawal_share_filter="a",
    )
    assert share_reading(broker, "g") == ShareReading(read_committed=True, may_renew=False)
    assert queue_settings(broker, "g") == QueueSettings(member_records_max=7, filter="a")
    assert share_settings(broker, "g") is share_settings(broker, "g")
    assert share_settings(broker, "other") is share_settings(broker, "third")
    configure(gateway, kawal_share_member_max_records="8")
    assert queue_settings(broker, "g").member_records_max == 8
    configure(gateway, group="h", kawal_share_member_max_records="9")
    assert [queue_settings(broker, name).member_records_max for name in ("g", "h", "i")] == [8, 9, 0]


def test_a_changed_server_has_other_settings_for_every_group() -> None:
    gateway = Gateway(kawal_vnodes=1)
    broker = gateway.broker
    assert limits_of(broker, "g").delivery_count_max == 5
    broker.live_config.change_static(config_of({"group.share.delivery.count.limit": "4"}))
    assert limits_of(broker, "g").delivery_count_max == 4


def test_without_dead_letters_of_the_feature_there_are_none() -> None:
    gateway = Gateway(kawal_vnodes=1)
    configure(gateway, errors_deadletterqueue_topic_name="dlq.jobs")
    assert limits_of(gateway.broker, "g").at_limit == AtLimit.TAIL
    update = FeatureUpdateKey(feature="share.version", max_version_level=1, upgrade_type=2)
    gateway.client().call(UpdateFeaturesRequest(feature_updates=[update]), 1)
    assert limits_of(gateway.broker, "g").at_limit == AtLimit.DROP


def test_only_so_many_groups_are_remembered() -> None:
    gateway = Gateway(kawal_vnodes=1)
    layers = gateway.broker.live_config.layers
    for number in range(tested.REMEMBERED_MAX + 2):
        gateway.broker.catalogue.group_configs[f"g{number}"] = {"kawal.share.filter": "a"}
        share_settings(gateway.broker, f"g{number}")
    assert len(layers.memory) <= tested.REMEMBERED_MAX
