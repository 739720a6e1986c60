"""The settings of the transaction coordinator, under Kafka's names with `_` for `.`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionConfig:
    """The broker's settings for all transactional ids."""

    transaction_state_log_num_partitions: int = 50
    """Partitions of __transaction_state; fixed once the topic exists. 1 or more."""

    transaction_max_timeout_ms: int = 900_000
    """The longest transaction a client may ask for."""

    transactional_id_expiration_ms: int = 604_800_000
    """The time after which an unused id is forgotten."""

    transaction_remove_expired_transaction_cleanup_interval_ms: int = 3_600_000
    """The interval between two searches for such ids."""

    kawal_transactions_max_bytes: int = 128 << 20
    """The memory of all ids; beyond it, those unused for longest are forgotten early."""

    kawal_transaction_max_partitions: int = 10_000
    """The most partitions that one transaction may have: each change of it writes them all."""
