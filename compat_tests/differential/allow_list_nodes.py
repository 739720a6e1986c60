"""The differences that clusters of several nodes have besides, each with its reason.

docs/compatibility.md prints them.
"""

from __future__ import annotations

from typing import Final

from compat_tests.differential.allowed import Allowed
from compat_tests.differential.compare import ABSENT
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

ALLOWED_OF_NODES: Final = (
    Allowed(
        apis=(ApiKey.METADATA, ApiKey.DESCRIBE_CLUSTER),
        path="controller_id",
        what="the controller: Kafka names any broker, Kawal the node that it is",
        reason="each node passes on what is for the controller, as each of Kafka's brokers does",
    ),
    Allowed(
        apis=(ApiKey.CREATE_TOPICS, ApiKey.CREATE_PARTITIONS),
        path=r"(topics|results)\[\]\.error_code",
        what="partitions that the client places: Kafka puts them anywhere; Kawal refuses (39) more than one"
        " replica, and all orders but that of its nodes in turn",
        kafka=ABSENT,
        kawal=ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        reason="the place of a partition follows from its log",
    ),
    Allowed(
        apis=(ApiKey.OFFSET_FETCH,),
        path="topics",
        what="a group that another node coordinates: Kafka answers NOT_COORDINATOR once, Kawal for each"
        " partition, too",
        kafka=ABSENT,
        versions="2-7",
        when=lambda found: found.kafka_item.get("error_code") == ErrorCode.NOT_COORDINATOR,
        reason="aiokafka asks in v3 and looks at partitions only",
    ),
    Allowed(
        apis=(ApiKey.WRITE_TXN_MARKERS,),
        path=r"markers\[\]\.topics\[\]\.partitions\[\]\.error_code",
        what="a partition that another node leads: Kafka answers UNKNOWN_TOPIC_OR_PARTITION (3), Kawal"
        " NOT_LEADER_OR_FOLLOWER (6)",
        kafka=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        kawal=ErrorCode.NOT_LEADER_OR_FOLLOWER,
        reason="only nodes send it, and those of Kawal know the partition as deleted by the other code",
    ),
    Allowed(
        apis=(ApiKey.DESCRIBE_QUORUM,),
        path=r"topics\[\]\.partitions\[\]\.observers\[\]",
        what="the nodes that follow the controller are not listed as observers",
        kawal=ABSENT,
        reason="they keep no copy of its log: all workers have one directory",
    ),
    Allowed(
        apis=(ApiKey.DESCRIBE_CONFIGS,),
        path=r"results\[\]\.configs\[\]\.(value|synonyms\[\](\.value)?)",
        what="the limit of fetch sessions is divided by the number of workers",
        when=lambda found: "configs[max.incremental.fetch.session.cache.slots]" in found.where,
        reason="the workers share the memory of one machine; docs/workers.md",
    ),
)
