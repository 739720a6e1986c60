"""The bits of `…_authorized_operations`: what a client may do, each operation by the number of its ACL code.

Without an authorizer every client may do all that exists for a kind of resource, and Kafka answers so.
Source: KIP-430; AclOperation and AclEntry.supportedOperations of Kafka 4.3; the sums were seen with 4.3.1.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Operation(IntEnum):
    """The operations of Kafka's ACLs by their code on the wire."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


def bits(*operations: Operation) -> int:
    """Return the bit field of these operations."""
    return sum(1 << operation for operation in operations)


TOPIC_OPERATIONS: Final = bits(
    Operation.READ,
    Operation.WRITE,
    Operation.CREATE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
)
"""3576: all that can be done with a topic."""

CLUSTER_OPERATIONS: Final = bits(
    Operation.CREATE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.CLUSTER_ACTION,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
    Operation.IDEMPOTENT_WRITE,
)
"""8096: all that can be done with the cluster."""

GROUP_OPERATIONS: Final = bits(
    Operation.READ,
    Operation.DELETE,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
)
"""3400: all that can be done with a group."""
