"""The requests that change nothing: the only ones that leave a console that is read-only."""

from __future__ import annotations

from typing import Any, Final

from protocol.api_keys import ApiKey

DESCRIBE: Final = 0
"""The first action of requests that have several: of Kawal's own ones, only this changes nothing."""

SHOWING: Final = frozenset(
    (
        ApiKey.API_VERSIONS,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.METADATA,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        ApiKey.LIST_OFFSETS,
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        ApiKey.FETCH,
        ApiKey.FIND_COORDINATOR,
        ApiKey.LIST_GROUPS,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        ApiKey.SHARE_GROUP_DESCRIBE,
        ApiKey.OFFSET_FETCH,
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.LIST_CONFIG_RESOURCES,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.DESCRIBE_ACLS,
        ApiKey.DESCRIBE_CLIENT_QUOTAS,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.DESCRIBE_TRANSACTIONS,
        ApiKey.LIST_TRANSACTIONS,
        ApiKey.KAWAL_CONNECTIONS,
        ApiKey.KAWAL_DATABASES,
        ApiKey.KAWAL_GROUPS,
        ApiKey.KAWAL_MESSAGES,
        ApiKey.KAWAL_PRODUCERS,
        ApiKey.KAWAL_QUEUES,
        ApiKey.KAWAL_TOPICS,
    )
)


def changes_nothing(api: ApiKey, request: Any) -> bool:
    """Whether a request changes nothing on the broker, whatever its fields say about it."""
    if api not in SHOWING:
        return False
    # Metadata may create the topics that it asks for.
    return not getattr(request, "allow_auto_topic_creation", False) and not getattr(
        request, "action", DESCRIBE
    )
