"""The topics whose records may be in the object store alone, and the sentences that refuse others.

Once such a topic has given up local files it needs the store for good, so it cannot be turned off again:
`remote.log.copy.disable=true` lets nothing more leave the disk.
Source: LogConfig.validateTopicLogConfigValues.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from broker.config.config import Config
from broker.config.config_keys import ConfigError
from broker.config.topic_settings import TopicSettings

if TYPE_CHECKING:
    from broker.catalogue.topic import Topic

ENABLE: Final = "remote.storage.enable"
DELETE_ON_DISABLE: Final = "remote.log.delete.on.disable"
DEFAULT_POLICY: Final = "log.cleanup.policy"
NOT_COMPACTED: Final = (
    "Remote log storage only supports topics with cleanup.policy=delete"
    " or cleanup.policy being an empty list."
)
AS_TOTAL: Final = -2
"""The local limit that means: as long as the total one."""


def local_limit(local: int, total: int) -> int:
    """Return the limit in effect for local records; negative: none."""
    return total if local == AS_TOTAL else local


def check_tiering(settings: TopicSettings, config: Config) -> None:
    """Check that the other settings go with records that are in the store alone.  Raises: ConfigError."""
    if not settings.remote_storage_enable:
        return
    if config.kawal_remote_store is None:
        raise ConfigError(
            ENABLE,
            "true",
            "needs a server with kawal.remote.store",
            kafka="Tiered Storage functionality is disabled in the broker."
            " Topic cannot be configured with remote log storage.",
        )
    if "compact" in settings.cleanup_policy:
        raise ConfigError(
            ENABLE,
            "true",
            "does not go with cleanup.policy=compact: a pass would read all of the store again",
            kafka=NOT_COMPACTED,
        )
    _check_limit("bytes", settings.local_retention_bytes, settings.retention_bytes)
    _check_limit("ms", settings.local_retention_ms, settings.retention_ms)
    if settings.remote_log_copy_disable:
        _check_same("bytes", settings.local_retention_bytes, settings.retention_bytes)
        _check_same("ms", settings.local_retention_ms, settings.retention_ms)


def check_default_policy(settings: Mapping[str, str], topics: Iterable[Topic]) -> None:
    """Check that a server's new default does not have tiered topics compacted.  Raises: ConfigError."""
    if "compact" not in settings.get(DEFAULT_POLICY, "").split(","):
        return
    for topic in topics:
        if topic.configs.get(ENABLE) == "true" and "cleanup.policy" not in topic.configs:
            raise ConfigError(
                DEFAULT_POLICY,
                settings[DEFAULT_POLICY],
                f"would apply to {topic.name!r}, which has {ENABLE}=true and no cleanup.policy of its own",
                kafka=NOT_COMPACTED,
            )


def _check_limit(unit: str, local: int, total: int) -> None:
    if total < 0 or local == AS_TOTAL:
        return
    name, problem = f"local.retention.{unit}", None
    if local == -1:
        problem = f"Value must not be -1 as retention.{unit} value is set as {total}."
    elif local > total:
        problem = f"Value must not be more than retention.{unit} property value: {total}"
    if problem is not None:
        raise ConfigError(
            name,
            local,
            f"is above retention.{unit} ({total})",
            kafka=f"Invalid value {local} for configuration {name}: {problem}",
        )


def _check_same(unit: str, local: int, total: int) -> None:
    if local not in (AS_TOTAL, total):
        raise ConfigError(
            f"local.retention.{unit}",
            local,
            f"must be -2 or retention.{unit} ({total}) with remote.log.copy.disable=true",
            kafka=f"When `remote.log.copy.disable` is set to true, the `local.retention.{unit}` and "
            f"`retention.{unit}` must be set to the identical value because there will be no more logs "
            "copied to the remote storage.",
        )


def check_tier_kept(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Refuse to turn it off.  Raises: ConfigError."""
    if before.get(ENABLE) != "true" or after.get(ENABLE) == "true":
        return
    kafka = ""
    if after.get(DELETE_ON_DISABLE) != "true":
        kafka = (
            "It is invalid to disable remote storage without deleting remote data. If you want to keep the"
            " remote data and turn to read only, please set"
            " `remote.storage.enable=true,remote.log.copy.disable=true`. If you want to disable remote"
            " storage and delete all remote data, please set"
            " `remote.storage.enable=false,remote.log.delete.on.disable=true`."
        )
    raise ConfigError(
        ENABLE,
        "false",
        "cannot be turned off: records may be in the object store alone; with remote.log.copy.disable=true no"
        " more leave the disk, and DeleteRecords deletes those that have left it",
        kafka=kafka,
    )
