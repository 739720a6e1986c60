"""The differences from Apache Kafka 4.3.1 that stay, each with its reason; docs/compatibility.md prints them.

An entry that explains nothing in the recorded sequences is an error: remove it with the difference.
"""

from __future__ import annotations

from typing import Any, Final

from broker.handlers import APIS
from compat_tests.batches import Batch
from compat_tests.differential.allowed import Allowed
from compat_tests.differential.compare import ABSENT, Difference
from compat_tests.differential.steps import BASE_MS
from compat_tests.differential.themes.configs import BROKER, METRICS
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.produce import ProduceRequest

UNKNOWN: Final = ErrorCode.UNKNOWN_SERVER_ERROR

STARTED_WITH: Final = frozenset(
    {
        *("advertised.listeners", "listeners", "log.dir", "log.dirs", "node.id", "broker.id"),
        *("controller.listener.names", "controller.quorum.voters", "num.partitions"),
        *("broker.heartbeat.interval.ms", "broker.session.timeout.ms", "log.cleaner.dedupe.buffer.size"),
        *("group.initial.rebalance.delay.ms", "offsets.topic.replication.factor"),
        *("transaction.state.log.min.isr", "transaction.state.log.replication.factor"),
        *("share.coordinator.state.topic.min.isr", "share.coordinator.state.topic.replication.factor"),
    }
)
"""Broker configs that compat_tests/kafka_broker.py sets, or that are about addresses and directories."""

OWN_DEFAULTS: Final = frozenset(
    {
        *("queued.max.request.bytes", "socket.listen.backlog.size"),
        *("socket.receive.buffer.bytes", "socket.send.buffer.bytes", "group.consumer.assignors"),
        *("consumer.session.timeout.ms", "group.consumer.session.timeout.ms"),
        *("consumer.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"),
        *("consumer.assignment.interval.ms", "group.consumer.assignment.interval.ms"),
        *("share.assignment.interval.ms", "group.share.assignment.interval.ms"),
        *("group.consumer.min.session.timeout.ms", "group.consumer.min.heartbeat.interval.ms"),
        *("offsets.retention.minutes", "ssl.keystore.type", "ssl.truststore.type"),
        "sasl.enabled.mechanisms",
    }
)
"""Configs whose default is knowingly not Kafka's; broker/config/server_keys.py and group_keys.py say why."""

OF_THE_AUTHORIZER: Final = ("super.users", "allow.everyone.if.no.acl.found")
"""Settings that Kafka hands to its authorizer without knowing them."""

AS_UNDERSTOOD: Final = {("5", "5"), ("TRUE", "true"), ("delete,compact", "delete,compact"), (".01f", "0.01")}
"""The values of a config in CreateTopics: as it was written, without blanks, and as it is understood."""

