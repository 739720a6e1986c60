"""Alterations of a resource's settings by clients, with Kafka's order of checks and its words.

The functions compute and change nothing; catalogue/config_resources.py has the resources.
Source: ConfigAdminManager and ConfigurationControlManager of Kafka 4.3, checked on the wire with 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

from broker.config.config_keys import Key
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

LINES_AT_ONCE: Final = 500
"""The settings of one resource that are looked at without a pause; a thread looks at more of them."""


class Operation(IntEnum):
    """The operations of IncrementalAlterConfigs on a value (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Alteration(NamedTuple):
    """One line of IncrementalAlterConfigs; `operation` is as it came, perhaps an unknown number."""

    name: str
    operation: int
    value: str | None


class Settings(Protocol):
    """The settings of one resource, as far as an alteration must know them."""

    @property
    def own(self) -> Mapping[str, str]:
        """The values set for the resource itself."""

    def key(self, name: str) -> Key | None:
        """Return the key of that name, None when there is none."""

    def inherited(self, name: str) -> str:
        """Return the value in effect for a list that is not set, as text."""

    def not_a_list(self, operation: str, name: str) -> str:
        """Return the message for APPEND or SUBTRACT on a key that is not a list."""


def check_lines(lines: Sequence[tuple[str, str | None]]) -> None:
    """Refuse duplicate keys and null values; `lines` are names with the values to set.

    Raises: RequestError(INVALID_REQUEST).
    """
    if len({name for name, _ in lines}) != len(lines):
        raise RequestError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [name for name, value in lines if value is None]
    if nulls:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")


def check_alterations(alterations: Iterable[Alteration]) -> None:
    """Refuse alterations that no resource allows.  Raises: RequestError(INVALID_REQUEST)."""
    check_lines(
        [(line.name, "" if line.operation == Operation.DELETE else line.value) for line in alterations]
    )
    for line in alterations:
        if line.operation not in Operation.__members__.values():
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Unknown operations type {line.operation}")


def decisive(
    key: Callable[[str], Key | None], own: Collection[str], alterations: Iterable[Alteration]
) -> list[Alteration]:
    """Return the alterations, checked already, that decide what comes of all of them.

    `key` is that of the resource, `own` the names of its settings.  The resource knows some hundred keys;
    of all others, which may be 50,000, the first that is set is refused, and before that the first list.
    """
    refused: set[bool] = set()
    found = []
    for line in alterations:
        if line.name in own or key(line.name) is not None:
            found.append(line)
        elif line.operation != Operation.DELETE:
            of_list = line.operation != Operation.SET
            if of_list not in refused:
                refused.add(of_list)
                found.append(line)
    return found


def altered(settings: Settings, alterations: Iterable[Alteration]) -> dict[str, str]:
    """Return the settings after (checked) alterations; deleting what is not set changes nothing.

    Raises: RequestError(INVALID_CONFIG) for APPEND and SUBTRACT on anything but a list.
    """
    result = dict(settings.own)
    for name, operation, value in alterations:
        if operation == Operation.DELETE:
            result.pop(name, None)
        elif operation == Operation.SET:
            result[name] = value or ""
        else:
            result[name] = _joined(settings, name, Operation(operation), value or "")
    return result


def _joined(settings: Settings, name: str, operation: Operation, value: str) -> str:
    key = settings.key(name)
    if key is None or not key.is_list:
        raise RequestError(ErrorCode.INVALID_CONFIG, settings.not_a_list(operation.name, name))
    text = settings.own[name] if name in settings.own else settings.inherited(name)
    members = [part.strip() for part in text.split(",") if part.strip()]
    for member in (part.strip() for part in value.split(",")):
        if operation is Operation.SUBTRACT and member in members:
            members.remove(member)
        elif operation is Operation.APPEND and member not in members:
            members.append(member)
    return ",".join(members)
