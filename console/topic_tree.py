"""The output of `kawal topics describe`: a tree for programs, tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console.tables import table

if TYPE_CHECKING:
    from kafka import KafkaAdminClient


VIEW_KEYS = {"kawal.sql", "kawal.alias.of"}
"""The configurations of topics that are computed: their offsets are their source's, and leave gaps."""


TIERED_KEY = "remote.storage.enable"

TIER_COLUMNS = ("local_start_offset", "pending_offset", "remote_only", "local", "pending")
TIER_HEADS = ("PARTITION", "LOCAL START", "PENDING START", "STORE ONLY", "LOCAL", "PENDING")
"""Offsets, then numbers of them: in the object store alone, on the disk, and not in the store yet."""

HEADS = ("PARTITION", "LEADER", "START", "END", "RECORDS")


def topic_id(topic: dict[str, Any]) -> str | None:
    """Return the topic's id, None where the broker has none."""
    return str(topic["topic_id"]) if topic.get("topic_id") else None


def topic_tree(client: KafkaAdminClient, topic: dict[str, Any], *, everything: bool) -> dict[str, Any]:
    """Return everything that describe shows of one topic."""
    from kafka.admin import OffsetSpec

    name = topic["name"]
    partitions = sorted(topic["partitions"], key=lambda partition: partition["partition_index"])
    starts, ends = _offsets(client, name, partitions, OffsetSpec.EARLIEST, OffsetSpec.LATEST)
    configs = _configs(client, name)
    tiers = {}
    if configs.get(TIERED_KEY, {}).get("value") == "true":
        local, tiered = _offsets(
            client, name, partitions, OffsetSpec.EARLIEST_LOCAL, OffsetSpec.LATEST_TIERED
        )
        tiers = {index: _tiers(starts[index], local[index], tiered[index], ends[index]) for index in starts}
    return {
        "name": name,
        "id": topic_id(topic),
        "partitions": [
            {
                "partition": partition["partition_index"],
                "leader": partition["leader_id"],
                "replicas": partition["replica_nodes"],
                "start_offset": starts[partition["partition_index"]],
                "end_offset": ends[partition["partition_index"]],
                **tiers.get(partition["partition_index"], {}),
            }
            for partition in partitions
        ],
        "configs": {
            key: entry for key, entry in configs.items() if everything or "TOPIC" in str(entry["source"])
        },
    }


def _tiers(start: int, local: int, tiered: int, end: int) -> dict[str, int]:
    """Return the offsets that divide a partition between the disk and the object store."""
    return {
        "local_start_offset": max(start, local),
        "pending_offset": max(start, tiered + 1),
        "remote_only": max(0, local - start),
        "local": end - max(start, local),
        "pending": end - max(start, tiered + 1),
    }


def _offsets(
    client: KafkaAdminClient, name: str, partitions: list[dict[str, Any]], *specs: int
) -> list[dict[int, int]]:
    """Return the offsets of the partitions that each of the specs asks for."""
    from kafka.structs import TopicPartition

    keys = [TopicPartition(name, partition["partition_index"]) for partition in partitions]
    found = [client.list_partition_offsets(dict.fromkeys(keys, spec)) for spec in specs]
    return [{key.partition: answer[key].offset for key in keys} for answer in found]


def _configs(client: KafkaAdminClient, name: str) -> dict[str, Any]:
    from kafka.admin import ConfigResource, ConfigResourceType

    resource = ConfigResource(ConfigResourceType.TOPIC, name)
    answer = client.describe_configs([resource], config_filter="all")
    entries = next(iter(next(iter(answer.values())).values()))
    return {
        key: {"value": entry["value"], "source": str(entry["config_source"])}
        for key, entry in sorted(entries.items())
    }


def topic_text(tree: dict[str, Any]) -> str:
    """Return the tree as tables."""
    is_view = bool(VIEW_KEYS & tree["configs"].keys())
    rows = [_row(partition, is_view=is_view) for partition in tree["partitions"]]
    heads = ("PARTITION", "LEADER", "START", "END") if is_view else HEADS
    plural = "" if len(rows) == 1 else "s"
    lines = [
        f"{tree['name']}  (id {tree['id'] or '-'}, {len(rows)} partition{plural})",
        table(heads, rows),
    ]
    if any("local" in partition for partition in tree["partitions"]):
        tiers = [
            (partition["partition"], *(partition[key] for key in TIER_COLUMNS))
            for partition in tree["partitions"]
        ]
        lines.append(table(TIER_HEADS, tiers))
    if tree["configs"]:
        settings = [(key, entry["value"], entry["source"]) for key, entry in tree["configs"].items()]
        lines.append(table(("CONFIGURATION", "VALUE", "SOURCE"), settings))
    return "\n".join(lines)


def _row(partition: dict[str, Any], *, is_view: bool) -> tuple[int, ...]:
    """Return a row of the table; the number of records is not known of a view."""
    start, end = partition["start_offset"], partition["end_offset"]
    row = (partition["partition"], partition["leader"], start, end)
    return row if is_view else (*row, end - start)
