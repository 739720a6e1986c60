"""The topic configurations that give messages ids (docs/messages.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from broker.config.config_keys import ConfigType, Key

MESSAGE_IDS_KEY: Final = Key(
    "kawal.message.ids",
    ConfigType.BOOLEAN,
    False,
    "Counts the topic's batches, so that each record has an id `ledger:entry:partition:batch-index`; fixed"
    " when the topic is created.",
)

NONPARTITIONED_KEY: Final = Key(
    "kawal.nonpartitioned",
    ConfigType.BOOLEAN,
    False,
    "Makes the partition of the topic's message ids -1, and keeps the topic at one partition; fixed when the"
    " topic is created.",
)

LEDGER_ENTRIES_KEY: Final = Key(
    "kawal.ledger.max.entries",
    ConfigType.LONG,
    50_000,
    "Batches in a ledger of a topic with kawal.message.ids, which also ends by segment.bytes and segment.ms.",
    minimum=1,
    unit="batches",
)

ID_HEADER_KEY: Final = Key(
    "kawal.message.id.header",
    ConfigType.BOOLEAN,
    False,
    "Gives each record that is fetched its id in a header `kawal-message-id`; needs kawal.message.ids=true."
    "  Batches are written anew for each fetch (docs/messages.md).",
)

IDENTITY_NAMES: Final = (MESSAGE_IDS_KEY.name, NONPARTITIONED_KEY.name)
"""Keys that decide which ids messages have."""

MESSAGE_KEYS: Final = (MESSAGE_IDS_KEY, NONPARTITIONED_KEY, LEDGER_ENTRIES_KEY, ID_HEADER_KEY)


def is_nonpartitioned(configs: Mapping[str, str]) -> bool:
    """Whether the topic with these configs has ids without a partition, and one partition for ever."""
    return configs.get(NONPARTITIONED_KEY.name) == "true"


def counts_batches(configs: Mapping[str, str]) -> bool:
    """Whether the batches of the topic with these configs are counted."""
    return configs.get(MESSAGE_IDS_KEY.name) == "true"
