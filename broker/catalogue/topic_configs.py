"""Topic configurations at work: checking what clients set, computing and listing the values in effect.

A topic stores its overrides as Kafka writes them (text by name).  They pass `checked` once; `effective` gives
the typed values that the broker works with, `described` the listing of DescribeConfigs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker.catalogue.databases import DEFAULT_DATABASE, Database, durability_of
from broker.config.config import Config
from broker.config.config_keys import ConfigError, ConfigSource, Key, Value, nearest, text_of
from broker.config.config_layers import ConfigLayers
from broker.config.described_configs import Described, Synonym
from broker.config.kawal_topic_keys import (
    DATABASE_KEY,
    DEDUP_KEY,
    DURABILITY_SHOWN,
    KAWAL_TOPIC_KEYS,
    ROUTING_KEY,
    SHOWN_ONLY,
)
from broker.config.server_keys import KEYS
from broker.config.topic_keys import INTERNAL_SEGMENT_BYTES, TOPIC_KEYS
from broker.config.topic_settings import TopicSettings


def topic_key(name: str) -> Key:
    """Return the topic configuration called `name`.  Raises: ConfigError with the nearest known name."""
    if name == INTERNAL_SEGMENT_BYTES.name:
        return INTERNAL_SEGMENT_BYTES
    found = TOPIC_KEYS.get(name) or KAWAL_TOPIC_KEYS.get(name)
    if name in SHOWN_ONLY:
        raise ConfigError(name, None, "is only shown for a topic and cannot be set")
    if found is None:
        raise ConfigError(
            name,
            None,
            "is not a topic configuration",
            nearest=nearest(name, [*TOPIC_KEYS, *KAWAL_TOPIC_KEYS]),
            kafka=f"Unknown topic config name: {name}",
        )
    return found


def validate(name: str, raw: str | None) -> Value:
    """Return the typed value of one setting.  Raises: ConfigError.

    Null is refused for every name, known or not.  Source: Kafka 4.3.1 answers INVALID_CONFIG to it.
    """
    if raw is None:
        raise ConfigError(
            name, "null", "a value is needed", kafka=f"Null value not supported for topic configs: {name}"
        )
    return topic_key(name).parse(raw)


def checked(overrides: Mapping[str, str | None], config: Config) -> dict[str, str]:
    """Return the overrides in Kafka's spelling, checked one by one and together.

    The topic's database is not among them: it is part of the topic's record.  Raises: ConfigError.
    """
    # Unknown names first: Kafka reports them before any bad value.
    for name in overrides:
        if overrides[name] is not None:
            topic_key(name)
    kept = {name: text_of(validate(name, raw)) or "" for name, raw in overrides.items()}
    kept.pop(DATABASE_KEY.name, None)
    settings = effective(kept, config)
    if settings.min_compaction_lag_ms > settings.max_compaction_lag_ms:
        raise ConfigError(
            "min.compaction.lag.ms",
            settings.min_compaction_lag_ms,
            f"is above max.compaction.lag.ms ({settings.max_compaction_lag_ms})",
            kafka="conflict topic config setting min.compaction.lag.ms"
            f" ({settings.min_compaction_lag_ms}) > max.compaction.lag.ms ({settings.max_compaction_lag_ms})",
        )
    if settings.binds and not settings.dedups:
        raise ConfigError(
            ROUTING_KEY.name,
            settings.kawal_routing,
            f"needs {DEDUP_KEY.name}=seqno, whose records name their producer",
        )
    return kept


def effective(
    overrides: Mapping[str, str], config: Config, defaults: Mapping[str, str] | None = None
) -> TopicSettings:
    """Return the values in effect for a topic with these (checked) overrides on a server with this config.

    `defaults` are the settings of the topic's database; they come between the two.
    """
    overrides = {**(defaults or {}), **overrides}
    values: dict[str, Any] = {}
    for field in TopicSettings.__slots__:
        name = field.replace("_", ".")
        key = TOPIC_KEYS.get(name) or KAWAL_TOPIC_KEYS[name]
        override = overrides.get(key.name)
        values[field] = server_default(key, config) if override is None else key.parse(override)
    internal = overrides.get(INTERNAL_SEGMENT_BYTES.name)
    if internal is not None:
        values["segment_bytes"] = max(1, int(internal))
    return TopicSettings(**values)


def server_default(key: Key, config: Config) -> Value:
    """Return the value a topic takes when it has no override of `key`."""
    if key.name == "retention.ms":
        return config.retention_ms
    if key.name == "segment.ms":
        return config.roll_ms
    for name in key.synonyms:
        if name in KEYS:
            return config.value(name)
    return key.default


def described(
    overrides: Mapping[str, str], layers: ConfigLayers, database: Database | None = None
) -> list[Described]:
    """Return every listed topic configuration with its value, source and synonyms, in the table's order.

    With the topic's database, its settings and its name and durability are listed, too.  Keys that Kafka does
    not have are listed where they are set.
    """
    defaults = database.topic_defaults if database is not None else {}
    found = [
        _described(key, overrides.get(key.name), defaults.get(key.name), layers)
        for key in TOPIC_KEYS.values()
    ]
    found += [
        _described(key, overrides[name], None, layers)
        for name, key in KAWAL_TOPIC_KEYS.items()
        if name in overrides
    ]
    return [*found, *_placed(database, layers)] if database is not None else found


def _placed(database: Database, layers: ConfigLayers) -> list[Described]:
    """Return the topic's database and its durability, unless it is the default database."""
    if database.name == DEFAULT_DATABASE:
        return []
    values = {DATABASE_KEY: database.name, DURABILITY_SHOWN: durability_of(database.configs, layers.current)}
    source = ConfigSource.DYNAMIC_TOPIC_CONFIG
    return [
        Described(key, value, source, (Synonym(key.name, value, source),)) for key, value in values.items()
    ]


def _described(key: Key, override: str | None, default: str | None, layers: ConfigLayers) -> Described:
    chain = layers.synonyms(*key.synonyms) if key.synonyms else ()
    if default is not None:
        # The database's setting applies to all of its topics, as a default for all nodes does.
        chain = (Synonym(key.name, default, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG), *chain)
    if override is not None:
        chain = (Synonym(key.name, override, ConfigSource.DYNAMIC_TOPIC_CONFIG), *chain)
    value = chain[0].value if chain else text_of(server_default(key, layers.current))
    return Described(key, value, chain[0].source if chain else ConfigSource.DEFAULT_CONFIG, chain)
