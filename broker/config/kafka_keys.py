"""The broker configurations of Apache Kafka 4.3 that this server does not have.

They are known for two reasons. A setting carried over from Kafka can be told from a typing error: it is
accepted with a warning, or refused where ignoring it would leave the server less protected than its owner
believes. And DescribeConfigs of a broker lists them with Kafka's defaults, as tools expect.

A row is `TYPE FLAGS NAME DEFAULT | DOCUMENTATION`; the flag `D` marks what Kafka lets AlterConfigs change
on a running broker, `-` no flag; the default `null` is "not set" and `""` is empty.  Types, flags and
defaults are those a running Kafka 4.3.1 shows.
"""

from __future__ import annotations

from dataclasses import replace

from broker.config.config_keys import ConfigType, Key
from broker.config.topic_keys import TOPIC_KEYS

_TABLE = """
INT - add.partitions.to.txn.retry.backoff.max.ms 100 | Longest wait before adding partitions is tried again.
INT - add.partitions.to.txn.retry.backoff.ms 20 | Wait before adding partitions to a transaction is retried.
CLASS - alter.config.policy.class.name null | Class that judges changes to configurations.
INT - alter.log.dirs.replication.quota.window.num 11 | Samples of the quota on moves of partitions.
INT - alter.log.dirs.replication.quota.window.size.seconds 1 | Length of such a sample.
BOOLEAN - auto.leader.rebalance.enable true | Move leaders back to the preferred replicas.
INT D background.threads 10 | Threads for background work.
INT - broker.heartbeat.interval.ms 2000 | How often a broker reports to the controller.
INT - broker.id -1 | Id of this node; use node.id.
INT - broker.session.timeout.ms 9000 | Time after which a broker without heartbeats counts as dead.
CLASS - client.quota.callback.class null | Class that computes client quotas.
INT D compression.gzip.level -1 | Level of gzip where the broker compresses.
INT D compression.lz4.level 9 | Level of lz4 where the broker compresses.
INT D compression.zstd.level 3 | Level of zstd where the broker compresses.
LIST D config.providers "" | Classes that look up values of configurations.
BOOLEAN - controlled.shutdown.enable true | Hand leaderships over before stopping.
LIST - controller.listener.names null | Listeners of the controller.
INT - controller.quorum.append.linger.ms 25 | How long the quorum leader gathers writes.
BOOLEAN - controller.quorum.auto.join.enable false | Whether a controller joins the voters by itself.
LIST - controller.quorum.bootstrap.servers "" | Addresses to find the controller quorum with.
INT - controller.quorum.election.backoff.max.ms 1000 | Longest wait between elections.
INT - controller.quorum.election.timeout.ms 1000 | Longest wait for votes before a new election.
INT - controller.quorum.fetch.max.bytes 1048576 | Most bytes of the metadata log in one fetch.
INT - controller.quorum.fetch.snapshot.max.bytes 1048576 | Most bytes of a snapshot in one fetch.
INT - controller.quorum.fetch.timeout.ms 2000 | Time without a fetch after which a voter becomes a candidate.
INT - controller.quorum.request.timeout.ms 2000 | Longest wait for an answer in the quorum.
INT - controller.quorum.retry.backoff.ms 20 | Wait before a quorum request is sent again.
LIST - controller.quorum.voters "" | Ids and addresses of the voters of the quorum.
INT - controller.socket.timeout.ms 30000 | Socket timeout between controller and brokers.
LIST D cordoned.log.dirs "" | Directories that get no new partitions.
CLASS - create.topic.policy.class.name null | Class that judges new topics.
INT - delete.records.purgatory.purge.interval.requests 1 | Purge interval of waiting DeleteRecords requests.
LIST - early.start.listeners null | Listeners that start before the metadata is there.
INT - fetch.purgatory.purge.interval.requests 1000 | Purge interval of waiting Fetch requests.
BOOLEAN D follower.fetch.last.tiered.offset.enable false | Whether new followers begin at the tiered end.
INT - group.coordinator.append.linger.ms -1 | How long the coordinator gathers writes.
INT - group.coordinator.background.threads 2 | Threads that compute assignments.
INT D group.coordinator.cached.buffer.max.bytes 1048588 | Largest buffer the coordinator keeps.
LIST - group.coordinator.rebalance.protocols classic,consumer,streams | Rebalance protocols that are served.
INT - group.coordinator.threads 4 | Threads of the group coordinator.
LIST - group.share.assignors simple | Server-side assignors of share groups.
INT D group.streams.assignment.interval.ms 1000 | Shortest time between assignments of a streams group.
INT - group.streams.heartbeat.interval.ms 5000 | Heartbeat interval of streams group members.
INT - group.streams.initial.rebalance.delay.ms 3000 | How long a new streams group waits for members.
INT - group.streams.max.assignment.interval.ms 15000 | Largest assignment interval of a streams group.
INT - group.streams.max.heartbeat.interval.ms 15000 | Largest heartbeat interval of a streams group.
INT - group.streams.max.session.timeout.ms 60000 | Largest session timeout of a streams group.
INT - group.streams.max.size 2147483647 | Most members of a streams group.
INT - group.streams.max.standby.replicas 2 | Most standby replicas a streams group can ask for.
INT - group.streams.min.assignment.interval.ms 0 | Smallest assignment interval of a streams group.
INT - group.streams.min.heartbeat.interval.ms 5000 | Smallest heartbeat interval of a streams group.
INT - group.streams.min.session.timeout.ms 45000 | Smallest session timeout of a streams group.
INT - group.streams.num.standby.replicas 0 | Standby replicas of each task.
INT - group.streams.session.timeout.ms 45000 | Time without a heartbeat after which a member is removed.
INT - initial.broker.registration.timeout.ms 60000 | How long a starting broker tries to register.
INT - kafka.metrics.polling.interval.secs 10 | How often metrics reporters are fed.
LIST - kafka.metrics.reporters "" | Classes that report Yammer metrics.
LONG - leader.imbalance.check.interval.seconds 300 | How often the spread of leaders is checked.
INT D log.cleaner.io.buffer.size 524288 | Memory of the cleaners for reading and writing.
INT D log.cleaner.threads 1 | Threads that compact.
LIST - log.dir /tmp/kafka-logs | The data directory; use log.dirs.
LONG - log.dir.failure.timeout.ms 30000 | How long a failed directory may stay unreported.
LONG D log.flush.interval.messages 9223372036854775807 | Records after which a partition is synced.
LONG D log.flush.interval.ms null | Time after which a partition is synced; see kawal.durability.
INT - log.flush.offset.checkpoint.interval.ms 60000 | How often recovery points are written.
LONG - log.flush.scheduler.interval.ms 9223372036854775807 | How often due syncs are looked for.
INT - log.flush.start.offset.checkpoint.interval.ms 60000 | How often log starts are written.
INT D log.index.interval.bytes 4096 | Bytes between two entries of the offset index.
INT D log.index.size.max.bytes 10485760 | Largest offset index of a segment.
LONG D log.local.retention.bytes -2 | Size up to which tiered partitions stay local.
LONG D log.local.retention.ms -2 | Age up to which tiered records stay local.
BOOLEAN D log.preallocate false | Whether segment files are allocated in advance.
INT - log.roll.jitter.hours 0 | Largest random delay of a roll, in hours.
LONG D log.roll.jitter.ms null | Largest random delay of a roll.
STRING - metadata.log.dir null | Directory of the metadata log.
LONG - metadata.log.max.record.bytes.between.snapshots 20971520 | Metadata bytes before a new snapshot.
LONG - metadata.log.max.snapshot.interval.ms 3600000 | Longest time before a new snapshot.
INT - metadata.log.segment.bytes 1073741824 | Size of a metadata segment.
LONG - metadata.log.segment.ms 604800000 | Age at which a metadata segment ends.
INT - metadata.max.idle.interval.ms 500 | How often an idle controller writes a no-op.
LONG - metadata.max.retention.bytes 104857600 | Size at which old metadata is deleted.
LONG - metadata.max.retention.ms 604800000 | Age at which old metadata is deleted.
LIST D metric.reporters org.apache.kafka.common.metrics.JmxReporter | Classes that report metrics.
INT - metrics.num.samples 2 | Samples kept for a metric.
STRING - metrics.recording.level INFO | Which metrics are recorded.
LONG - metrics.sample.window.ms 30000 | Length of a metric's sample.
INT D num.io.threads 8 | Threads that work on requests.
INT D num.network.threads 3 | Threads that read and write sockets.
INT D num.recovery.threads.per.data.dir 2 | Threads that recover a directory.
INT - num.replica.alter.log.dirs.threads null | Threads that move partitions between directories.
INT D num.replica.fetchers 1 | Threads that copy from another broker.
INT - offsets.commit.timeout.ms 5000 | How long a commit may take.
INT - offsets.load.buffer.size 5242880 | Bytes read at once when offsets are loaded.
INT - offsets.topic.compression.codec 0 | Codec of __consumer_offsets.
SHORT - offsets.topic.replication.factor 3 | Replicas of __consumer_offsets.
INT - offsets.topic.segment.bytes 104857600 | Segment size of __consumer_offsets.
CLASS D principal.builder.class @principal-builder | Class that names the authenticated user.
LIST - process.roles null | What this process is: broker, controller or both.
INT - producer.purgatory.purge.interval.requests 1000 | Purge interval of waiting Produce requests.
INT - queued.max.requests 500 | Requests waiting for a thread before sockets are not read.
INT D remote.fetch.max.wait.ms 500 | Longest wait for tiered records.
LONG D remote.list.offsets.request.timeout.ms 30000 | Longest wait for a tiered offset.
LONG D remote.log.index.file.cache.total.size.bytes 1073741824 | Space for indexes fetched from the tier.
INT D remote.log.manager.copier.thread.pool.size 10 | Threads that copy to the tier.
INT - remote.log.manager.copy.quota.window.num 11 | Samples kept for that quota.
INT - remote.log.manager.copy.quota.window.size.seconds 1 | Length of such a sample.
INT D remote.log.manager.expiration.thread.pool.size 10 | Threads that delete from the tier.
INT - remote.log.manager.fetch.quota.window.num 11 | Samples kept for that quota.
INT - remote.log.manager.fetch.quota.window.size.seconds 1 | Length of such a sample.
INT D remote.log.manager.follower.thread.pool.size 2 | Threads of followers for the tier.
LONG - remote.log.manager.task.interval.ms 30000 | How often tier tasks run.
INT - remote.log.manager.thread.pool.size 2 | Threads that schedule tier tasks.
INT - remote.log.metadata.custom.metadata.max.bytes 128 | Largest metadata of a tier plugin.
STRING - remote.log.metadata.manager.class.name @remote-metadata | Class that keeps the tier's metadata.
STRING - remote.log.metadata.manager.class.path null | Class path of that class.
STRING - remote.log.metadata.manager.impl.prefix rlmm.config. | Prefix of that class's own keys.
STRING - remote.log.metadata.manager.listener.name null | Listener that class connects to.
INT - remote.log.reader.max.pending.tasks 100 | Most reads waiting for the tier.
INT D remote.log.reader.threads 10 | Threads that read from the tier.
STRING - remote.log.storage.manager.class.name null | Class that stores in the tier.
STRING - remote.log.storage.manager.class.path null | Class path of that class.
STRING - remote.log.storage.manager.impl.prefix rsm.config. | Prefix of that class's own keys.
BOOLEAN - remote.log.storage.system.enable false | Whether tiered storage is on.
INT - replica.fetch.backoff.ms 1000 | Wait of a follower after an error.
INT - replica.fetch.max.bytes 1048576 | Bytes a follower asks for from a partition.
INT - replica.fetch.min.bytes 1 | Bytes a follower waits for.
INT - replica.fetch.response.max.bytes 10485760 | Bytes a follower asks for in all.
INT - replica.fetch.wait.max.ms 500 | Longest wait of a follower.
LONG - replica.high.watermark.checkpoint.interval.ms 5000 | How often high watermarks are written.
LONG - replica.lag.time.max.ms 30000 | When a slow follower leaves the in-sync replicas.
STRING - replica.selector.class null | Class that chooses the replica a consumer reads.
INT - replica.socket.receive.buffer.bytes 65536 | Socket buffer of a follower.
INT - replica.socket.timeout.ms 30000 | Socket timeout of a follower.
INT - replication.quota.window.num 11 | Samples kept for replication quotas.
INT - replication.quota.window.size.seconds 1 | Length of such a sample.
INT - request.timeout.ms 30000 | Longest wait of this broker for an answer.
CLASS - sasl.client.callback.handler.class null | SASL: callbacks of the client side.
STRING D sasl.kerberos.kinit.cmd /usr/bin/kinit | Kerberos: path of kinit.
LONG D sasl.kerberos.min.time.before.relogin 60000 | Kerberos: pause between logins.
LIST D sasl.kerberos.principal.to.local.rules DEFAULT | Kerberos: rules from principals to names.
STRING D sasl.kerberos.service.name null | Kerberos: service name.
DOUBLE D sasl.kerberos.ticket.renew.jitter 0.05 | Kerberos: random part of the renewal time.
DOUBLE D sasl.kerberos.ticket.renew.window.factor 0.8 | Kerberos: part of the lifetime after which it renews.
CLASS - sasl.login.callback.handler.class null | SASL: callbacks of the login.
CLASS - sasl.login.class null | SASL: class that logs in.
INT - sasl.login.connect.timeout.ms null | SASL: longest time to connect to the identity provider.
INT - sasl.login.read.timeout.ms null | SASL: longest time to read from the identity provider.
SHORT D sasl.login.refresh.buffer.seconds 300 | SASL: time kept free before a credential expires.
SHORT D sasl.login.refresh.min.period.seconds 60 | SASL: shortest time between refreshes.
DOUBLE D sasl.login.refresh.window.factor 0.8 | SASL: part of the lifetime after which it refreshes.
DOUBLE D sasl.login.refresh.window.jitter 0.05 | SASL: random part of the refresh time.
LONG - sasl.login.retry.backoff.max.ms 10000 | SASL: longest wait between login attempts.
LONG - sasl.login.retry.backoff.ms 100 | SASL: first wait between login attempts.
STRING - sasl.mechanism.controller.protocol GSSAPI | SASL: mechanism towards controllers.
STRING D sasl.mechanism.inter.broker.protocol GSSAPI | SASL: mechanism among brokers.
STRING - sasl.oauthbearer.assertion.algorithm RS256 | OAuth: algorithm that signs assertions.
STRING - sasl.oauthbearer.assertion.claim.aud null | OAuth: audience of assertions.
INT - sasl.oauthbearer.assertion.claim.exp.seconds 300 | OAuth: lifetime of assertions.
STRING - sasl.oauthbearer.assertion.claim.iss null | OAuth: issuer of assertions.
BOOLEAN - sasl.oauthbearer.assertion.claim.jti.include false | OAuth: whether assertions have an id.
INT - sasl.oauthbearer.assertion.claim.nbf.seconds 60 | OAuth: seconds by which validity is backdated.
STRING - sasl.oauthbearer.assertion.claim.sub null | OAuth: subject of assertions.
STRING - sasl.oauthbearer.assertion.file null | OAuth: file with an assertion.
STRING - sasl.oauthbearer.assertion.private.key.file null | OAuth: key file that signs assertions.
PASSWORD - sasl.oauthbearer.assertion.private.key.passphrase null | OAuth: passphrase of that file.
STRING - sasl.oauthbearer.assertion.template.file null | OAuth: file with fixed claims.
STRING - sasl.oauthbearer.client.credentials.client.id null | OAuth: client id.
PASSWORD - sasl.oauthbearer.client.credentials.client.secret null | OAuth: client secret.
CLASS - sasl.oauthbearer.jwt.retriever.class @jwt-retriever | OAuth: class that fetches tokens.
CLASS - sasl.oauthbearer.jwt.validator.class @jwt-validator | OAuth: class that checks tokens.
STRING - sasl.oauthbearer.scope null | OAuth: scope that is asked for.
STRING - sasl.oauthbearer.scope.claim.name scope | OAuth: claim that holds the scope.
STRING - sasl.oauthbearer.token.endpoint.url null | OAuth: address that issues tokens.
CLASS - sasl.server.callback.handler.class null | SASL: callbacks of the server side.
STRING - security.inter.broker.protocol PLAINTEXT | Security protocol among brokers.
STRING - security.providers null | Classes of Java security providers.
INT - share.coordinator.append.linger.ms -1 | How long the share coordinator gathers writes.
INT D share.coordinator.cached.buffer.max.bytes 1048588 | Largest buffer the share coordinator keeps.
INT - share.coordinator.load.buffer.size 5242880 | Bytes read at once when share state is loaded.
INT - share.coordinator.snapshot.update.records.per.snapshot 500 | Updates before a new snapshot.
INT - share.coordinator.state.topic.compression.codec 0 | Codec of __share_group_state.
SHORT - share.coordinator.state.topic.min.isr 2 | In-sync replicas __share_group_state needs.
INT - share.coordinator.state.topic.num.partitions 50 | Partitions of __share_group_state.
SHORT - share.coordinator.state.topic.replication.factor 3 | Replicas of __share_group_state.
INT - share.coordinator.state.topic.segment.bytes 104857600 | Segment size of __share_group_state.
INT - share.coordinator.threads 1 | Threads of the share coordinator.
INT - share.coordinator.write.timeout.ms 5000 | How long a write of share state may take.
INT - share.fetch.purgatory.purge.interval.requests 1000 | Purge interval of waiting ShareFetch requests.
LONG - socket.connection.setup.timeout.max.ms 30000 | Longest time to connect to another broker.
LONG - socket.connection.setup.timeout.ms 10000 | First time to connect to another broker.
STRING D ssl.endpoint.identification.algorithm https | TLS: how host names are checked.
CLASS D ssl.engine.factory.class null | TLS: class that makes engines.
STRING D ssl.keymanager.algorithm SunX509 | TLS: algorithm of the key manager.
PASSWORD D ssl.keystore.password null | TLS: password of that file.
STRING D ssl.protocol TLSv1.3 | TLS: version of the context.
STRING D ssl.provider null | TLS: Java provider.
STRING D ssl.secure.random.implementation null | TLS: source of randomness.
STRING D ssl.trustmanager.algorithm PKIX | TLS: algorithm of the trust manager.
PASSWORD D ssl.truststore.password null | TLS: password of that file.
INT - telemetry.max.bytes 1048576 | Largest telemetry a client may push.
INT - transaction.abort.timed.out.transaction.cleanup.interval.ms 10000 | How often overdue ones are aborted.
BOOLEAN D transaction.partition.verification.enable true | Check that a partition belongs to the transaction.
INT - transaction.state.log.load.buffer.size 5242880 | Bytes read at once when transactions are loaded.
INT - transaction.state.log.min.isr 2 | In-sync replicas __transaction_state needs.
SHORT - transaction.state.log.replication.factor 3 | Replicas of __transaction_state.
INT - transaction.state.log.segment.bytes 104857600 | Segment size of __transaction_state.
BOOLEAN - transaction.two.phase.commit.enable false | Whether a client may prepare a transaction itself.
BOOLEAN D unclean.leader.election.enable false | Whether a replica that lags may become leader.
"""

