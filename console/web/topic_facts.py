"""A topic as its page shows it: partitions with the offsets they hold, and settings."""

from __future__ import annotations

from typing import NamedTuple

from console.admin import check
from console.config_admin import CHANGED, SOURCES, describe, find_resource
from console.errors import CommandError
from console.fetcher import UNKNOWN_TOPIC
from console.partition_offsets import extents_of, leaders_of
from console.positions import Extent
from console.topic_tree import VIEW_KEYS
from console.web.errors import PageError
from console.web.topic_list import METADATA_VERSION
from console.wire import ask
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic


class PartitionRow(NamedTuple):
    """A partition; offsets are None where it has no leader."""

    partition: int
    leader: int
    replicas: list[int]
    start: int | None
    end: int | None


class SettingRow(NamedTuple):
    """A setting; the value is None where it is secret."""

    name: str
    value: str | None
    source: str
    is_set: bool


class TopicFacts(NamedTuple):
    """A topic."""

    name: str
    internal: bool
    partitions: list[PartitionRow]
    settings: list[SettingRow]
    is_view: bool
    """Whether it is computed: its offsets are its source's, and leave gaps."""
    settings_problem: str

    def has(self, name: str, *values: str) -> bool:
        """Whether a setting has one of these values."""
        return any(setting.name == name and setting.value in values for setting in self.settings)

    @property
    def has_ids(self) -> bool:
        """Whether its messages have ids."""
        return self.has("kawal.message.ids", "true")

    @property
    def splits(self) -> bool:
        """Whether its partitions split."""
        return self.has("kawal.partition.autosplit.mode", "up", "paused")


def facts_of(bootstrap: str, name: str) -> TopicFacts:
    """Return what there is to know of a topic.  Raises: PageError when there is none; CommandError."""
    asked = [MetadataRequestTopic(name=name)]
    answer = ask(bootstrap, MetadataRequest(topics=asked, allow_auto_topic_creation=False), METADATA_VERSION)
    (topic,) = answer.topics
    if topic.error_code == UNKNOWN_TOPIC or topic.error_code == 17:
        raise PageError(404, f"there is no topic {name!r}")
    check(topic.error_code, None, f"topic {name!r}")
    extents = partition_extents(bootstrap, name)
    settings, problem = _settings(bootstrap, name)
    rows = []
    for partition in sorted(topic.partitions, key=lambda each: each.partition_index):
        extent = extents.get(partition.partition_index)
        rows.append(
            PartitionRow(
                partition.partition_index,
                partition.leader_id,
                list(partition.replica_nodes),
                None if extent is None else extent.start,
                None if extent is None else extent.end,
            )
        )
    is_view = any(setting.name in VIEW_KEYS and setting.is_set for setting in settings)
    return TopicFacts(name, topic.is_internal, rows, settings, is_view, problem)


def partition_extents(bootstrap: str, name: str) -> dict[int, Extent]:
    """Return the offsets that each partition with a leader holds.  Raises: CommandError."""
    leaders = leaders_of(bootstrap, [name])
    return {place[1]: extent for place, extent in extents_of(leaders, sorted(leaders)).items()}


def _settings(bootstrap: str, name: str) -> tuple[list[SettingRow], str]:
    try:
        found = describe(find_resource(bootstrap, "topic", name), [], synonyms=False)
    except CommandError as error:
        return [], str(error)  # a user who may read a topic need not be one who sees its settings
    rows = [
        SettingRow(
            config.name, config.value, SOURCES.get(config.config_source, "?"), config.config_source in CHANGED
        )
        for config in found
    ]
    return sorted(rows, key=lambda row: (not row.is_set, row.name)), ""
