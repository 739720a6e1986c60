"""Kafka's rules for topic names.  Source: org.apache.kafka.common.internals.Topic, Kafka 4.3."""

from __future__ import annotations

import re
from typing import Final

NAME_LENGTH_MAX: Final = 249
"""Kafka makes file names of topic names, with a suffix; file systems allow 255 bytes."""

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+\Z")


def name_problem(name: str) -> str | None:
    """Return why the name cannot be a topic's, in Kafka's words; None when it can."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > NAME_LENGTH_MAX:
        return (
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed length"
            f" {NAME_LENGTH_MAX}"
        )
    if not _LEGAL.match(name):
        return (
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII"
            " alphanumerics, '.', '_' and '-'"
        )
    return None


def collision_key(name: str) -> str:
    """Return the key that colliding names share: Kafka's metrics do not tell '.' from '_'."""
    return name.replace(".", "_")
