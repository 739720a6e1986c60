"""The server's effective configuration: one frozen dataclass with a typed field for each key.

A field has its key's name with `_` for `.`: `config.log_retention_ms` is `log.retention.ms`.  Defaults,
ranges and documentation are in server_keys.py.  config_sources.py reads a `Config` from a file, the
environment and flags, and remembers where each value came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from broker.config.config_keys import ConfigError, Key, Value, nearest
from broker.config.console_keys import check_console
from broker.config.endpoints import HTTP_OFF, is_loopback, parse_endpoint
from broker.config.group_limits import INTERVAL_NAMES, assignment_interval_ms, check_group_limits
from broker.config.listener_keys import PREFIX, check_listeners_exist, is_listener_key, listener_key
from broker.config.listener_specs import ListenerSpec, check_reach, listener_specs
from broker.config.node_keys import check_nodes
from broker.config.server_keys import HOUR_MS, KEYS
from broker.config.tls_settings import tls_settings


def _of(name: str) -> Any:
    return field(default=KEYS[name].default, repr=not KEYS[name].sensitive)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Effective configuration of one server; `config_of` builds a checked one."""

    set_by_operator: frozenset[str] = frozenset()
    """Keys the operator set; the others have their built-in default.  DescribeConfigs tells them apart."""

    listener_overrides: Mapping[str, Value] = field(default_factory=dict, hash=False, repr=False)
    """Values for one listener by the full names of their keys, `listener.name.x.y`."""

    # Addresses
    listeners: tuple[str, ...] = _of("listeners")
    advertised_listeners: tuple[str, ...] = _of("advertised.listeners")
    node_id: int = _of("node.id")
    broker_rack: str | None = _of("broker.rack")
    kawal_insecure: bool = _of("kawal.insecure")
    # Security
    listener_security_protocol_map: str = _of("listener.security.protocol.map")
    ssl_keystore_type: str = _of("ssl.keystore.type")
    ssl_keystore_location: str | None = _of("ssl.keystore.location")
    ssl_keystore_certificate_chain: str | None = _of("ssl.keystore.certificate.chain")
    ssl_keystore_key: str | None = _of("ssl.keystore.key")
    ssl_key_password: str | None = _of("ssl.key.password")
    ssl_truststore_type: str = _of("ssl.truststore.type")
    ssl_truststore_location: str | None = _of("ssl.truststore.location")
    ssl_truststore_certificates: str | None = _of("ssl.truststore.certificates")
    ssl_client_auth: str = _of("ssl.client.auth")
    ssl_principal_mapping_rules: str = _of("ssl.principal.mapping.rules")
    ssl_enabled_protocols: tuple[str, ...] = _of("ssl.enabled.protocols")
    ssl_cipher_suites: tuple[str, ...] = _of("ssl.cipher.suites")
    ssl_allow_dn_changes: bool = _of("ssl.allow.dn.changes")
    ssl_allow_san_changes: bool = _of("ssl.allow.san.changes")
    kawal_connection_setup_timeout_ms: int = _of("kawal.connection.setup.timeout.ms")
    sasl_enabled_mechanisms: tuple[str, ...] = _of("sasl.enabled.mechanisms")
    sasl_jaas_config: str | None = _of("sasl.jaas.config")
    kawal_sasl_plain_users: str | None = _of("kawal.sasl.plain.users")
    sasl_server_max_receive_size: int = _of("sasl.server.max.receive.size")
    connections_max_reauth_ms: int = _of("connections.max.reauth.ms")
    sasl_oauthbearer_jwks_endpoint_url: str | None = _of("sasl.oauthbearer.jwks.endpoint.url")
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int = _of("sasl.oauthbearer.jwks.endpoint.refresh.ms")
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: int = _of(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms"
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: int = _of(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"
    )
    sasl_oauthbearer_expected_issuer: str | None = _of("sasl.oauthbearer.expected.issuer")
    sasl_oauthbearer_expected_audience: tuple[str, ...] = _of("sasl.oauthbearer.expected.audience")
    sasl_oauthbearer_clock_skew_seconds: int = _of("sasl.oauthbearer.clock.skew.seconds")
    sasl_oauthbearer_sub_claim_name: str = _of("sasl.oauthbearer.sub.claim.name")
    connection_failed_authentication_delay_ms: int = _of("connection.failed.authentication.delay.ms")
    delegation_token_secret_key: str | None = _of("delegation.token.secret.key")
    delegation_token_max_lifetime_ms: int = _of("delegation.token.max.lifetime.ms")
    delegation_token_expiry_time_ms: int = _of("delegation.token.expiry.time.ms")
    delegation_token_expiry_check_interval_ms: int = _of("delegation.token.expiry.check.interval.ms")
    kawal_max_delegation_tokens: int = _of("kawal.max.delegation.tokens")
    kawal_max_delegation_tokens_per_user: int = _of("kawal.max.delegation.tokens.per.user")
    authorizer_class_name: str = _of("authorizer.class.name")
    super_users: str = _of("super.users")
    allow_everyone_if_no_acl_found: bool = _of("allow.everyone.if.no.acl.found")
    # Audit
    kawal_audit_file: str | None = _of("kawal.audit.file")
    kawal_audit_file_max_bytes: int = _of("kawal.audit.file.max.bytes")
    kawal_audit_file_count: int = _of("kawal.audit.file.count")
    kawal_audit_sync: str = _of("kawal.audit.sync")
    kawal_audit_topic: bool = _of("kawal.audit.topic")
    kawal_storage_state_topic: bool = _of("kawal.storage.state.topic")
    kawal_ledgers_topic: bool = _of("kawal.ledgers.topic")
    kawal_audit_when_full: str = _of("kawal.audit.when.full")
    # Topics
    num_partitions: int = _of("num.partitions")
    default_replication_factor: int = _of("default.replication.factor")
    kawal_accept_replication_factor: bool = _of("kawal.accept.replication.factor")
    auto_create_topics_enable: bool = _of("auto.create.topics.enable")
    delete_topic_enable: bool = _of("delete.topic.enable")
    kawal_drop_policy: str = _of("kawal.drop.policy")
    kawal_out_of_range: str = _of("kawal.out.of.range")
    kawal_max_views: int = _of("kawal.max.views")
    kawal_max_partitions: int = _of("kawal.max.partitions")
    kawal_catalogue_max_bytes: int = _of("kawal.catalogue.max.bytes")
    kawal_max_partitions_per_request: int = _of("kawal.max.partitions.per.request")
    kawal_deletion_protected: bool = _of("kawal.deletion.protected")
    min_insync_replicas: int = _of("min.insync.replicas")
    message_max_bytes: int = _of("message.max.bytes")
    compression_type: str = _of("compression.type")
    log_message_timestamp_type: str = _of("log.message.timestamp.type")
    log_message_timestamp_before_max_ms: int = _of("log.message.timestamp.before.max.ms")
    log_message_timestamp_after_max_ms: int = _of("log.message.timestamp.after.max.ms")
    # Schema registry
    kawal_schema_registry_url: str | None = _of("kawal.schema.registry.url")
    kawal_schema_registry_user_info: str | None = _of("kawal.schema.registry.user.info")
    kawal_schema_registry_timeout_ms: int = _of("kawal.schema.registry.timeout.ms")
    kawal_schema_registry_unavailable: str = _of("kawal.schema.registry.unavailable")
    # Retention
    log_cleanup_policy: tuple[str, ...] = _of("log.cleanup.policy")
    log_retention_ms: int | None = _of("log.retention.ms")
    log_retention_minutes: int | None = _of("log.retention.minutes")
    log_retention_hours: int = _of("log.retention.hours")
    log_retention_bytes: int = _of("log.retention.bytes")
    log_retention_check_interval_ms: int = _of("log.retention.check.interval.ms")
    log_segment_bytes: int = _of("log.segment.bytes")
    log_roll_ms: int | None = _of("log.roll.ms")
    log_roll_hours: int = _of("log.roll.hours")
    log_segment_delete_delay_ms: int = _of("log.segment.delete.delay.ms")
    log_cleaner_enable: bool = _of("log.cleaner.enable")
    log_cleaner_backoff_ms: int = _of("log.cleaner.backoff.ms")
    log_cleaner_min_cleanable_ratio: float = _of("log.cleaner.min.cleanable.ratio")
    log_cleaner_min_compaction_lag_ms: int = _of("log.cleaner.min.compaction.lag.ms")
    log_cleaner_max_compaction_lag_ms: int = _of("log.cleaner.max.compaction.lag.ms")
    log_cleaner_delete_retention_ms: int = _of("log.cleaner.delete.retention.ms")
    log_cleaner_dedupe_buffer_size: int = _of("log.cleaner.dedupe.buffer.size")
    log_cleaner_io_buffer_load_factor: float = _of("log.cleaner.io.buffer.load.factor")
    log_cleaner_io_max_bytes_per_second: float = _of("log.cleaner.io.max.bytes.per.second")
    # Storage
    log_dirs: str = _of("log.dirs")
    kawal_durability: str = _of("kawal.durability")
    kawal_flush_ms: int = _of("kawal.flush.ms")
    kawal_vnodes: int = _of("kawal.vnodes")
    kawal_segment_bytes: int = _of("kawal.segment.bytes")
    kawal_tail_cache_bytes: int = _of("kawal.tail.cache.bytes")
    kawal_views_cache_bytes: int = _of("kawal.views.cache.bytes")
    kawal_views_keys_bytes: int = _of("kawal.views.keys.bytes")
    kawal_views_compiled_bytes: int = _of("kawal.views.compiled.bytes")
    kawal_min_free_bytes: int = _of("kawal.min.free.bytes")
    producer_id_expiration_ms: int = _of("producer.id.expiration.ms")
    kawal_producers_max_bytes: int = _of("kawal.producers.max.bytes")
    kawal_named_producers_max_bytes: int = _of("kawal.named.producers.max.bytes")
    kawal_max_producers_per_partition: int = _of("kawal.max.producers.per.partition")
    # Object store
    kawal_remote_store: str | None = _of("kawal.remote.store")
    kawal_remote_endpoint: str = _of("kawal.remote.endpoint")
    kawal_remote_region: str = _of("kawal.remote.region")
    kawal_remote_lag_ms: int = _of("kawal.remote.lag.ms")
    kawal_remote_delete_delay_ms: int = _of("kawal.remote.delete.delay.ms")
    kawal_remote_heartbeat_ms: int = _of("kawal.remote.heartbeat.ms")
    kawal_remote_history_ms: int = _of("kawal.remote.history.ms")
    kawal_remote_cache_bytes: int = _of("kawal.remote.cache.bytes")
    remote_log_manager_copy_max_bytes_per_second: int = _of("remote.log.manager.copy.max.bytes.per.second")
    remote_log_manager_fetch_max_bytes_per_second: int = _of("remote.log.manager.fetch.max.bytes.per.second")
    # Transactions
    transaction_max_timeout_ms: int = _of("transaction.max.timeout.ms")
    transactional_id_expiration_ms: int = _of("transactional.id.expiration.ms")
    transaction_remove_expired_transaction_cleanup_interval_ms: int = _of(
        "transaction.remove.expired.transaction.cleanup.interval.ms"
    )
    transaction_state_log_num_partitions: int = _of("transaction.state.log.num.partitions")
    kawal_transactions_max_bytes: int = _of("kawal.transactions.max.bytes")
    kawal_aborted_transactions_max_bytes: int = _of("kawal.aborted.transactions.max.bytes")
    kawal_transaction_max_partitions: int = _of("kawal.transaction.max.partitions")
    # Groups
    offsets_topic_num_partitions: int = _of("offsets.topic.num.partitions")
    offsets_retention_minutes: int | None = _of("offsets.retention.minutes")
    offsets_retention_check_interval_ms: int = _of("offsets.retention.check.interval.ms")
    offset_metadata_max_bytes: int = _of("offset.metadata.max.bytes")
    group_min_session_timeout_ms: int = _of("group.min.session.timeout.ms")
    group_max_session_timeout_ms: int = _of("group.max.session.timeout.ms")
    group_initial_rebalance_delay_ms: int = _of("group.initial.rebalance.delay.ms")
    group_max_size: int = _of("group.max.size")
    group_consumer_session_timeout_ms: int = _of("group.consumer.session.timeout.ms")
    group_consumer_min_session_timeout_ms: int = _of("group.consumer.min.session.timeout.ms")
    group_consumer_max_session_timeout_ms: int = _of("group.consumer.max.session.timeout.ms")
    group_consumer_heartbeat_interval_ms: int = _of("group.consumer.heartbeat.interval.ms")
    group_consumer_min_heartbeat_interval_ms: int = _of("group.consumer.min.heartbeat.interval.ms")
    group_consumer_max_heartbeat_interval_ms: int = _of("group.consumer.max.heartbeat.interval.ms")
    group_consumer_assignment_interval_ms: int = _of("group.consumer.assignment.interval.ms")
    group_consumer_min_assignment_interval_ms: int = _of("group.consumer.min.assignment.interval.ms")
    group_consumer_max_assignment_interval_ms: int = _of("group.consumer.max.assignment.interval.ms")
    group_consumer_max_size: int = _of("group.consumer.max.size")
    group_consumer_assignors: tuple[str, ...] = _of("group.consumer.assignors")
    group_consumer_migration_policy: str = _of("group.consumer.migration.policy")
    group_share_max_size: int = _of("group.share.max.size")
    group_share_max_share_sessions: int = _of("group.share.max.share.sessions")
    group_share_session_timeout_ms: int = _of("group.share.session.timeout.ms")
    group_share_min_session_timeout_ms: int = _of("group.share.min.session.timeout.ms")
    group_share_max_session_timeout_ms: int = _of("group.share.max.session.timeout.ms")
    group_share_heartbeat_interval_ms: int = _of("group.share.heartbeat.interval.ms")
    group_share_min_heartbeat_interval_ms: int = _of("group.share.min.heartbeat.interval.ms")
    group_share_max_heartbeat_interval_ms: int = _of("group.share.max.heartbeat.interval.ms")
    group_share_assignment_interval_ms: int = _of("group.share.assignment.interval.ms")
    group_share_min_assignment_interval_ms: int = _of("group.share.min.assignment.interval.ms")
    group_share_max_assignment_interval_ms: int = _of("group.share.max.assignment.interval.ms")
    group_share_delivery_count_limit: int = _of("group.share.delivery.count.limit")
    group_share_min_delivery_count_limit: int = _of("group.share.min.delivery.count.limit")
    group_share_max_delivery_count_limit: int = _of("group.share.max.delivery.count.limit")
    group_share_record_lock_duration_ms: int = _of("group.share.record.lock.duration.ms")
    group_share_min_record_lock_duration_ms: int = _of("group.share.min.record.lock.duration.ms")
    group_share_max_record_lock_duration_ms: int = _of("group.share.max.record.lock.duration.ms")
    group_share_partition_max_record_locks: int = _of("group.share.partition.max.record.locks")
    group_share_min_partition_max_record_locks: int = _of("group.share.min.partition.max.record.locks")
    group_share_max_partition_max_record_locks: int = _of("group.share.max.partition.max.record.locks")
    kawal_share_ranges_max_bytes: int = _of("kawal.share.ranges.max.bytes")
    kawal_share_states_max_bytes: int = _of("kawal.share.states.max.bytes")
    errors_deadletterqueue_auto_create_topics_enable: bool = _of(
        "errors.deadletterqueue.auto.create.topics.enable"
    )
    errors_deadletterqueue_topic_name_prefix: str = _of("errors.deadletterqueue.topic.name.prefix")
    kawal_rebalance_interval_ms: int = _of("kawal.rebalance.interval.ms")
    kawal_offsets_max_bytes: int = _of("kawal.offsets.max.bytes")
    kawal_group_max_bytes: int = _of("kawal.group.max.bytes")
    kawal_groups_max_bytes: int = _of("kawal.groups.max.bytes")
    kawal_topic_max_groups: int = _of("kawal.topic.max.groups")
    kawal_max_poll_interval_ms: int = _of("kawal.max.poll.interval.ms")
    kawal_group_assignor: str = _of("kawal.group.assignor")
    # Limits
    socket_request_max_bytes: int = _of("socket.request.max.bytes")
    kawal_request_max_bytes: int = _of("kawal.request.max.bytes")
    fetch_max_bytes: int = _of("fetch.max.bytes")
    max_request_partition_size_limit: int = _of("max.request.partition.size.limit")
    max_incremental_fetch_session_cache_slots: int = _of("max.incremental.fetch.session.cache.slots")
    kawal_fetch_session_cache_bytes: int = _of("kawal.fetch.session.cache.bytes")
    max_connections: int = _of("max.connections")
    max_connections_per_ip: int = _of("max.connections.per.ip")
    max_connections_per_ip_overrides: str = _of("max.connections.per.ip.overrides")
    max_connection_creation_rate: int = _of("max.connection.creation.rate")
    quota_window_num: int = _of("quota.window.num")
    quota_window_size_seconds: int = _of("quota.window.size.seconds")
    controller_quota_window_num: int = _of("controller.quota.window.num")
    controller_quota_window_size_seconds: int = _of("controller.quota.window.size.seconds")
    connections_max_idle_ms: int = _of("connections.max.idle.ms")
    socket_listen_backlog_size: int = _of("socket.listen.backlog.size")
    socket_send_buffer_bytes: int = _of("socket.send.buffer.bytes")
    socket_receive_buffer_bytes: int = _of("socket.receive.buffer.bytes")
    kawal_memory_share_per_ip: float = _of("kawal.memory.share.per.ip")
    queued_max_request_bytes: int = _of("queued.max.request.bytes")
    kawal_connection_in_flight_bytes: int = _of("kawal.connection.in.flight.bytes")
    kawal_connection_in_flight_requests: int = _of("kawal.connection.in.flight.requests")
    kawal_connection_unsent_bytes: int = _of("kawal.connection.unsent.bytes")
    kawal_queued_max_response_bytes: int = _of("kawal.queued.max.response.bytes")
    kawal_request_read_timeout_ms: int = _of("kawal.request.read.timeout.ms")
    kawal_response_write_timeout_ms: int = _of("kawal.response.write.timeout.ms")
    kawal_shutdown_timeout_ms: int = _of("kawal.shutdown.timeout.ms")
    # Operation
    kawal_workers: int = _of("kawal.workers")
    kawal_cluster_nodes: tuple[str, ...] = _of("kawal.cluster.nodes")
    kawal_cluster_node: int | None = _of("kawal.cluster.node")
    kawal_cluster_secret_file: str | None = _of("kawal.cluster.secret.file")
    inter_broker_listener_name: str | None = _of("inter.broker.listener.name")
    kawal_http_listen: str = _of("kawal.http.listen")
    kawal_console_listeners: str = _of("kawal.console.listeners")
    kawal_console_read_only: bool = _of("kawal.console.read.only")
    kawal_console_hosts: tuple[str, ...] = _of("kawal.console.hosts")
    kawal_console_masks: tuple[str, ...] = _of("kawal.console.masks")
    kawal_metrics_partitions_max: int = _of("kawal.metrics.partitions.max")
    kawal_metrics_group_partitions_max: int = _of("kawal.metrics.group.partitions.max")
    kawal_metrics_share_groups_max: int = _of("kawal.metrics.share.groups.max")
    kawal_loop_turn_log_ms: int = _of("kawal.loop.turn.log.ms")
    kawal_request_log: tuple[str, ...] = _of("kawal.request.log")
    kawal_request_log_rate: int = _of("kawal.request.log.rate")
    kawal_log_format: str = _of("kawal.log.format")
    kawal_log_level: str = _of("kawal.log.level")

    @property
    def specs(self) -> tuple[ListenerSpec, ...]:
        """The listeners, in their order."""
        return listener_specs(self)

    def of_listener(self, listener: str, name: str, mechanism: str = "") -> Value:
        """Return the value of a key for one listener, or for one SASL mechanism of it; both in capitals."""
        prefix = f"{PREFIX}{listener.lower()}."
        for full in (f"{prefix}{mechanism.lower()}.{name}", f"{prefix}{name}"):
            if full in self.listener_overrides:
                return self.listener_overrides[full]
        return self.value(name)

    @property
    def audited(self) -> bool:
        """Whether there is an audit log."""
        return self.kawal_audit_file is not None or self.kawal_audit_topic

    @property
    def retention_ms(self) -> int:
        """The default retention: log.retention.ms, else .minutes, else .hours; -1 keeps for ever."""
        if self.log_retention_ms is not None:
            return self.log_retention_ms
        minutes = self.log_retention_minutes
        if minutes is None:
            minutes = self.log_retention_hours * 60
        return -1 if minutes < 0 else minutes * 60_000

    @property
    def roll_ms(self) -> int:
        """The default age of a logical segment: log.roll.ms, else log.roll.hours."""
        return self.log_roll_ms if self.log_roll_ms is not None else self.log_roll_hours * HOUR_MS

    def value(self, name: str) -> Value:
        """Return the value of the key `name`, written with dots.  Raises: ConfigError for an unknown one."""
        if name in self.listener_overrides:
            return self.listener_overrides[name]
        key = key_of(name)
        found: Value = key.default if is_listener_key(name) else getattr(self, attribute_of(key))
        return found


def attribute_of(key: Key) -> str:
    """Return the name of the field of `Config` that holds `key`."""
    return key.name.replace(".", "_")


def key_of(name: str) -> Key:
    """Return the key called `name`.  Raises: ConfigError with the nearest known name."""
    found = KEYS.get(name)
    if found is None and is_listener_key(name):
        return listener_key(name)
    if found is None:
        raise ConfigError(name, None, "is not a configuration key", nearest=nearest(name, KEYS))
    return found


def config_of(values: Mapping[str, object], base: Config | None = None) -> Config:
    """Return `base` (or the defaults) with `values` set, checked one by one and together.

    `values` is by dotted name; each value is text, as Kafka writes it, or typed already.
    Raises: ConfigError.
    """
    typed: dict[str, Any] = {}
    start = base or Config()
    overrides = dict(start.listener_overrides)
    for name, raw in values.items():
        key = key_of(name)
        if is_listener_key(name):
            overrides[name] = key.parse(raw)
        else:
            typed[attribute_of(key)] = key.parse(raw)
    if (interval_ms := assignment_interval_ms(typed)) is not None:
        typed |= dict.fromkeys(INTERVAL_NAMES, interval_ms)
    config = replace(
        start,
        set_by_operator=start.set_by_operator | values.keys(),
        listener_overrides=overrides,
        **typed,
    )
    _check_together(config)
    return config


def _check_together(config: Config) -> None:
    """Check what concerns several keys at once.  Raises: ConfigError."""
    check_group_limits(config)
    if config.kawal_durability == "remote" and config.kawal_remote_store is None:
        raise ConfigError(
            "kawal.durability", "remote", "needs kawal.remote.store, the object store to wait for"
        )
    specs = config.specs
    check_listeners_exist(config.listener_overrides, [spec.name for spec in specs])
    for spec in specs:
        if spec.protocol.encrypted:
            tls_settings(config, spec)
        if spec.protocol.sasl:
            from broker.config.sasl_settings import sasl_settings  # most servers have no logins

            sasl_settings(config, spec.name)
    check_reach(config, specs)
    check_nodes(config)
    check_console(config.kawal_console_listeners, config.kawal_insecure, specs)
    http = config.kawal_http_listen
    if config.kawal_insecure or http == HTTP_OFF or is_loopback(parse_endpoint(http).host):
        return
    if not any(spec.protocol.sasl for spec in specs):
        raise ConfigError(
            "kawal.http.listen",
            http,
            "other machines could reach this address, and its clients could not log in, for there is no"
            " listener with SASL, whose users they are; add one, bind 127.0.0.1, or allow it with --insecure"
            " (kawal.insecure=true)",
        )
