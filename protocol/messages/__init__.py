"""One file per API: its request and response declarations for every version.

Structs have Kafka's names, fields have Kafka's names in snake case. Files are imported one by one, when their
API is first used: starting a broker must not pay for messages that are never sent.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from protocol.api_keys import ApiKey

DECLARED: Final = (
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.DELETE_RECORDS,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
    ApiKey.WRITE_TXN_MARKERS,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.DELETE_GROUPS,
    ApiKey.ELECT_LEADERS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.OFFSET_DELETE,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.UPDATE_FEATURES,
    ApiKey.ENVELOPE,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.DESCRIBE_TRANSACTIONS,
    ApiKey.LIST_TRANSACTIONS,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_DESCRIBE,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
    ApiKey.KAWAL_DATABASES,
    ApiKey.KAWAL_GROUPS,
    ApiKey.KAWAL_CONNECTIONS,
    ApiKey.KAWAL_TOPICS,
    ApiKey.KAWAL_PRODUCERS,
    ApiKey.KAWAL_MESSAGES,
    ApiKey.KAWAL_FOLLOW,
    ApiKey.KAWAL_SHARE_RECORDS,
    ApiKey.KAWAL_SHARE_STATES,
    ApiKey.KAWAL_GREET,
    ApiKey.KAWAL_AUDIT,
    ApiKey.KAWAL_STORAGE,
    ApiKey.KAWAL_LEDGERS,
    ApiKey.KAWAL_POLLS,
    ApiKey.KAWAL_PROGRESS,
    ApiKey.KAWAL_READS,
    ApiKey.KAWAL_QUEUES,
    ApiKey.KAWAL_QUEUE_CHANGES,
)
"""The APIs that have a file here."""


def request_type(api_key: int) -> type[Any]:
    """Return the request class of an API.

    Raises: KeyError if it is not declared.
    """
    return _declared(api_key, "Request")


def response_type(api_key: int) -> type[Any]:
    """Return the response class of an API.

    Raises: KeyError if it is not declared.
    """
    return _declared(api_key, "Response")


def _declared(api_key: int, suffix: str) -> type[Any]:
    if api_key not in DECLARED:
        raise KeyError(api_key)
    name = ApiKey(api_key).name.lower()
    found: type[Any] = getattr(
        import_module(f"protocol.messages.{name}"), name.title().replace("_", "") + suffix
    )
    return found
