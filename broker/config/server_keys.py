"""The table of the server's own configuration keys; `Config` (config.py) has a typed field for each.

Keys that Kafka has carry Kafka's name and meaning; ours begin with `kawal.`.  A key's default, range, unit
and documentation are written only here: the loader's checks, `kawal config show` and docs/configuration.md
are derived from the rows.
"""

from __future__ import annotations

from broker.config.acl_keys import ACL_KEYS
from broker.config.audit_keys import AUDIT_KEYS
from broker.config.config_keys import ConfigType, Key, Value
from broker.config.console_keys import CONSOLE_KEYS
from broker.config.coordinator_keys import OFFSET_KEYS, TRANSACTION_KEYS
from broker.config.endpoints import HTTP_OFF, http_problem
from broker.config.listener_specs import addresses_problem
from broker.config.node_keys import NODE_KEYS
from broker.config.quota_keys import QUOTA_KEYS
from broker.config.remote_keys import REMOTE_KEYS
from broker.config.request_log_rules import rules_problem
from broker.config.security_keys import SECURITY_KEYS
from broker.config.share_keys import SHARE_KEYS
from broker.config.token_keys import TOKEN_KEYS
from broker.config.view_keys import VIEW_KEYS
from broker.config.worker_keys import WORKER_KEYS

BOOLEAN, STRING, INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
DOUBLE, LONG, LIST = ConfigType.DOUBLE, ConfigType.LONG, ConfigType.LIST
INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1
KIB, MIB, HOUR_MS = 1 << 10, 1 << 20, 3_600_000


def _registry_problem(value: Value) -> str | None:
    """Return what is wrong with the address of a schema registry."""
    from registry.client import address_problem  # loaded where there is one

    if value and "@" in str(value):
        return "holds a name or a password; kawal.schema.registry.user.info is for them"
    return address_problem(str(value)) if value else None


