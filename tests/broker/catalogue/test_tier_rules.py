"""Which settings go with records that are in the object store alone, in Kafka's words."""

from __future__ import annotations

import pytest

from broker.catalogue.tier_rules import check_tier_kept, local_limit
from broker.catalogue.topic_configs import checked
from broker.config.config import config_of
from broker.config.config_keys import ConfigError

WITH_STORE = config_of({"kawal.remote.store": "s3://bucket/kawal"})
ON = {"remote.storage.enable": "true"}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"local.retention.ms": "1000"},
        {"local.retention.ms": "1000", "retention.ms": "1000"},
        {"local.retention.ms": "-1", "retention.ms": "-1"},
        {"local.retention.bytes": "0", "retention.bytes": "0"},
        {"local.retention.bytes": "-1"},
        {"cleanup.policy": ""},
        {"remote.log.copy.disable": "true"},
        {"remote.log.copy.disable": "true", "local.retention.ms": "5", "retention.ms": "5"},
    ],
)
def test_these_go_together(more: dict[str, str]) -> None:
    assert checked({**ON, **more}, WITH_STORE)["remote.storage.enable"] == "true"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"cleanup.policy": "compact"}, "only supports topics with cleanup.policy=delete"),
        ({"cleanup.policy": "compact,delete"}, "only supports topics with cleanup.policy=delete"),
        (
            {"local.retention.ms": "1001", "retention.ms": "1000"},
            "Value must not be more than retention.ms property value: 1000",
        ),
        (
            {"local.retention.ms": "-1", "retention.ms": "7"},
            "must not be -1 as retention.ms value is set",
        ),
        (
            {"local.retention.bytes": "11", "retention.bytes": "10"},
            "Value must not be more than retention.bytes property value: 10",
        ),
        (
            {"remote.log.copy.disable": "true", "local.retention.ms": "5", "retention.ms": "6"},
            "must be set to the identical value",
        ),
    ],
)
def test_these_are_refused_as_kafka_does(more: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        checked({**ON, **more}, WITH_STORE)
    assert words in refused.value.for_client


def test_local_limits_alone_are_kept_without_being_looked_at() -> None:
    assert checked({"local.retention.ms": "9", "retention.ms": "5"}, config_of({}))


def test_without_a_store_the_setting_is_refused_as_kafka_does_without_tiers() -> None:
    with pytest.raises(ConfigError) as refused:
        checked(ON, config_of({}))
    assert "Tiered Storage functionality is disabled in the broker" in refused.value.for_client


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ({}, "without deleting remote data"),
        ({"remote.storage.enable": "false"}, "without deleting remote data"),
        ({"remote.log.delete.on.disable": "true"}, "cannot be turned off"),
    ],
)
def test_it_cannot_be_turned_off(after: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_tier_kept(ON, after)
    assert words in refused.value.for_client
    check_tier_kept(ON, {**ON, **after, "remote.storage.enable": "true"})
    check_tier_kept({}, after)


@pytest.mark.parametrize(("local", "total", "limit"), [(-2, 5, 5), (-2, -1, -1), (3, 5, 3), (-1, -1, -1)])
def test_minus_two_is_the_total_limit(local: int, total: int, limit: int) -> None:
    assert local_limit(local, total) == limit
