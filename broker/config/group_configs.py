"""Group configurations at work: checking what clients set, computing and listing the values in effect.

Like topics, groups keep their overrides as text by name (broker/catalogue/topic_configs.py).
"""

from __future__ import annotations

from collections.abc import Mapping

from broker.config.config_keys import ConfigError, ConfigSource, Key, Value, nearest, text_of
from broker.config.config_layers import ConfigLayers, server_key
from broker.config.described_configs import Described, Synonym
from broker.config.group_keys import BOUNDS, GROUP_KEYS


def group_key(name: str) -> Key:
    """Return the group configuration called `name`.  Raises: ConfigError with the nearest known name."""
    found = GROUP_KEYS.get(name)
    if found is None:
        raise ConfigError(
            name,
            None,
            "is not a group configuration",
            nearest=nearest(name, GROUP_KEYS),
            kafka=f"Unknown group config name: {name}",
        )
    return found


def checked(overrides: Mapping[str, str], layers: ConfigLayers) -> dict[str, str]:
    """Return the overrides in Kafka's spelling; all are valid, consistent and within the server's bounds.

    Raises: ConfigError.
    """
    # Unknown names first: Kafka reports them before any bad value.
    keys = {name: group_key(name) for name in overrides}
    values = {name: key.parse(overrides[name]) for name, key in keys.items()}
    for name, value in values.items():
        _check_bounds(name, value, layers)
    _check_together(values, layers)
    return {name: text_of(value) or "" for name, value in values.items()}


def value(name: str, overrides: Mapping[str, str], layers: ConfigLayers) -> Value:
    """Return the value in effect for a group with these (checked) overrides."""
    key = GROUP_KEYS[name]
    if name in overrides:
        return key.parse(overrides[name])
    return _server_default(key, layers)


def described(overrides: Mapping[str, str], layers: ConfigLayers) -> list[Described]:
    """Return every group configuration with its value, source and synonyms, in the table's order."""
    return [_described(key, overrides.get(key.name), layers) for key in GROUP_KEYS.values()]


def _server_default(key: Key, layers: ConfigLayers) -> Value:
    for name in key.synonyms:
        if server_key(name) is not None:
            return layers.value(name)
    return key.default


def _described(key: Key, override: str | None, layers: ConfigLayers) -> Described:
    chain: tuple[Synonym, ...] = ()
    for name in key.synonyms:
        chain = layers.synonyms(name) or (Synonym(name, text_of(key.default), ConfigSource.DEFAULT_CONFIG),)
    if override is not None:
        chain = (Synonym(key.name, override, ConfigSource.GROUP_CONFIG), *chain)
    text = override if override is not None else text_of(_server_default(key, layers))
    return Described(key, text, chain[0].source if chain else ConfigSource.DEFAULT_CONFIG, chain)


def _check_bounds(name: str, value: Value, layers: ConfigLayers) -> None:
    least, largest = BOUNDS.get(name, ("", ""))
    if least and _number(value) < _number(layers.value(least)):
        raise _out_of_bounds(name, value, f"{name} must be greater than or equal to {least}")
    if largest and _number(value) > _number(layers.value(largest)):
        raise _out_of_bounds(name, value, f"{name} must be less than or equal to {largest}")


def _check_together(values: Mapping[str, Value], layers: ConfigLayers) -> None:
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if session not in values and heartbeat not in values:
            continue
        timeout = values.get(session, _server_default(GROUP_KEYS[session], layers))
        interval = values.get(heartbeat, _server_default(GROUP_KEYS[heartbeat], layers))
        if _number(timeout) <= _number(interval):
            raise _out_of_bounds(session, timeout, f"{session} must be greater than {heartbeat}")
    if values.get("kawal.retention.important") and values.get("kawal.retention.availability.ms"):
        raise ConfigError(
            "kawal.retention.availability.ms",
            text_of(values["kawal.retention.availability.ms"]),
            "cannot be combined with kawal.retention.important=true, which keeps records without a limit",
        )


def _out_of_bounds(name: str, value: Value, sentence: str) -> ConfigError:
    return ConfigError(name, text_of(value), sentence.removeprefix(f"{name} "), kafka=sentence)


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
