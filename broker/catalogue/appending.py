"""The rules for appending to a topic that are the same at every node, also at those that do not lead it.

Source: Kafka's ReplicaManager.appendRecords (acks) and appendRecordsToLeader (internal topics).
"""

from __future__ import annotations

from typing import Final

from broker.catalogue.topic import SERVER_TOPICS, Topic
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

ADMIN_CLIENT_ID: Final = "__admin_client"
"""The only client that Kafka lets write to internal topics."""


def check_may_append(topic: Topic, acks: int, client_id: str | None) -> None:
    """Check what a Produce request asks for.  Raises: RequestError, 21 for wrong acks, 17 for the topic."""
    if acks not in (-1, 0, 1):
        raise RequestError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {acks}: give -1 (all), 0 or 1")
    if topic.internal and (client_id != ADMIN_CLIENT_ID or topic.name in SERVER_TOPICS):
        raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {topic.name}")
