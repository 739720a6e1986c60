"""The requests that create, alter and delete topics, for statements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from console.client import refusal
from console.errors import CommandError
from console.sql.session import Session
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TOPIC: Final = 2
SET: Final = 0
TOPIC_EXISTS: Final = 36
WAIT_MS: Final = 30_000


def create_topic(session: Session, topic: str, configs: dict[str, str], *, partitions: int = -1) -> Any:
    """Create a topic; return the server's answer about it."""
    lines = [CreatableTopicConfig(name=key, value=value) for key, value in configs.items()]
    asked = CreatableTopic(
        name=topic, num_partitions=partitions, replication_factor=-1, assignments=[], configs=lines
    )
    request = CreateTopicsRequest(topics=[asked], timeout_ms=WAIT_MS, validate_only=False)
    return session.ask(request, 5).topics[0]


def alter_topic(session: Session, topic: str, settings: Iterable[tuple[str, str]]) -> None:
    """Set configurations of a topic, all or none.  Raises: CommandError."""
    lines = [AlterableConfig(name=key, config_operation=SET, value=value) for key, value in settings]
    resource = AlterConfigsResource(resource_type=TOPIC, resource_name=topic, configs=lines)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    checked(session.ask(request, 1).responses[0], topic)


def delete_topic(session: Session, topic: str) -> Any:
    """Delete a topic; return the server's answer about it."""
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=WAIT_MS)
    return session.ask(request, 6).responses[0]


def checked(answer: Any, topic: str) -> None:
    """Raise CommandError if the server has refused it."""
    if answer.error_code:
        raise CommandError(f"{topic!r}: {refusal(answer.error_code, answer.error_message)}")
