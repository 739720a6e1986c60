"""The listing of a broker's configurations for DescribeConfigs: ours, and those that only Kafka has."""

from __future__ import annotations

from collections.abc import Iterator

from broker.config.config import key_of
from broker.config.config_keys import ConfigSource, Key
from broker.config.config_layers import ConfigLayers, server_key, shown
from broker.config.described_configs import Described, Synonym
from broker.config.kafka_keys import KAFKA_KEYS
from broker.config.server_keys import KEYS


def described(layers: ConfigLayers, *, is_controller: bool = True) -> list[Described]:
    """Return every broker configuration by name; those that only Kafka has are shown with its defaults.

    `is_controller`: this node changes the catalogue of the cluster.
    """
    config = layers.static
    fixed = {
        "broker.id": str(config.node_id),
        "log.dir": config.log_dirs,
        "process.roles": "broker,controller" if is_controller else "broker",
    }
    own = map(key_of, layers.current.listener_overrides)
    return [
        _fixed(key, fixed[key.name]) if key.name in fixed else _described(key, layers)
        for key in sorted([*KEYS.values(), *KAFKA_KEYS.values(), *own], key=lambda key: key.name)
    ]


def described_defaults(layers: ConfigLayers) -> Iterator[Described]:
    """Yield what clients have set for every node of the cluster."""
    for name, text in sorted(layers.cluster.items()):
        key = server_key(name)
        assert key is not None, name
        source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        yield Described(key, text, source, (Synonym(name, text, source),))


def _described(key: Key, layers: ConfigLayers) -> Described:
    value = shown(key, layers.value(key.name))
    chain = layers.synonyms(key.name, *key.synonyms)
    return Described(key, value, chain[0].source if chain else ConfigSource.DEFAULT_CONFIG, chain)


def _fixed(key: Key, here: str) -> Described:
    source = ConfigSource.STATIC_BROKER_CONFIG
    return Described(key, here, source, (Synonym(key.name, here, source),))
