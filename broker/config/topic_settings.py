"""The typed values of a topic's configuration that the storage and the upkeep work with."""

from __future__ import annotations

from dataclasses import dataclass

from broker.config.kawal_topic_keys import CODECS


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """The effective configuration of one topic.  Topics without overrides can share one object."""

    cleanup_policy: tuple[str, ...]
    retention_ms: int
    """-1: for ever."""
    retention_bytes: int
    """Negative: no limit."""
    segment_bytes: int
    segment_ms: int
    max_message_bytes: int
    message_timestamp_type: str
    message_timestamp_before_max_ms: int
    message_timestamp_after_max_ms: int
    min_insync_replicas: int
    delete_retention_ms: int
    min_cleanable_dirty_ratio: float
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    remote_storage_enable: bool = False
    remote_log_copy_disable: bool = False
    local_retention_ms: int = -2
    """-2: as `retention_ms`."""
    local_retention_bytes: int = -2
    kawal_read_only: bool = False
    kawal_codecs_allowed: tuple[str, ...] = CODECS
    kawal_max_partition_bytes: int = -1
    """-1: no limit."""
    kawal_partition_write_bytes_per_sec: int = -1
    """Not above 0: no limit."""
    kawal_message_ids: bool = False
    kawal_message_id_header: bool = False
    kawal_ledger_max_entries: int = 50_000
    kawal_check_records: str = "head"
    kawal_dedup: str = "none"
    kawal_routing: str = "any"
    kawal_session_headers: tuple[str, ...] = ()
    kawal_producer_binding_ttl_ms: int = 14 * 24 * 3_600_000
    kawal_producer_binding_max: int = 100_000
    kawal_schema_validation: str = "none"
    errors_deadletterqueue_group_enable: bool = False
    kawal_queue_max_records: int = -1
    kawal_share_ttl_ms: int = -1
    kawal_share_deleted: tuple[str, ...] = ()
    kawal_partition_autosplit_mode: str = "disabled"
    kawal_partition_autosplit_up_percent: int = 90
    kawal_partition_autosplit_window_ms: int = 300_000
    kawal_partition_autosplit_max_active: int = 32
    kawal_split_gate_max_wait_ms: int = -1
    """-1: for ever."""
    kawal_columns: str = ""
    """The declared columns, if values are checked against them."""

    @property
    def deletes(self) -> bool:
        """Whether retention deletes old records."""
        return "delete" in self.cleanup_policy

    @property
    def compacts(self) -> bool:
        """Whether old records are compacted by key.

        A topic whose records may be in the object store alone never is, whatever the server's default became:
        a pass would read all of the store again.
        """
        return "compact" in self.cleanup_policy and not self.remote_storage_enable

    @property
    def checks_records(self) -> bool:
        """Whether every record of a produced batch is checked, as is needed to write it anew."""
        return self.kawal_check_records == "open" or bool(self.kawal_session_headers)

    @property
    def dedups(self) -> bool:
        """Whether records that their producer has written before are dropped."""
        return self.kawal_dedup == "seqno"

    @property
    def binds(self) -> bool:
        """Whether a producer stays on its partition."""
        return self.kawal_routing == "producer-bind"

    @property
    def checks_values(self) -> bool:
        """Whether values that do not fit are refused."""
        return self.kawal_schema_validation != "none"

    @property
    def opens_batches(self) -> bool:
        """Whether all produced batches are opened; where partitions split, keys may be read besides."""
        return self.compacts or self.checks_records or self.dedups or self.checks_values

    @property
    def routes_records(self) -> bool:
        """Whether the server chooses the partition of records with keys, as partitions may split."""
        return self.kawal_partition_autosplit_mode != "disabled"

    @property
    def append_time(self) -> bool:
        """Whether records get the time they were appended."""
        return self.message_timestamp_type == "LogAppendTime"