ALLOWED: Final = (
    Allowed(
        apis=(),
        path=r".*error_message",
        what="Kafka has no text for an error; Kawal has one",
        kawal="<text>",
        when=lambda found: found.kafka in (ABSENT, ""),
        reason="an error that says what to do is worth more than silence",
    ),
    Allowed(
        apis=(),
        path=r".*error_code",
        what="Kafka answers UNKNOWN_SERVER_ERROR to a client's fault; Kawal says what it was",
        kafka=UNKNOWN,
        when=lambda found: found.kawal != ABSENT,
        reason="the fault is the client's, and it can be named",
    ),
    # --- ApiVersions -----------------------------------------------------------------------------------
    Allowed(
        apis=(ApiKey.API_VERSIONS,),
        path=r"api_keys\[\]",
        what="APIs of Kafka are not listed",
        kawal=ABSENT,
        when=lambda found: found.kafka.get("api_key", 0) not in APIS,
        reason="what is not served is not advertised",
    ),
    Allowed(
        apis=(ApiKey.API_VERSIONS,),
        path=r"api_keys\[\]\.max_version",
        what="AddPartitionsToTxn ends at v3",
        kawal=3,
        reason="v4 and v5 are sent by brokers only, and clients that see them listed send them",
    ),
    Allowed(
        apis=(ApiKey.API_VERSIONS,),
        path=r"(supported|finalized)_features(_epoch|\[\].*)?",
        what="features of Kafka are not listed, and metadata.version has one level",
        versions="3+",
        reason="only features that exist are listed, and none of them is about a quorum of controllers",
    ),
    Allowed(
        apis=(ApiKey.TXN_OFFSET_COMMIT,),
        path=r"topics\[\](\.partitions\[\])?",
        what="a topic that the request names twice is answered once; by Kafka once or twice",
        when=lambda found: ABSENT in (found.kafka, found.kawal),
        reason="no client names a topic twice",
    ),
    # --- topics ----------------------------------------------------------------------------------------
    Allowed(
        apis=(ApiKey.METADATA,),
        path=r"topics\[\]\.error_code",
        what="a topic that the request creates: Kafka answers UNKNOWN_TOPIC_OR_PARTITION and has it a moment"
        " later; Kawal answers when it is there, with its partitions",
        kafka=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        kawal=ABSENT,
        reason="no client has to ask twice",
    ),
    Allowed(
        apis=(ApiKey.METADATA,),
        path=r"brokers\[\]|cluster_id|controller_id",
        what="a topic with neither name nor id: Kafka fails the whole request (-1), Kawal this topic (17)",
        kafka=ABSENT,
        when=lambda found: any(not topic.name for topic in found.step.request.topics),
        reason="the fault is the client's, and it can be named",
    ),
    Allowed(
        apis=(ApiKey.CREATE_TOPICS,),
        path=r"topics\[\]\.error_code",
        what="names in one request that differ only in '.' and '_': Kafka creates both topics; Kawal refuses"
        " the second, as it would in a request of its own",
        kafka=ABSENT,
        kawal=ErrorCode.INVALID_TOPIC_EXCEPTION,
        reason="the two topics would share the names of their metrics in any request",
    ),
    Allowed(
        apis=(ApiKey.CREATE_TOPICS,),
        path=r"topics\[\]\.configs\[\]\.value",
        what="the answer shows a config as it is understood ('5', 'delete,compact', '0.01'), Kafka as it was"
        " written (' 5 ', 'delete, compact', '.01f')",
        versions="5+",
        when=lambda found: (str(found.kafka).replace(" ", ""), found.kawal) in AS_UNDERSTOOD,
        reason="DescribeConfigs shows it in this way too, as Kafka's does",
    ),
    Allowed(
        apis=(ApiKey.CREATE_TOPICS, ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.ALTER_CONFIGS),
        path=r"(topics|responses)\[\]\.error_code",
        what="the ratio 'NaN' is refused",
        kawal=ErrorCode.INVALID_CONFIG,
        when=lambda found: "'NaN'" in repr(found.step.request),
        reason="a ratio that is not a number can only be a mistake",
    ),
    Allowed(
        apis=(ApiKey.CREATE_TOPICS, ApiKey.DESCRIBE_CONFIGS),
        path=r".*configs\[\](\.config_source|\.synonyms\[\].*)?",
        what="min.insync.replicas: a default of the cluster in Kafka (3), which its format tool sets; the"
        " server's default (5) in Kawal",
        when=lambda found: "configs[min.insync.replicas]" in found.where,
        reason="there is one replica, and no value has been set",
    ),
    Allowed(
        apis=(ApiKey.DESCRIBE_TOPIC_PARTITIONS,),
        path=r"topics\[\]\.error_code",
        what="a topic with an empty name: Kafka fails every topic of the request (-1), Kawal this one",
        kafka=UNKNOWN,
        when=lambda found: any(not topic.name for topic in found.step.request.topics),
        reason="a good name is not refused because of its neighbour",
    ),
    # --- records ---------------------------------------------------------------------------------------
    Allowed(
        apis=(ApiKey.PRODUCE,),
        path=r"responses\[\]\.partition_responses\[\]\.error_code",
        what="a batch that cannot be read at all: Kafka refuses the whole request with CORRUPT_MESSAGE,"
        " before it looks at topics and acks; Kawal judges each partition on its own",
        kafka=ErrorCode.CORRUPT_MESSAGE,
        when=lambda found: _holds_an_unreadable_batch(found.step.request),
        reason="a good batch is not refused because of its neighbour",
    ),
    Allowed(
        apis=(ApiKey.PRODUCE,),
        path=r"responses\[\]\.partition_responses\[\]\.error_code",
        what="wrong acks and an unacceptable batch: Kafka reports the batch (87), Kawal the acks (21)",
        kafka=ErrorCode.INVALID_RECORD,
        kawal=ErrorCode.INVALID_REQUIRED_ACKS,
        reason="both are true",
    ),
    Allowed(
        apis=(ApiKey.PRODUCE,),
        path=r"responses\[\]\.partition_responses\[\]\.(error_code|base_offset)",
        what="records that are not what the batch's header says: Kafka opens each batch and answers 87 or -1,"
        " while Kawal takes it and the reader finds out; an unknown codec is refused (76)",
        when=lambda found: "-lies'" in repr(found.step.request),
        reason="opening each batch would cost more than the rest of Produce; clients write no such records",
    ),
    Allowed(
        apis=(ApiKey.PRODUCE,),
        path=r"responses\[\]\.partition_responses\[\]\.log_start_offset",
        what="the start of the log: Kafka tells it with an INVALID_RECORD that the log found, Kawal always",
        kafka=ABSENT,
        versions="5+",
        when=lambda found: found.kafka_item.get("error_code") == ErrorCode.INVALID_RECORD,
        reason="the answer says more",
    ),
    Allowed(
        apis=(ApiKey.FETCH,),
        path=r"responses\[\]\.partitions\[\]\.records\[\]\.times\[\]",
        what="a max timestamp in a batch's header that no record has, but could have: Kafka corrects it;"
        " Kawal takes it",
        kafka=BASE_MS + 1,
        kawal=BASE_MS + 5,
        reason="correcting it always would open every batch that is produced",
    ),
    Allowed(
        apis=(ApiKey.FETCH,),
        path=r"responses\[\]\.partitions\[\]\.records\[\]",
        what="where a limit ends a partition's records: Kafka cuts the last batch; Kawal sends whole ones",
        kafka={"cut": True},
        kawal=ABSENT,
        reason="part of a batch is of no use to a client",
    ),
    Allowed(
        apis=(ApiKey.FETCH,),
        path=r"responses\[\]\.partitions\[\]\.aborted_transactions",
        what="read_committed, and a limit smaller than the partition's next batch: Kafka sends no list of"
        " aborted transactions (null), Kawal an empty one",
        kafka=ABSENT,
        kawal=[],
        when=lambda found: not found.kafka_item.get("records"),
        reason="there are no records to which it could belong",
    ),
    # --- configs ---------------------------------------------------------------------------------------
    Allowed(
        apis=(ApiKey.DESCRIBE_CONFIGS,),
        path=r"results\[\]\.configs\[\]\.(value|config_source|config_type|synonyms\[\].*)",
        what="broker configs that a server was started with: addresses, directories, node ids",
        when=lambda found: _of_broker(found) and _config(found) in STARTED_WITH,
        reason="there are two servers, and Kafka needs settings to run alone",
    ),
    Allowed(
        apis=(ApiKey.DESCRIBE_CONFIGS,),
        path=r"results\[\]\.configs\[\]\.(value|synonyms\[\](\.value)?)",
        what=f"defaults of Kawal's own: {', '.join(sorted(OWN_DEFAULTS))}",
        when=lambda found: _config(found) in OWN_DEFAULTS,
        reason="docs/configuration.md says why for each",
    ),
    Allowed(
        apis=(ApiKey.DESCRIBE_CONFIGS,),
        path=r"results\[\]\.configs\[\]\.read_only",
        what="broker configs that Kafka can change while it runs, and Kawal does not have or cannot change",
        kafka=False,
        kawal=True,
        when=lambda found: _of_broker(found),
        reason="a config that is shown as changeable can be changed",
    ),
    Allowed(
        apis=(ApiKey.DESCRIBE_CONFIGS,),
        path=r"results\[\]\.configs\[\]\.read_only",
        what="settings of groups that Kawal can change while it runs, and Kafka cannot",
        kafka=True,
        kawal=False,
        when=lambda found: _of_broker(found) and _config(found).startswith(("group.", "offset")),
        reason="groups need not end for the change",
    ),
    Allowed(
        apis=(ApiKey.DESCRIBE_CONFIGS,),
        path=r"results\[\]\.configs\[\]",
        what="configs that Kafka's brokers do not list: kawal.*, and the authorizer's",
        kafka=ABSENT,
        when=lambda found: _config(found).startswith("kawal.") or _config(found) in OF_THE_AUTHORIZER,
        reason="they are Kawal's own",
    ),
    Allowed(
        apis=(ApiKey.DESCRIBE_CONFIGS,),
        path=r"results\[\]\.configs\[\]",
        what="configs of dead letters, errors.deadletterqueue.*",
        kafka=ABSENT,
        when=lambda found: _config(found).startswith("errors.deadletterqueue."),
        reason="Kafka has them since 4.4 (KIP-1191)",
    ),
    Allowed(
        apis=(ApiKey.DESCRIBE_CONFIGS,),
        path=r"results\[\]\.configs\[\]",
        what="an internal config of Kafka's, log.initial.task.delay.ms, is not listed",
        kawal=ABSENT,
        when=lambda found: _config(found) == "log.initial.task.delay.ms",
        reason="Kafka itself shows it only when it is set",
    ),
    Allowed(
        apis=(ApiKey.DESCRIBE_CONFIGS,),
        path=r"results\[\]\.configs\[\]",
        what="subscriptions of client metrics have no configs",
        kawal=ABSENT,
        when=lambda found: found.kafka_item.get("resource_type") == METRICS,
        reason="Kawal does not collect clients' metrics",
    ),
    Allowed(
        apis=(ApiKey.INCREMENTAL_ALTER_CONFIGS,),
        path=r"responses\[\]\.error_code",
        what="several faults in one resource, of which one is a wrong value: Kawal may report another first,"
        " an operation that does not exist (42) or a name that no topic can have (17)",
        kafka=ErrorCode.INVALID_CONFIG,
        when=lambda found: found.kawal in (ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_TOPIC_EXCEPTION),
        reason="each is true",
    ),
    Allowed(
        apis=(ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS),
        path=r"responses\[\]\.error_code",
        what="unknown broker configs: Kafka keeps them for its plugins; Kawal refuses them (40)",
        kawal=ErrorCode.INVALID_CONFIG,
        when=lambda found: (
            found.kafka in (ABSENT, ErrorCode.INVALID_REQUEST)
            and found.kafka_item.get("resource_type") == BROKER
        ),
        reason="there are no plugins, and a misspelt name should not be kept silently",
    ),
    Allowed(
        apis=(ApiKey.INCREMENTAL_ALTER_CONFIGS,),
        path=r"responses\[\]\.error_code",
        what="an operation that does not exist: Kafka fails the whole request (-1), Kawal this resource",
        kafka=UNKNOWN,
        kawal=ABSENT,
        when=lambda found: any(
            line.config_operation not in range(4)
            for resource in found.step.request.resources
            for line in resource.configs
        ),
        reason="a good change is not refused because of its neighbour",
    ),
    Allowed(
        apis=(ApiKey.ALTER_CONFIGS,),
        path=r"responses\[\]\.error_code",
        what="removing every config that all nodes share: Kafka refuses, as its format tool has set one of"
        " them, min.insync.replicas",
        kafka=ErrorCode.INVALID_CONFIG,
        kawal=ABSENT,
        when=lambda found: not found.kafka_item.get("resource_name"),
        reason="Kawal sets none, and it matters to replicas only",
    ),
    Allowed(
        apis=(ApiKey.ALTER_CONFIGS,),
        path="outcome",
        what="a resource that is given twice: Kafka never answers; Kawal answers INVALID_REQUEST",
        kafka="silent",
        kawal="answered",
        reason="a client should not wait in vain",
    ),
    # --- groups ----------------------------------------------------------------------------------------
    Allowed(
        apis=(ApiKey.CONSUMER_GROUP_HEARTBEAT,),
        path="heartbeat_interval_ms",
        what="members of KIP-848 groups beat every 3 s; in Kafka every 5 s",
        kafka=5_000,
        kawal=3_000,
        reason="the default of consumer.heartbeat.interval.ms is Kawal's own",
    ),
    Allowed(
        apis=(ApiKey.CONSUMER_GROUP_DESCRIBE,),
        path=r"groups\[\]\.assignor_name",
        what="the assignor of KIP-848 groups that name none is 'tdengine'; in Kafka it is 'uniform'",
        kafka="uniform",
        kawal="tdengine",
        reason="the first of group.consumer.assignors is the default, and Kawal's list is its own",
    ),
    # --- the cluster -----------------------------------------------------------------------------------
    Allowed(
        apis=(ApiKey.DESCRIBE_QUORUM,),
        path=r"nodes\[\]\.listeners\[\]\.name",
        what="the name of the listener of the metadata log",
        reason="it has no listener of its own",
    ),
)


def _holds_an_unreadable_batch(request: ProduceRequest) -> bool:
    """Return whether there is a batch whose end or format Kafka cannot find out."""
    held: list[Any] = [data.records for topic in request.topic_data for data in topic.partition_data]
    return any(isinstance(item, bytes) or (isinstance(item, Batch) and item.magic > 2) for item in held)


def _config(found: Difference) -> str:
    """Return the name of the config that differs."""
    return found.where.partition(".configs[")[2].partition("]")[0]


def _of_broker(found: Difference) -> bool:
    resources = found.step.request.resources
    index = int(found.where.partition("[")[2].partition("]")[0])
    kind: int = resources[index].resource_type
    return kind == BROKER
