"""The listing of a broker's configurations for DescribeConfigs: ours, and Kafka's with its defaults."""

from __future__ import annotations

from broker.config import Config
from broker.config_keys import ConfigSource, Key, Value, text_of
from broker.described_configs import Described, Synonym
from broker.endpoints import parse_endpoint
from broker.kafka_keys import KAFKA_KEYS
from broker.server_keys import KEYS


def described(config: Config) -> list[Described]:
    """Return every broker configuration by name, those this server does not have with Kafka's defaults."""
    ours = [_described(key, config) for key in KEYS.values()]
    fixed = {
        "broker.id": str(config.node_id),
        "log.dir": config.log_dirs,
        "process.roles": "broker,controller",
    }
    theirs = [_foreign(key, fixed.get(key.name)) for key in KAFKA_KEYS.values()]
    return sorted([*ours, *theirs], key=lambda entry: entry.key.name)


def _described(key: Key, config: Config) -> Described:
    value = _shown(key, config.value(key.name))
    if value is None:
        return Described(key, None, ConfigSource.DEFAULT_CONFIG, ())
    chain: list[Synonym] = []
    for name in (key.name, *key.synonyms):
        if name in config.set_by_operator:
            own = _shown(KEYS[name], config.value(name))
            chain.append(Synonym(name, own, ConfigSource.STATIC_BROKER_CONFIG))
        built_in = _shown(KEYS[name], KEYS[name].default)
        if built_in is not None:
            chain.append(Synonym(name, built_in, ConfigSource.DEFAULT_CONFIG))
    return Described(key, value, chain[0].source, tuple(chain))


def _foreign(key: Key, here: str | None) -> Described:
    if here is not None:
        source = ConfigSource.STATIC_BROKER_CONFIG
        return Described(key, here, source, (Synonym(key.name, here, source),))
    value = text_of(key.default)
    chain = () if value is None else (Synonym(key.name, value, ConfigSource.DEFAULT_CONFIG),)
    return Described(key, value, ConfigSource.DEFAULT_CONFIG, chain)


def _shown(key: Key, value: Value) -> str | None:
    """Return a value as Kafka's tools expect it: addresses with their security protocol."""
    if key.name in ("listeners", "advertised.listeners"):
        assert isinstance(value, tuple)
        return ",".join(f"PLAINTEXT://{parse_endpoint(text).text}" for text in value) or None
    return text_of(value)