_OAUTH = "org.apache.kafka.common.security.oauthbearer"
_REMOTE = "org.apache.kafka.server.log.remote"
_LONG_DEFAULTS = {
    "@principal-builder": "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
    "@remote-metadata": f"{_REMOTE}.metadata.storage.TopicBasedRemoteLogMetadataManager",
    "@jwt-retriever": f"{_OAUTH}.DefaultJwtRetriever",
    "@jwt-validator": f"{_OAUTH}.DefaultJwtValidator",
}


_TOPIC_TWINS = {synonym: key for key in TOPIC_KEYS.values() for synonym in key.synonyms}
"""Topic keys by the server keys they fall back to: a value that no topic may have, no server may have."""


def _read(row: str) -> Key:
    facts, _, doc = row.partition(" | ")
    type_name, flags, name, default = facts.split(" ", 3)
    key_type = ConfigType[type_name]
    text = _LONG_DEFAULTS.get(default, "" if default == '""' else default)
    bare = Key(name, key_type, None, doc, dynamic="D" in flags)
    twin = _TOPIC_TWINS.get(name)
    if twin is not None and twin.type is key_type:
        bare = replace(
            bare, minimum=twin.minimum, maximum=twin.maximum, choices=twin.choices, check=twin.check
        )
    return bare if text == "null" else replace(bare, default=bare.parse(text))


KAFKA_KEYS: dict[str, Key] = {key.name: key for key in map(_read, _TABLE.strip().splitlines())}
"""Every such key by name."""

PROTECTIVE = (
    "alter.config.policy.",
    "client.quota.",
    "create.topic.policy.",
    "principal.builder.",
    "sasl.",
    "security.",
    "ssl.",
)
"""Prefixes of the keys that protect a Kafka broker: setting one here is refused, not ignored."""

TIMES_OF_OWN_LOGINS = (
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.ticket.renew.",
    "sasl.login.refresh.",
)
"""Prefixes of those among them that only say when a broker renews its own logins: clients may change them,
as librdkafka's test 0081 does (2.15.1), and nothing is less protected."""

INSTEAD = {"broker.id": "node.id", "log.dir": "log.dirs"}
"""Kafka's older names for keys that this server does have."""
