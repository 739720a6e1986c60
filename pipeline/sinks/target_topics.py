"""The topics that a copy writes to: those which would not keep what they are given are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from pipeline.errors import TargetError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

UNFIT: Final[Mapping[str, tuple[Callable[[str], bool], str]]] = {
    "message.timestamp.type": (
        lambda value: value == "LogAppendTime",
        "the broker would give each record the time of its copy in place of its own",
    ),
    "kawal.partition.autosplit.mode": (
        lambda value: value in ("up", "paused"),
        "the gateway chooses partitions by the keys of records, and a copy keeps those of the source",
    ),
    "kawal.dedup": (
        lambda value: value == "seqno",
        "the gateway drops records that it takes for repetitions, and a copy has every record of the source",
    ),
    "kawal.sql": (bool, "it is a view, whose records are computed, not written"),
}
"""By config: the values with which a topic cannot hold a copy, and why."""


def check_configs(topic: str, configs: Mapping[str, str | None]) -> None:
    """Refuse a topic with these configs as a target.  Raises: TargetError."""
    for name, (is_unfit, why) in UNFIT.items():
        value = configs.get(name)
        if value is not None and is_unfit(value):
            shown = ":" if name == "kawal.sql" else f" has {name}={value}:"
            raise TargetError(f"the target topic {topic!r}{shown} {why}; name another topic in target.topic")


def check_topics(settings: Mapping[str, str], topics: Iterable[str], *, within_seconds: float) -> None:
    """Refuse topics of a broker, all of which exist, that cannot hold a copy.  Raises: TargetError.

    Topics whose configs this user may not see are let through: writing to them shows what they do.
    """
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    if not resources:
        return
    hidden = {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED}
    admin = AdminClient(dict(settings))  # its answers end with it
    for resource, answer in admin.describe_configs(resources, request_timeout=within_seconds).items():
        try:
            entries = answer.result(within_seconds).values()
        except KafkaException as error:
            if error.args[0].code() in hidden:
                continue
            raise TargetError(
                f"the configs of the target topic {resource.name!r} cannot be read: {error.args[0].str()}"
            ) from error
        check_configs(resource.name, {entry.name: entry.value for entry in entries})


def check_new_topics(
    admin: AdminClient,
    names: Iterable[str],
    replication_factor: int,
    configs: Mapping[str, str],
    *,
    within_seconds: float,
) -> None:
    """Have the broker look at topics that are missing, without creating them.  Raises: TargetError."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import NewTopic

    new = [
        NewTopic(name, num_partitions=1, replication_factor=replication_factor, config=dict(configs))
        for name in names
    ]
    if not new:
        return
    asked = admin.create_topics(new, validate_only=True, request_timeout=within_seconds)
    for name, answer in asked.items():
        try:
            answer.result(within_seconds)
        except KafkaException as error:
            raise TargetError(
                f"the target would not create the topic {name!r}: {error.args[0].str()}; see target.configs "
                "and target.replication_factor, or create it there"
            ) from error


def check_timeout(admin: AdminClient, timeout_ms: int, *, within_seconds: float) -> None:
    """Refuse a timeout of transactions that the broker does not allow, if it tells.  Raises: TargetError."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType

    node = next(iter(admin.list_topics(timeout=within_seconds).brokers))
    [asked] = admin.describe_configs(
        [ConfigResource(ResourceType.BROKER, str(node))], request_timeout=within_seconds
    ).values()
    try:
        allowed = asked.result(within_seconds).get("transaction.max.timeout.ms")
    except KafkaException:
        return  # this user may not see it: the first batch will
    if allowed is not None and timeout_ms > int(allowed.value):
        raise TargetError(
            f"target.transaction_timeout is {timeout_ms:,} ms; the target allows {int(allowed.value):,} ms, "
            "its transaction.max.timeout.ms"
        )
