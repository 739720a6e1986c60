"""The topic configurations of partitions that split by themselves (docs/partitions.md)."""

from __future__ import annotations

from typing import Final

from broker.config.config_keys import ConfigType, Key

DISABLED: Final = "disabled"

MODE_KEY: Final = Key(
    "kawal.partition.autosplit.mode",
    ConfigType.STRING,
    DISABLED,
    "`up`: a partition whose write speed stays near kawal.partition.write.bytes.per.sec is split in two, and"
    " the server chooses the partition of records with keys.  `paused`: no splits for now.  It is never"
    " `disabled` again.",
    choices=(DISABLED, "up", "paused"),
)

PERCENT_KEY: Final = Key(
    "kawal.partition.autosplit.up.percent",
    ConfigType.INT,
    90,
    "The part of kawal.partition.write.bytes.per.sec above which a partition is to be split.",
    minimum=1,
    maximum=100,
    unit="%",
)

WINDOW_KEY: Final = Key(
    "kawal.partition.autosplit.window.ms",
    ConfigType.LONG,
    300_000,
    "How long the write speed of a partition must be that high before it is split.",
    minimum=100,
    unit="ms",
)

ACTIVE_KEY: Final = Key(
    "kawal.partition.autosplit.max.active",
    ConfigType.INT,
    32,
    "The most partitions that a topic has through splits; what it was made with may be more.",
    minimum=1,
    maximum=10_000,
    unit="partitions",
)

GATE_KEY: Final = Key(
    "kawal.split.gate.max.wait.ms",
    ConfigType.LONG,
    -1,
    "How long after a split a group that has not read what came before it is kept from the new partition."
    "  Then it gets it all the same, and the order of keys is lost for it.  -1: until it has read that.",
    minimum=-1,
    unit="ms",
)

BARRIER_KEY: Final = Key(
    "kawal.split.barrier",
    ConfigType.BOOLEAN,
    True,
    "Whether a topic of several partitions that has records when kawal.partition.autosplit.mode is set gets"
    " as many more, which take its keys, and which groups get when they have read all there was before."
    "  `false`: its clients have placed all records by murmur2, as Java's do, and its number of partitions.",
)

STREAMS_KEY: Final = Key(
    "kawal.allow.streams",
    ConfigType.BOOLEAN,
    False,
    "Says that readers of the topic, as Kafka Streams, count on its number of partitions: it cannot have"
    " partitions that split.",
)

SPLIT_KEYS: Final = (MODE_KEY, PERCENT_KEY, WINDOW_KEY, ACTIVE_KEY, GATE_KEY, BARRIER_KEY, STREAMS_KEY)
