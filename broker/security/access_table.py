"""The access that each API needs: API, resource, operation and error, in the order of the checks.

Whole checks refuse the request, item checks one of the things it names, filters leave out silently what may
not be seen.  broker/requests/acl_gate.py checks most of them at the door; `handler` marks those that need
what only the handler knows.  Documents show this table, and tests go through it row by row.

Source: KafkaApis and ControllerApis of Kafka 4.3, and the table in its documentation of security.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from broker.security.acls import ResourceType
from broker.security.authorized_operations import Operation
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode


class Scope(Enum):
    """The part of a request that a failed check concerns."""

    WHOLE = "request"
    ITEM = "item"
    FILTER = "filter"


class Check(NamedTuple):
    """One check: an operation on a resource, and the error of its failure (None: left out)."""

    resource: ResourceType
    operation: Operation
    scope: Scope
    error: ErrorCode | None = None
    when: str = ""
    """The case that it is limited to, or its alternative."""

    @property
    def text(self) -> str:
        """The check for people: `READ topic`."""
        when = f" ({self.when})" if self.when else ""
        return f"{self.operation.name} {self.resource.name.lower().replace('_', ' ')}{when}"


TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
TRANSACTION = ResourceType.TRANSACTIONAL_ID
TOKEN, USER = ResourceType.DELEGATION_TOKEN, ResourceType.USER

_ERRORS: Final = {
    TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    TRANSACTION: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}


def _whole(operation: Operation, resource: ResourceType, when: str = "") -> Check:
    return Check(resource, operation, Scope.WHOLE, _ERRORS[resource], when)


def _item(operation: Operation, resource: ResourceType, when: str = "") -> Check:
    return Check(resource, operation, Scope.ITEM, _ERRORS[resource], when)


def _filter(operation: Operation, resource: ResourceType, when: str = "") -> Check:
    return Check(resource, operation, Scope.FILTER, None, when)


READ, WRITE, CREATE, DELETE = Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DELETE
ALTER, DESCRIBE = Operation.ALTER, Operation.DESCRIBE
DESCRIBE_CONFIGS, ALTER_CONFIGS = Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS

_CONFIGS_READ: Final = (
    _item(DESCRIBE_CONFIGS, TOPIC, "a topic"),
    _item(DESCRIBE_CONFIGS, GROUP, "a group"),
    _item(DESCRIBE_CONFIGS, CLUSTER, "another resource"),
)
_CONFIGS_WRITTEN: Final = (
    _item(ALTER_CONFIGS, TOPIC, "a topic"),
    _item(ALTER_CONFIGS, GROUP, "a group"),
    _item(ALTER_CONFIGS, CLUSTER, "another resource"),
    _item(READ, TOPIC, "with kawal.quarantine"),
    _item(CREATE, TOPIC, "with kawal.quarantine: the topic that it makes, or CREATE cluster"),
    _item(READ, TOPIC, "a group's kawal.retention.important.topics and kawal.share.answers.topic"),
)

ACCESS: Final[dict[int, tuple[Check, ...]]] = {
    ApiKey.PRODUCE: (
        _whole(WRITE, TRANSACTION, "with transactional records"),
        _item(WRITE, TOPIC),
    ),
    ApiKey.FETCH: (
        _item(READ, TOPIC),
        Check(CLUSTER, Operation.CLUSTER_ACTION, Scope.ITEM, _ERRORS[TOPIC], "with the id of a replica"),
    ),
    ApiKey.LIST_OFFSETS: (_item(DESCRIBE, TOPIC),),
    ApiKey.METADATA: (
        _item(DESCRIBE, TOPIC),
        _filter(DESCRIBE, TOPIC, "all topics"),
        _item(CREATE, TOPIC, "to create it, or CREATE cluster"),
    ),
    ApiKey.FIND_COORDINATOR: (
        _item(DESCRIBE, GROUP, "of a group"),
        _item(DESCRIBE, TRANSACTION, "of a transaction"),
        _item(Operation.CLUSTER_ACTION, CLUSTER, "of a share group's state"),
    ),
    ApiKey.API_VERSIONS: (),
    ApiKey.SASL_HANDSHAKE: (),
    ApiKey.SASL_AUTHENTICATE: (),
    ApiKey.CREATE_TOPICS: (
        _item(CREATE, TOPIC, "or CREATE cluster"),
        _item(READ, TOPIC, "a view: its source; a view of a database: `*` and every topic in it"),
        _filter(DESCRIBE_CONFIGS, TOPIC, "configurations in the answer"),
    ),
    ApiKey.DELETE_TOPICS: (_item(DELETE, TOPIC),),
    ApiKey.INIT_PRODUCER_ID: (
        _whole(WRITE, TRANSACTION, "with a transactional id"),
        _whole(Operation.IDEMPOTENT_WRITE, CLUSTER, "without one; or WRITE on any topic"),
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (_item(DESCRIBE, TOPIC, "or CLUSTER_ACTION cluster"),),
    ApiKey.ADD_PARTITIONS_TO_TXN: (_whole(WRITE, TRANSACTION), _item(WRITE, TOPIC)),
    ApiKey.ADD_OFFSETS_TO_TXN: (_whole(WRITE, TRANSACTION), _whole(READ, GROUP)),
    ApiKey.END_TXN: (_whole(WRITE, TRANSACTION),),
    ApiKey.WRITE_TXN_MARKERS: (_whole(ALTER, CLUSTER, "or CLUSTER_ACTION cluster"),),
    ApiKey.TXN_OFFSET_COMMIT: (
        _whole(WRITE, TRANSACTION),
        _whole(READ, GROUP),
        _item(READ, TOPIC),
    ),
    ApiKey.DESCRIBE_TRANSACTIONS: (_item(DESCRIBE, TRANSACTION), _filter(DESCRIBE, TOPIC)),
    ApiKey.LIST_TRANSACTIONS: (_filter(DESCRIBE, TRANSACTION),),
    ApiKey.DESCRIBE_CONFIGS: _CONFIGS_READ,
    ApiKey.ALTER_CONFIGS: _CONFIGS_WRITTEN,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _CONFIGS_WRITTEN,
    ApiKey.CREATE_PARTITIONS: (_item(ALTER, TOPIC),),
    ApiKey.DESCRIBE_CLUSTER: (_filter(DESCRIBE, CLUSTER, "authorized operations"),),
    ApiKey.OFFSET_COMMIT: (_whole(READ, GROUP), _item(READ, TOPIC)),
    ApiKey.OFFSET_FETCH: (
        _item(DESCRIBE, GROUP),
        _item(DESCRIBE, TOPIC),
        _filter(DESCRIBE, TOPIC, "all topics"),
    ),
    ApiKey.JOIN_GROUP: (_whole(READ, GROUP),),
    ApiKey.HEARTBEAT: (_whole(READ, GROUP),),
    ApiKey.LEAVE_GROUP: (_whole(READ, GROUP),),
    ApiKey.SYNC_GROUP: (_whole(READ, GROUP),),
    ApiKey.DESCRIBE_GROUPS: (_item(DESCRIBE, GROUP),),
    ApiKey.LIST_GROUPS: (_filter(DESCRIBE, GROUP, "or DESCRIBE cluster"),),
    ApiKey.DELETE_GROUPS: (_item(DELETE, GROUP),),
    ApiKey.OFFSET_DELETE: (_whole(DELETE, GROUP), _item(READ, TOPIC)),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (
        _whole(READ, GROUP),
        _whole(DESCRIBE, TOPIC, "each name that is subscribed to"),
        _filter(DESCRIBE, TOPIC, "names that match a regular expression"),
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (
        _item(DESCRIBE, GROUP),
        _item(DESCRIBE, TOPIC, "every topic of its members"),
    ),
    ApiKey.DELETE_RECORDS: (_item(DELETE, TOPIC),),
    ApiKey.DESCRIBE_ACLS: (_whole(DESCRIBE, CLUSTER),),
    ApiKey.CREATE_ACLS: (_whole(ALTER, CLUSTER),),
    ApiKey.DELETE_ACLS: (_whole(ALTER, CLUSTER),),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (_whole(ALTER, CLUSTER),),
    ApiKey.DESCRIBE_LOG_DIRS: (_whole(DESCRIBE, CLUSTER),),
    ApiKey.ELECT_LEADERS: (_whole(ALTER, CLUSTER),),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (_whole(ALTER, CLUSTER),),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (_whole(DESCRIBE, CLUSTER),),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (_whole(DESCRIBE_CONFIGS, CLUSTER),),
    ApiKey.ALTER_CLIENT_QUOTAS: (_whole(ALTER_CONFIGS, CLUSTER),),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (_whole(DESCRIBE, CLUSTER),),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (_whole(ALTER, CLUSTER),),
    ApiKey.CREATE_DELEGATION_TOKEN: (_whole(Operation.CREATE_TOKENS, USER, "for another owner"),),
    ApiKey.RENEW_DELEGATION_TOKEN: (),
    ApiKey.EXPIRE_DELEGATION_TOKEN: (),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: (
        _filter(DESCRIBE, TOKEN, "of others; or DESCRIBE_TOKENS on their owner"),
    ),
    ApiKey.DESCRIBE_QUORUM: (_whole(DESCRIBE, CLUSTER),),
    ApiKey.UPDATE_FEATURES: (_whole(ALTER, CLUSTER),),
    ApiKey.DESCRIBE_PRODUCERS: (_item(READ, TOPIC),),
    ApiKey.LIST_CONFIG_RESOURCES: (_whole(DESCRIBE_CONFIGS, CLUSTER),),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (
        _item(DESCRIBE, TOPIC),
        _filter(DESCRIBE, TOPIC, "all topics"),
    ),
    ApiKey.SHARE_GROUP_HEARTBEAT: (
        _whole(READ, GROUP),
        _whole(DESCRIBE, TOPIC, "each name that is subscribed to"),
    ),
    ApiKey.SHARE_GROUP_DESCRIBE: (
        _item(DESCRIBE, GROUP),
        _item(DESCRIBE, TOPIC, "every topic of its members"),
    ),
    ApiKey.SHARE_FETCH: (
        _whole(READ, GROUP),
        _item(READ, TOPIC, "each partition of the share session"),
    ),
    ApiKey.SHARE_ACKNOWLEDGE: (_whole(READ, GROUP), _item(READ, TOPIC)),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (
        _item(DESCRIBE, GROUP),
        _item(DESCRIBE, TOPIC),
        _filter(DESCRIBE, TOPIC, "all topics"),
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: (_whole(READ, GROUP), _item(READ, TOPIC)),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: (_whole(DELETE, GROUP), _item(READ, TOPIC)),
    ApiKey.KAWAL_DATABASES: (
        _whole(DESCRIBE, CLUSTER, "to list"),
        _whole(CREATE, CLUSTER, "to create"),
        _whole(ALTER, CLUSTER, "to alter, drop or split"),
    ),
    ApiKey.KAWAL_GROUPS: (_whole(DESCRIBE, CLUSTER),),
    ApiKey.KAWAL_CONNECTIONS: (_whole(DESCRIBE, CLUSTER),),
    ApiKey.KAWAL_TOPICS: (
        _whole(DESCRIBE, CLUSTER, "to list"),
        _item(DELETE, TOPIC, "to drop"),
        _item(ALTER, TOPIC, "to reload a view; and READ on its source"),
        _item(ALTER, TOPIC, "to split a partition"),
    ),
    ApiKey.KAWAL_PRODUCERS: (_whole(READ, TOPIC),),
    ApiKey.KAWAL_MESSAGES: (_whole(READ, TOPIC),),
    ApiKey.KAWAL_QUEUES: (
        _item(DESCRIBE, GROUP),
        _filter(DESCRIBE, GROUP, "all groups"),
        _filter(DESCRIBE, TOPIC),
    ),
    ApiKey.KAWAL_QUEUE_CHANGES: (_whole(READ, GROUP), _item(READ, TOPIC)),
    # For the other nodes of the cluster, whatever the rules say; no rule lets a client use them.
    ApiKey.KAWAL_FOLLOW: (),
    ApiKey.ENVELOPE: (),
    ApiKey.ALLOCATE_PRODUCER_IDS: (),
    ApiKey.KAWAL_SHARE_RECORDS: (),
    ApiKey.KAWAL_SHARE_STATES: (),
    ApiKey.KAWAL_GREET: (),
    ApiKey.KAWAL_AUDIT: (),
    ApiKey.KAWAL_STORAGE: (),
    ApiKey.KAWAL_LEDGERS: (),
    ApiKey.KAWAL_POLLS: (),
    ApiKey.KAWAL_PROGRESS: (),
    ApiKey.KAWAL_READS: (),
}
"""The checks of every API that is served, by its key."""
