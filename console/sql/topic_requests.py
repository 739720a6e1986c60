"""The requests that create and delete topics, for statements."""

from __future__ import annotations

from typing import Any, Final

from console.client import refusal
from console.errors import CommandError
from console.sql.session import Session
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

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


def delete_topic(session: Session, topic: str) -> Any:
    """Delete a topic; return the server's answer about it."""
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=WAIT_MS)
    return session.ask(request, 6).responses[0]


def checked(answer: Any, topic: str) -> None:
    """Raise CommandError if the server has refused it."""
    if answer.error_code:
        raise CommandError(f"{topic!r}: {refusal(answer.error_code, answer.error_message)}")
