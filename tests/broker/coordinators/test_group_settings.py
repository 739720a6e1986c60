"""The configuration of groups reaches the coordinator."""

from __future__ import annotations

from dataclasses import fields

import pytest

from broker.catalogue.live_config import LiveConfig
from broker.catalogue.topics import Catalogue
from broker.config.config import Config, config_of
from broker.coordinators.group_settings import group_config, group_settings
from groups.config import GroupConfig, GroupSettings, MigrationPolicy


@pytest.fixture
def catalogue() -> Catalogue:
    return Catalogue()


def test_the_defaults_of_the_keys_are_those_of_the_coordinator(catalogue: Catalogue) -> None:
    assert group_config(LiveConfig(Config(), catalogue)) == GroupConfig()


def test_every_setting_of_all_groups_is_a_key_of_the_same_name(catalogue: Catalogue) -> None:
    known = {field.name for field in fields(Config)}
    assert {field.name for field in fields(GroupConfig)} <= known


def test_what_an_operator_sets_arrives(catalogue: Catalogue) -> None:
    config = Config(group_consumer_migration_policy="upgrade", offsets_retention_minutes=5, group_max_size=7)
    found = group_config(LiveConfig(config, catalogue))
    assert found.group_consumer_migration_policy is MigrationPolicy.UPGRADE
    assert (found.offsets_retention_minutes, found.group_max_size) == (5, 7)


def test_a_group_has_only_what_clients_have_set_for_it(catalogue: Catalogue) -> None:
    catalogue.group_configs["g"] = {"consumer.session.timeout.ms": "50000", "kawal.group.assignor": "server"}
    config = LiveConfig(Config(), catalogue)
    assert group_settings(catalogue, config, "g") == GroupSettings(
        consumer_session_timeout_ms=50_000, kawal_group_assignor="server"
    )
    assert group_settings(catalogue, config, "another") == GroupSettings()


def test_what_was_set_under_other_bounds_is_used_within_those_of_now(catalogue: Catalogue) -> None:
    catalogue.group_configs["g"] = {"consumer.session.timeout.ms": "50000"}
    config = LiveConfig(config_of({"group.consumer.max.session.timeout.ms": "20000"}), catalogue)
    assert group_settings(catalogue, config, "g").consumer_session_timeout_ms == 20_000


def test_our_name_of_the_interval_comes_first(catalogue: Catalogue) -> None:
    intervals = {"consumer.assignment.interval.ms": "10", "kawal.rebalance.interval.ms": "20"}
    catalogue.group_configs["g"] = intervals
    found = group_settings(catalogue, LiveConfig(Config(), catalogue), "g")
    assert found.consumer_assignment_interval_ms == 20


def test_intervals_of_one_group_arrive(catalogue: Catalogue) -> None:
    catalogue.group_configs["g"] = {
        "consumer.heartbeat.interval.ms": "4000",
        "consumer.assignment.interval.ms": "10",
    }
    found = group_settings(catalogue, LiveConfig(Config(), catalogue), "g")
    assert (found.consumer_heartbeat_interval_ms, found.consumer_assignment_interval_ms) == (4_000, 10)
