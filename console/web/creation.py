"""Topics that are made by their configurations, and changes of these: tried first, then made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from console.admin import ask, check
from console.config_admin import alter, changes_of, find_resource
from console.errors import CommandError
from console.link import LinkLost
from console.web.command_text import command, config_options
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

VERSION: Final = 5
WAIT_MS: Final = 15_000


def create_topic(bootstrap: str, name: str, configs: Mapping[str, str], *, dry_run: bool) -> None:
    """Create a topic with as many partitions as is usual, or only try.

    Raises: CommandError with the broker's reason.
    """
    asked = CreatableTopic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
    request = CreateTopicsRequest(topics=[asked], timeout_ms=WAIT_MS, validate_only=dry_run)
    (result,) = ask(bootstrap, request, VERSION).topics
    check(result.error_code, result.error_message, f"topic {name!r}")


def set_config(bootstrap: str, topic: str, key: str, value: str, *, dry_run: bool) -> None:
    """Set a configuration of a topic, or only try.  Raises: CommandError with the broker's reason."""
    changes = changes_of(sets=[f"{key}={value}"], deletes=(), appends=(), subtracts=())
    alter(find_resource(bootstrap, "topic", topic), changes, dry_run=dry_run)


def problem_of_creation(bootstrap: str, name: str, configs: Mapping[str, str]) -> str:
    """Return why a topic would be refused, "" if it would be created.  Raises: LinkLost."""
    try:
        create_topic(bootstrap, name, configs, dry_run=True)
    except LinkLost:
        raise
    except CommandError as error:
        return str(error)
    return ""


def problem_of_config(bootstrap: str, topic: str, key: str, value: str) -> str:
    """Return why a configuration would be refused, "" if it would be set.  Raises: LinkLost."""
    try:
        set_config(bootstrap, topic, key, value, dry_run=True)
    except LinkLost:
        raise
    except CommandError as error:
        return str(error)
    return ""


def create_command(bootstrap: str, name: str, configs: Mapping[str, str]) -> str:
    """Return the command that creates such a topic."""
    return command(bootstrap, "topics create", name, options=config_options(configs))
