"""The output of `kawal topics describe`: a tree for programs, tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console.tables import table

if TYPE_CHECKING:
    from kafka import KafkaAdminClient


def topic_id(topic: dict[str, Any]) -> str | None:
    """Return the topic's id, None where the broker has none."""
    return str(topic["topic_id"]) if topic.get("topic_id") else None


def topic_tree(client: KafkaAdminClient, topic: dict[str, Any], *, everything: bool) -> dict[str, Any]:
    """Return everything that describe shows of one topic."""
    name = topic["name"]
    partitions = sorted(topic["partitions"], key=lambda partition: partition["partition_index"])
    starts, ends = _offsets(client, name, partitions)
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
            }
            for partition in partitions
        ],
        "configs": _configs(client, name, everything=everything),
    }


def _offsets(
    client: KafkaAdminClient, name: str, partitions: list[dict[str, Any]]
) -> tuple[dict[int, int], dict[int, int]]:
    from kafka.admin import OffsetSpec
    from kafka.structs import TopicPartition

    keys = [TopicPartition(name, partition["partition_index"]) for partition in partitions]
    both = [
        client.list_partition_offsets(dict.fromkeys(keys, spec))
        for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST)
    ]
    starts, ends = ({key.partition: found[key].offset for key in keys} for found in both)
    return starts, ends


def _configs(client: KafkaAdminClient, name: str, *, everything: bool) -> dict[str, Any]:
    from kafka.admin import ConfigResource, ConfigResourceType

    resource = ConfigResource(ConfigResourceType.TOPIC, name)
    answer = client.describe_configs([resource], config_filter="all")
    entries = next(iter(next(iter(answer.values())).values()))
    return {
        key: {"value": entry["value"], "source": str(entry["config_source"])}
        for key, entry in sorted(entries.items())
        if everything or "TOPIC" in str(entry["config_source"])
    }


def topic_text(tree: dict[str, Any]) -> str:
    """Return the tree as tables."""
    rows = [
        (
            partition["partition"],
            partition["leader"],
            partition["start_offset"],
            partition["end_offset"],
            partition["end_offset"] - partition["start_offset"],
        )
        for partition in tree["partitions"]
    ]
    plural = "" if len(rows) == 1 else "s"
    lines = [
        f"{tree['name']}  (id {tree['id'] or '-'}, {len(rows)} partition{plural})",
        table(("PARTITION", "LEADER", "START", "END", "RECORDS"), rows),
    ]
    if tree["configs"]:
        settings = [(key, entry["value"], entry["source"]) for key, entry in tree["configs"].items()]
        lines.append(table(("CONFIGURATION", "VALUE", "SOURCE"), settings))
    return "\n".join(lines)
