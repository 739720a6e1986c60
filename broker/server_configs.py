"""The listing of this node's own configuration for DescribeConfigs."""

from __future__ import annotations

from broker.config import Config
from broker.config_keys import ConfigSource, text_of
from broker.server_keys import KEYS
from broker.topic_configs import Described, Synonym


def described_server(config: Config) -> list[Described]:
    """Every server key with its value, its source and where it would fall back to."""
    entries = []
    for key in KEYS.values():
        value = text_of(config.value(key.name))
        chain = []
        if key.name in config.set_by_operator:
            chain.append(Synonym(key.name, value, ConfigSource.STATIC_BROKER_CONFIG))
        if key.default is not None:
            chain.append(Synonym(key.name, text_of(key.default), ConfigSource.DEFAULT_CONFIG))
        source = chain[0].source if chain else ConfigSource.DEFAULT_CONFIG
        entries.append(Described(key, value, source, tuple(chain)))
    return entries
