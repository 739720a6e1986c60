"""From configuration keys to what the group coordinator wants to know."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from broker import group_configs
from groups.config import GroupConfig, GroupSettings, MigrationPolicy

if TYPE_CHECKING:
    from broker.live_config import LiveConfig
    from broker.topics import Catalogue

_OF_ONE_GROUP = {
    "consumer_session_timeout_ms": "consumer.session.timeout.ms",
    "consumer_heartbeat_interval_ms": "consumer.heartbeat.interval.ms",
    "consumer_assignment_interval_ms": "consumer.assignment.interval.ms",
    "kawal_group_assignor": "kawal.group.assignor",
}


def group_config(config: LiveConfig) -> GroupConfig:
    """The settings of all groups; every field of GroupConfig is a server key of the same name."""
    values: dict[str, Any] = {
        field.name: config.current.value(field.name.replace("_", ".")) for field in fields(GroupConfig)
    }
    values["group_consumer_migration_policy"] = MigrationPolicy(values["group_consumer_migration_policy"])
    return GroupConfig(**values)


def group_settings(catalogue: Catalogue, config: LiveConfig, group_id: str) -> GroupSettings:
    """What clients have set for one group."""
    overrides = catalogue.group_configs.get(group_id, {})
    values: dict[str, Any] = {
        field: group_configs.value(name, overrides, config.layers)
        for field, name in _OF_ONE_GROUP.items()
        if name in overrides
    }
    return GroupSettings(**values)
