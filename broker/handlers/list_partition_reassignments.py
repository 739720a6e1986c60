"""ListPartitionReassignments: v0.

Behaviour: there is one node, so no reassignment is ever in progress and the list is empty; unknown topics and
partitions are not in it either, as in Kafka.
Differences from Apache Kafka: none known.
Version notes: none.  Source: KIP-455.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import Call
from protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(
    _broker: Broker, _call: Call[ListPartitionReassignmentsRequest]
) -> ListPartitionReassignmentsResponse:
    """List nothing."""
    return ListPartitionReassignmentsResponse(topics=[])
