"""The topics whose partitions may split, and the sentences that refuse others.

Order is kept because the server alone knows which partition has a key at which offset. So nothing else may
decide it: not the clients' number of partitions (growth by hand, Kafka Streams), and not the code that finds
keys by Kafka's hash (compaction, declared columns, dead letters).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from broker.config.config_keys import ConfigError
from broker.config.kawal_topic_keys import COLUMNS_KEY, DEAD_LETTERS_KEY, WRITE_SPEED_KEY
from broker.config.message_keys import is_nonpartitioned
from broker.config.split_keys import BARRIER_KEY, DISABLED, MODE_KEY, STREAMS_KEY
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.topic import Topic
    from broker.config.topic_settings import TopicSettings
    from broker.storage.partition import Partition

STREAMS_SUFFIXES: Final = ("-changelog", "-repartition")
"""The ends of the names that Kafka Streams gives to its own topics (InternalTopicConfig)."""


def splits(configs: Mapping[str, str]) -> bool:
    """Whether these settings make a topic one whose partitions split, now or when it goes on."""
    return configs.get(MODE_KEY.name, DISABLED) != DISABLED


def check_splitting(kept: Mapping[str, str], settings: TopicSettings) -> None:
    """Check that the other settings go with partitions that split.  Raises: ConfigError."""
    if not splits(kept):
        return
    problem = None
    if settings.kawal_partition_write_bytes_per_sec <= 0:
        problem = f"needs {WRITE_SPEED_KEY.name}, of which a part is the speed at which partitions split"
    elif settings.compacts:
        problem = (
            "does not go with cleanup.policy=compact: the last record of a key would be in two partitions"
        )
    elif kept.get(COLUMNS_KEY.name):
        problem = f"does not go with {COLUMNS_KEY.name}: views find the tags of a key by Kafka's partitions"
    elif settings.errors_deadletterqueue_group_enable:
        problem = f"does not go with {DEAD_LETTERS_KEY.name}: dead letters keep the partition of the original"
    elif is_nonpartitioned(kept):
        problem = "does not go with kawal.nonpartitioned=true: ids of such a topic name no partition"
    elif kept.get(STREAMS_KEY.name) == "true":
        problem = (
            f"does not go with {STREAMS_KEY.name}=true: Kafka Streams counts on the number of partitions"
        )
    if problem is not None:
        raise ConfigError(MODE_KEY.name, kept[MODE_KEY.name], problem)


def check_name_may_split(name: str, configs: Mapping[str, str]) -> None:
    """Check that a topic of this name may have partitions that split.  Raises: RequestError."""
    from broker.catalogue.topic import INTERNAL_TOPICS

    if not splits(configs):
        return
    if name in INTERNAL_TOPICS:
        raise _refused(name, "it is an internal topic, whose number of partitions decides where its keys are")
    if name.endswith(STREAMS_SUFFIXES):
        raise _refused(name, "by its name it is Kafka Streams' own, which counts on its number of partitions")


def check_may_split(topic: Topic, after: Mapping[str, str]) -> None:
    """Check that a topic may go from its present settings to others.  Raises: RequestError."""
    if splits(topic.configs) and not splits(after):
        raise RequestError(
            ErrorCode.INVALID_CONFIG,
            f"topic {topic.name!r}: {MODE_KEY.name} cannot be disabled again, as only the server knows where"
            " its keys are; pause it (paused)",
        )
    if splits(topic.configs) or not splits(after):
        return
    check_name_may_split(topic.name, after)
    count = len(vnodes_of(topic))
    if count > 1 and after.get(BARRIER_KEY.name) == "false":
        raise _refused(
            topic.name,
            f"its partitions lie on {count} vnodes, and go on as new ones on one of them, which needs"
            f" {BARRIER_KEY.name}; leave that true, or create the topic anew with both settings",
        )


def vnodes_of(topic: Topic) -> set[int]:
    """Return the vnodes on which the topic's partitions lie."""
    if topic.home is not None:
        return {topic.vnode_index(index) for index in range(topic.home_from)} | {topic.home}
    return {topic.vnode_index(index) for index in range(topic.planned_count)}


def check_may_grow(topic: Topic) -> None:
    """Refuse to add partitions by hand where they split.  Raises: RequestError(INVALID_PARTITIONS)."""
    if splits(topic.configs):
        raise RequestError(
            ErrorCode.INVALID_PARTITIONS,
            f"topic {topic.name!r} grows by splits ({MODE_KEY.name}); split one of its partitions instead"
            f" (kawal topics split {topic.name} --partition N)",
        )


def check_ends(partitions: Iterable[Partition]) -> None:
    """Check that the ends of partitions are known: they are to be cuts.

    A log that has failed has taken back what was not durable; when it is read again, that may be back.
    Raises: RequestError(KAFKA_STORAGE_ERROR).
    """
    for partition in partitions:
        if partition.vnode.log.state != "OPEN":
            raise RequestError(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"partition {partition.index} of topic {partition.topic.name!r} cannot be split now: log"
                f" {partition.vnode.name} is {partition.vnode.log.state.lower()}; try again",
            )


def _refused(name: str, why: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_CONFIG, f"topic {name!r} cannot have {MODE_KEY.name}: {why}")