# fmt: off
SECTIONS: dict[str, tuple[Key, ...]] = {
"Addresses": (
    Key("listeners", LIST, ("127.0.0.1:9092",),
        "Listeners of the server, NAME://HOST:PORT each; HOST:PORT alone is a listener without security, "
        "port 0 takes a free one.  An address that other machines reach needs clients that log in, or "
        "`kawal.insecure`.", check=addresses_problem),
    Key("advertised.listeners", LIST, (),
        "Addresses clients are told to connect to, NAME://HOST:PORT by the names of `listeners`, or in their "
        "order where they have none; a listener without one tells the address the client connected to.",
        check=addresses_problem),
    Key("node.id", INT, 1, "Id of this node in Metadata and DescribeCluster.", minimum=0),
    Key("broker.rack", STRING, None, "Rack of this node in Metadata."),
    Key("kawal.insecure", BOOLEAN, False,
        "Allow listeners that other machines can reach although no client is authenticated."),
),
"Security": SECURITY_KEYS + TOKEN_KEYS + ACL_KEYS,
"Audit": AUDIT_KEYS,
"Topics": (
    Key("num.partitions", INT, 4,
        "Partitions of a topic created without a count (Kafka's own default is 1).",
        minimum=1, unit="partitions"),
    Key("default.replication.factor", INT, 1, "Replication factor of a topic created without one.",
        minimum=1, maximum=32_767),
    Key("kawal.accept.replication.factor", BOOLEAN, False,
        "Accept a replication factor above the number of nodes; Metadata still shows the one replica there "
        "is.", dynamic=True),
    Key("auto.create.topics.enable", BOOLEAN, True,
        "Create a topic when a client asks for the metadata of one that does not exist."),
    Key("delete.topic.enable", BOOLEAN, True, "Allow DeleteTopics."),
    Key("kawal.drop.policy", STRING, "always",
        "Whether a topic that members of a group subscribe to can be deleted: `always`, as in Kafka, or "
        "`refuse` with POLICY_VIOLATION naming the groups, as in TDengine.",
        choices=("always", "refuse"), dynamic=True),
    Key("kawal.out.of.range", STRING, "error",
        "What a fetch below the log start gets: an `error`, as in Kafka, which makes the client reset its "
        "position by its policy, or the `first` records there are, as in TDengine.",
        choices=("error", "first"), dynamic=True),
    Key("kawal.max.views", INT, 0,
        "Most views of this node; creating more is answered with POLICY_VIOLATION; 0: no limit.  TDengine's "
        "tmqMaxTopicNum, which is 20.", minimum=0, unit="views", dynamic=True),
    Key("kawal.max.partitions", INT, 200_000,
        "Most partitions of this node; creating more is answered with POLICY_VIOLATION.",
        minimum=1, unit="partitions", dynamic=True),
    Key("kawal.catalogue.max.bytes", LONG, 268_435_456,
        "Memory for topics, settings, users, access rules and quotas: 1.5 KB each, and three times their "
        "texts; without room, what needs more is answered with POLICY_VIOLATION.",
        minimum=1 << 20, unit="bytes", dynamic=True),
    Key("kawal.max.partitions.per.request", INT, 10_000,
        "Most partitions that one CreateTopics or CreatePartitions may ask for, over all its topics; with "
        "more, all of it is answered with POLICY_VIOLATION (Kafka has this limit, but no key for it).",
        minimum=1, unit="partitions", dynamic=True),
    Key("kawal.deletion.protected", BOOLEAN, False,
        "Refuse, with POLICY_VIOLATION, to delete topics, their records, and databases that do not say "
        "otherwise.", dynamic=True),
    Key("min.insync.replicas", INT, 1,
        "Replicas that must have a record before acks=all is answered; one node has one replica.",
        minimum=1, dynamic=True),
    Key("message.max.bytes", INT, 1_048_588, "Largest record batch accepted, header included.",
        minimum=0, unit="bytes", dynamic=True),
    Key("compression.type", STRING, "producer",
        "Codec of stored batches; batches are stored as the producer sent them.",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"), dynamic=True),
    Key("log.message.timestamp.type", STRING, "CreateTime",
        "Whether a record keeps the producer's time or gets the time it was appended.",
        choices=("CreateTime", "LogAppendTime"), dynamic=True),
    Key("log.message.timestamp.before.max.ms", LONG, LONG_MAX,
        "How far a CreateTime timestamp may lie before the server's clock.",
        minimum=0, unit="ms", dynamic=True),
    Key("log.message.timestamp.after.max.ms", LONG, HOUR_MS,
        "How far a CreateTime timestamp may lie after the server's clock.",
        minimum=0, unit="ms", dynamic=True),
),
"Schema registry": (
    Key("kawal.schema.registry.url", STRING, None,
        "Address of a Confluent-compatible schema registry, such as http://127.0.0.1:8081, for topics with "
        "kawal.schema.validation=registry.", check=_registry_problem),
    Key("kawal.schema.registry.user.info", ConfigType.PASSWORD, None,
        "NAME:PASSWORD for the schema registry."),
    Key("kawal.schema.registry.timeout.ms", INT, 2_000,
        "How long a produce waits for schemas that no value had before it.",
        minimum=1, maximum=30_000, unit="ms", dynamic=True),
    Key("kawal.schema.registry.unavailable", STRING, "refuse",
        "What happens to values whose schema is not known while the registry does not answer: `refuse` with "
        "REQUEST_TIMED_OUT, which producers retry, or `accept`.",
        choices=("refuse", "accept"), dynamic=True),
),
"Retention": (
    Key("log.cleanup.policy", LIST, ("delete",),
        "What happens to old records: deleted, compacted by key, or both.",
        choices=("compact", "delete"), dynamic=True),
    Key("log.retention.ms", LONG, None,
        "Age at which records are deleted; -1 keeps them for ever; unset: log.retention.minutes.",
        minimum=-1, unit="ms", dynamic=True, synonyms=("log.retention.minutes", "log.retention.hours")),
    Key("log.retention.minutes", INT, None, "The same in minutes, used when log.retention.ms is unset.",
        minimum=-1, unit="minutes", synonyms=("log.retention.hours",)),
    Key("log.retention.hours", INT, 168, "The same in hours, used when both others are unset.",
        minimum=-1, unit="hours"),
    Key("log.retention.bytes", LONG, -1,
        "Size at which the oldest records of a partition are deleted; -1: no limit.",
        unit="bytes", dynamic=True),
    Key("log.retention.check.interval.ms", LONG, 300_000, "How often retention runs.",
        minimum=1, unit="ms"),
    Key("log.segment.bytes", INT, 1024 * MIB,
        "Size of a partition's logical segment, the unit in which retention deletes.",
        minimum=MIB, unit="bytes", dynamic=True),
    Key("log.roll.ms", LONG, None, "Age at which a logical segment ends; unset: log.roll.hours.",
        minimum=1, unit="ms", dynamic=True, synonyms=("log.roll.hours",)),
    Key("log.roll.hours", INT, 168, "The same in hours, used when log.roll.ms is unset.",
        minimum=1, unit="hours"),
    Key("log.segment.delete.delay.ms", LONG, 60_000,
        "How long the file of a retired segment stays for readers that still have it open.",
        minimum=0, unit="ms", dynamic=True),
    Key("log.cleaner.enable", BOOLEAN, True, "Whether topics with cleanup.policy=compact are compacted."),
    Key("log.cleaner.backoff.ms", LONG, 15_000, "How often partitions to be compacted are looked for.",
        minimum=0, unit="ms", dynamic=True),
    Key("log.cleaner.min.cleanable.ratio", DOUBLE, 0.5,
        "Fraction of a partition that must be new before it is compacted again.",
        minimum=0, maximum=1, dynamic=True),
    Key("log.cleaner.min.compaction.lag.ms", LONG, 0, "Age before which a record is not compacted.",
        minimum=0, unit="ms", dynamic=True),
    Key("log.cleaner.max.compaction.lag.ms", LONG, LONG_MAX,
        "Age at which a record must become eligible for compaction.",
        minimum=1, unit="ms", dynamic=True),
    Key("log.cleaner.delete.retention.ms", LONG, 24 * HOUR_MS,
        "How long compaction keeps the tombstone of a deleted key.",
        minimum=0, unit="ms", dynamic=True),
    Key("log.cleaner.dedupe.buffer.size", LONG, 128 * MIB,
        "Memory for the keys of the partition being compacted; a pass ends when it is full.",
        minimum=0, unit="bytes", dynamic=True),
    Key("log.cleaner.io.buffer.load.factor", DOUBLE, 0.9, "How full that memory may get.",
        minimum=0, dynamic=True),
    Key("log.cleaner.io.max.bytes.per.second", DOUBLE, 1.7976931348623157e308,
        "Most bytes that compaction reads in a second.",
        minimum=1, dynamic=True),
),
"Storage": (
    Key("log.dirs", STRING, "./data", "The data directory; Kawal has exactly one."),
    Key("kawal.durability", STRING, "disk",
        "What acks=all waits for: `disk` until records are synced, `os` until they are in the page cache "
        "(a power failure may lose the last kawal.flush.ms), `remote` until kawal.remote.store has them.",
        choices=("disk", "os", "remote")),
    Key("kawal.storage.state.topic", BOOLEAN, False,
        "Tell the state of each write-ahead log in the internal topic `__kawal_storage_state`."),
    Key("kawal.ledgers.topic", BOOLEAN, False,
        "Tell the ledgers of topics with kawal.message.ids in the internal topic `__kawal_ledgers`."),
    Key("kawal.flush.ms", INT, 50, "How often durability `os` syncs.",
        minimum=1, maximum=HOUR_MS, unit="ms", kafka="log.flush.interval.ms"),
    Key("kawal.vnodes", INT, 2,
        "Write-ahead logs of the default database; fixed when the data directory is created.",
        minimum=1, maximum=256, unit="vnodes"),
    Key("kawal.segment.bytes", INT, 64 * MIB,
        "Size of a write-ahead log's segment file, allocated in advance.",
        minimum=MIB, maximum=1024 * MIB, unit="bytes"),
    Key("kawal.tail.cache.bytes", LONG, 64 * MIB,
        "Memory, over all write-ahead logs, for recent records, from which readers at the end are served.",
        minimum=0, unit="bytes"),
    *VIEW_KEYS,
    Key("kawal.min.free.bytes", LONG, 32 * MIB,
        "Free space below which Produce is answered with KAFKA_STORAGE_ERROR; reading, committing and "
        "deleting go on.", minimum=0, unit="bytes", dynamic=True),
    Key("producer.id.expiration.ms", INT, 24 * HOUR_MS,
        "How long an idle idempotent producer is remembered.",
        minimum=1, unit="ms", dynamic=True),
    Key("kawal.max.producers.per.partition", INT, 10_000,
        "Idempotent producers remembered for a partition, 400 bytes each; with one more, the one idle "
        "longest is forgotten.", minimum=1, unit="producers", dynamic=True),
    Key("kawal.producers.max.bytes", LONG, 48 * MIB,
        "Memory for the idempotent producers of all partitions, 250 bytes each and 350 more for the first in "
        "a partition; beyond it, those that wrote nothing lately are forgotten.",
        minimum=KIB, unit="bytes", dynamic=True),
    Key("kawal.named.producers.max.bytes", LONG, 96 * MIB,
        "Memory for the producers of kawal.dedup=seqno in all topics: 250 bytes each and its name, 5 KB a "
        "topic; each log has its share. Without room, records of new ones are refused with POLICY_VIOLATION.",
        minimum=KIB, unit="bytes", dynamic=True),
),
"Object store": REMOTE_KEYS,
"Transactions": TRANSACTION_KEYS,
"Groups": (
    *OFFSET_KEYS,
    Key("group.min.session.timeout.ms", INT, 6_000,
        "Shortest session timeout a classic member may ask for.", minimum=1, unit="ms", dynamic=True),
    Key("group.max.session.timeout.ms", INT, 1_800_000,
        "Longest session timeout a classic member may ask for.", minimum=1, unit="ms", dynamic=True),
    Key("group.initial.rebalance.delay.ms", INT, 3_000,
        "How long an empty classic group waits for more members.", minimum=0, unit="ms", dynamic=True),
    Key("group.max.size", INT, INT_MAX, "Most members of a classic group.",
        minimum=1, unit="members", dynamic=True),
    Key("group.consumer.session.timeout.ms", INT, 12_000,
        "Time without a heartbeat after which a member of a consumer group is removed (Kafka: 45000).",
        minimum=1, unit="ms", dynamic=True),
    Key("group.consumer.min.session.timeout.ms", INT, 6_000,
        "Shortest session timeout of a consumer group (Kafka: 45000).", minimum=1, unit="ms", dynamic=True),
    Key("group.consumer.max.session.timeout.ms", INT, 60_000,
        "Longest session timeout of a consumer group.", minimum=1, unit="ms", dynamic=True),
    Key("group.consumer.heartbeat.interval.ms", INT, 3_000,
        "Heartbeat interval that members of consumer groups are told (Kafka: 5000).",
        minimum=1, unit="ms", dynamic=True),
    Key("group.consumer.min.heartbeat.interval.ms", INT, 1_000,
        "Shortest heartbeat interval of a consumer group (Kafka: 5000).",
        minimum=1, unit="ms", dynamic=True),
    Key("group.consumer.max.heartbeat.interval.ms", INT, 15_000,
        "Longest heartbeat interval of a consumer group.", minimum=1, unit="ms", dynamic=True),
    Key("group.consumer.assignment.interval.ms", INT, 2_000,
        "Kafka's name for `kawal.rebalance.interval.ms`, which wins when both are set (Kafka: 1000).",
        minimum=0, unit="ms", dynamic=True, synonyms=("kawal.rebalance.interval.ms",)),
    Key("group.consumer.min.assignment.interval.ms", INT, 0,
        "Shortest time between two assignments of a consumer group.", minimum=0, unit="ms", dynamic=True),
    Key("group.consumer.max.assignment.interval.ms", INT, 15_000,
        "Longest time between two assignments of a consumer group.", minimum=0, unit="ms", dynamic=True),
    Key("group.consumer.max.size", INT, INT_MAX,
        "Most members of a consumer group.", minimum=1, unit="members", dynamic=True),
    Key("group.consumer.assignors", LIST, ("tdengine", "uniform", "range"),
        "Assignors that members of consumer groups may ask for, the default first.",
        choices=("tdengine", "uniform", "range")),
    Key("group.consumer.migration.policy", STRING, "bidirectional",
        "Which groups may change between the two protocols while members run.",
        choices=("bidirectional", "upgrade", "downgrade", "disabled"), dynamic=True),
    Key("kawal.rebalance.interval.ms", INT, 2_000,
        "Shortest time between two assignments of a consumer group, to gather changes; 0: at once.",
        minimum=0, unit="ms", kafka="group.consumer.assignment.interval.ms", dynamic=True,
        synonyms=("group.consumer.assignment.interval.ms",)),
    Key("kawal.group.max.bytes", LONG, 32 * MIB,
        "Memory for the members of one group: their names, subscriptions and assignments.  A member for "
        "which there is no room is refused with GROUP_MAX_SIZE_REACHED.",
        minimum=KIB, unit="bytes", dynamic=True),
    Key("kawal.groups.max.bytes", LONG, 96 * MIB,
        "The same for all groups together; a member for which there is no room is refused with "
        "COORDINATOR_NOT_AVAILABLE, and its client tries again.",
        minimum=KIB, unit="bytes", dynamic=True),
    Key("kawal.topic.max.groups", INT, 0,
        "Most groups that have offsets in one topic; another one cannot subscribe to it "
        "(GROUP_MAX_SIZE_REACHED) or commit there (POLICY_VIOLATION).  0: no limit (TDengine: 100).",
        minimum=0, unit="groups", dynamic=True),
    Key("kawal.max.poll.interval.ms", INT, 0,
        "Time without a poll after which the server removes a member of a group without a limit of its own; "
        "0: never.", minimum=0, unit="ms", dynamic=True),
    Key("kawal.group.assignor", STRING, "client",
        "The side that assigns the partitions of classic eager groups: their leader, or the server.",
        choices=("client", "server"), dynamic=True),
),
"Share groups": SHARE_KEYS,
"Limits": (
    Key("socket.request.max.bytes", INT, 100 * MIB,
        "Largest request; a larger one closes the connection before it is read.",
        minimum=1, unit="bytes"),
    Key("kawal.request.max.bytes", INT, 16 * MIB,
        "Largest request other than Produce; such requests are decoded as a whole and then take several "
        "times their size.  A larger one closes the connection.",
        minimum=1, unit="bytes"),
    Key("fetch.max.bytes", INT, 55 * MIB,
        "Largest Fetch answer (a first batch above it is still sent whole).",
        minimum=KIB, unit="bytes"),
    Key("max.request.partition.size.limit", INT, 2000,
        "Most partitions in one DescribeTopicPartitions answer.",
        minimum=1, unit="partitions"),
    Key("max.incremental.fetch.session.cache.slots", INT, 1000, "Fetch sessions kept; 0 turns them off.",
        minimum=0, unit="sessions"),
    Key("kawal.fetch.session.cache.bytes", LONG, 64 * MIB,
        "Memory for fetch sessions, about 420 bytes for each partition in one.  Without room a client gets "
        "no session and names all its partitions in every Fetch.",
        minimum=0, unit="bytes"),
    Key("max.connections", INT, INT_MAX,
        "Connections open at once; the limit on open files bounds them too.",
        minimum=0, unit="connections", dynamic=True),
    Key("max.connections.per.ip", INT, INT_MAX, "Connections open at once from one address.",
        minimum=0, unit="connections", dynamic=True),
    Key("connections.max.idle.ms", LONG, 600_000,
        "A connection without a request for this long is closed; -1: never.",
        minimum=-1, unit="ms"),
    Key("socket.listen.backlog.size", INT, KIB,
        "Connections the kernel queues before they are accepted (Kafka's own default is 50).",
        minimum=1, unit="connections"),
    Key("socket.send.buffer.bytes", INT, 256 * KIB,
        "Kernel memory for bytes that a connection has not taken yet, doubled by Linux for its own needs "
        "(Kafka's own default is 102400); -1: the system chooses, up to several MB.",
        minimum=-1, unit="bytes"),
    Key("socket.receive.buffer.bytes", INT, -1,
        "Kernel memory for bytes that have arrived and are not read yet (Kafka's own default is 102400); -1: "
        "the system chooses.",
        minimum=-1, unit="bytes"),
    Key("kawal.memory.share.per.ip", DOUBLE, 0.5,
        "Largest part of the memory for requests, answers, fetch sessions and members of groups that clients "
        "from one address may take; 1: all of it.",
        minimum=0.01, maximum=1),
    Key("queued.max.request.bytes", LONG, 128 * MIB,
        "Memory of unanswered requests over all connections, decoded; above it, no connection is read until "
        "some are answered; -1: no limit (Kafka's default).", minimum=-1, unit="bytes"),
    Key("kawal.connection.in.flight.bytes", INT, 16 * MIB,
        "Memory of unanswered requests of one connection; above it, that connection is not read until some "
        "are answered (one request of any allowed size always gets in).",
        minimum=1, unit="bytes"),
    Key("kawal.connection.in.flight.requests", INT, 128,
        "Unanswered requests of one connection, with the same effect.",
        minimum=1, unit="requests"),
    Key("kawal.connection.unsent.bytes", INT, 16 * MIB,
        "Bytes of answers that one connection has not taken yet; above it, that connection is not read until "
        "it takes some (one answer of any allowed size always gets in).",
        minimum=1, unit="bytes"),
    Key("kawal.queued.max.response.bytes", LONG, 128 * MIB,
        "Memory for answers not yet taken, over all connections; bytes sent straight from a file take none.  "
        "Above it, connections with untaken answers are not read, and are closed when they take nothing for "
        "a second, or less than 16 KiB a second for ten; -1: no limit.", minimum=-1, unit="bytes"),
    Key("kawal.request.read.timeout.ms", INT, 60_000,
        "A connection that leaves a request half sent for this long is closed; a request that arrives at "
        "16 KiB a second or more may take longer.",
        minimum=1, unit="ms"),
    Key("kawal.response.write.timeout.ms", INT, 60_000,
        "A connection that takes no byte of an answer for this long is closed.", minimum=1, unit="ms"),
    Key("kawal.shutdown.timeout.ms", INT, 4000,
        "How long unfinished requests may still take after SIGTERM before connections are closed.",
        minimum=0, maximum=HOUR_MS, unit="ms"),
),
"Quotas": QUOTA_KEYS,
"Operation": (
    *WORKER_KEYS,
    *NODE_KEYS,
    Key("kawal.http.listen", STRING, "127.0.0.1:9644",
        "Where metrics (/metrics, for Prometheus) and health (/healthz, /readyz) are served over HTTP, "
        f"HOST:PORT; port 0 takes a free one, `{HTTP_OFF}` serves none.  If the default port is taken, the "
        "server runs without.  An address that other machines reach asks for a name and password of a user "
        "of the server, unless `kawal.insecure`.", check=http_problem),
    *CONSOLE_KEYS,
    Key("kawal.metrics.partitions.max", INT, 1000,
        "Partitions with metrics of their own, the oldest ones first; those left out are counted.",
        minimum=0, unit="partitions"),
    Key("kawal.metrics.group.partitions.max", INT, 1000,
        "Partitions of consumer groups with metrics of their own (offset, lag); groups left out are counted.",
        minimum=0, unit="partitions"),
    Key("kawal.metrics.share.groups.max", INT, 1000,
        "Share groups with metrics of their own, by name; those left out are counted.",
        minimum=0, unit="groups"),
    Key("kawal.loop.turn.log.ms", INT, 20,
        "Turns of the event loop that take more processor than this, or ten times as long, are logged with "
        "their client and stack.", minimum=1, unit="ms", dynamic=True),
    Key("kawal.request.log", LIST, (),
        "Clients whose requests are logged, a line each: patterns of client.id such as `spark-*`, or an API "
        "and a pattern such as `fetch:*`.", dynamic=True, check=rules_problem),
    Key("kawal.request.log.rate", INT, 100,
        "Most lines of the request log in a second; those left out are counted.",
        minimum=1, unit="lines", dynamic=True),
    Key("kawal.log.format", STRING, "human", "Lines of the log: for people, or one JSON object each.",
        choices=("human", "json")),
    Key("kawal.log.level", STRING, "info",
        "What is logged: everything from this level up.  AlterConfigs changes it by logger (BROKER_LOGGER).",
        choices=("debug", "info", "warning", "error")),
),
}
# fmt: on

KEYS: dict[str, Key] = {key.name: key for section in SECTIONS.values() for key in section}
"""Every key of the server by name, in the order of the documentation."""
