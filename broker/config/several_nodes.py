"""The features that need what only one process has: a cluster of several nodes refuses them, with a sentence.

They read or count the records of partitions that may be another node's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from broker.config.config import Config
from broker.config.config_keys import ConfigError
from broker.config.kawal_topic_keys import QUEUE_LENGTH_KEY, ROUTING_KEY
from broker.config.queue_keys import MEMBER_RECORDS
from broker.config.split_keys import DISABLED, MODE_KEY
from broker.errors import RequestError
from protocol.error_codes import ErrorCode
from wal.errors import StoreError


class Refusal(NamedTuple):
    """A setting that several nodes do not have, and the value that all of them have."""

    allowed: str
    why: str


_RECORDS: Final = "a node does not know the records that a member has at other nodes"

WORKERS: Final = {
    "kawal.remote.heartbeat.ms": "a standby follows one process, and takes its place; several nodes with "
    "data directories of their own (kawal.cluster.nodes) have a standby each",
}
"""Settings of the server that workers of one directory do not have; it does not start with them."""

TOPICS: Final[dict[str, Refusal]] = {
    MODE_KEY.name: Refusal(DISABLED, "the partitions that a split makes may be another node's"),
    ROUTING_KEY.name: Refusal("any", "a node does not know what producers have written to others"),
    QUEUE_LENGTH_KEY.name: Refusal("-1", "the records of partitions that another node leads are not counted"),
}
"""Configurations of topics."""

GROUPS: Final[dict[str, Refusal]] = {
    MEMBER_RECORDS: Refusal("0", _RECORDS),
}
"""Configurations of groups."""

SPLITS: Final = f"a cluster of several nodes splits no partition: {TOPICS[MODE_KEY.name].why}"


def check(settings: Mapping[str, str], refusals: Mapping[str, Refusal]) -> None:
    """Check that settings, of a topic or of a group, have none that several nodes do not have.

    Raises: RequestError(INVALID_CONFIG).
    """
    for name, text in settings.items():
        refused = refusals.get(name)
        if refused is not None and text != refused.allowed:
            why = f"a cluster of several nodes does not have it: {refused.why}"
            raise RequestError(ErrorCode.INVALID_CONFIG, str(ConfigError(name, text, why)))


def check_server(config: Config, count: int, *, own_directory: bool) -> None:
    """Check that this many nodes can have these settings of the server.

    `own_directory`: each has one, on machines of their own; else they are workers of one.
    Raises: StoreError.
    """
    if count == 1 or own_directory:
        return
    for name, why in WORKERS.items():
        value = config.value(name)
        if value not in (None, False, ""):
            raise StoreError(f"{name} cannot be set with several workers: {why}")


def check_known(
    count: int, topics: Mapping[str, Mapping[str, str]], groups: Mapping[str, Mapping[str, str]]
) -> None:
    """Check that this many nodes can have the topics and groups of these names, with their settings.

    They may have been made by one node.  Raises: StoreError.
    """
    if count == 1:
        return
    for kind, named, refusals in (("topic", topics, TOPICS), ("group", groups, GROUPS)):
        for name, settings in named.items():
            try:
                check(settings, refusals)
            except RequestError as error:
                text = f"{kind} {name!r} cannot be served by several nodes: {error.message}"
                raise StoreError(text) from error
