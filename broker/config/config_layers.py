"""The server's configuration in its layers: who set each value, and which one is in effect.

    node       what clients set for this node            (BROKER resource with its id)
    cluster    what clients set for every node           (BROKER resource with the empty name)
    static     what the operator set: file, environment, flags
    default    built in

The topmost layer that has a key wins.  Source: KIP-226; synonyms are ordered as Kafka 4.3.1 shows them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile

from broker.config.config import Config, config_of, key_of
from broker.config.config_keys import ConfigError, ConfigSource, Key, Value, nearest, text_of
from broker.config.described_configs import Synonym
from broker.config.listener_keys import is_listener_key, listener_key
from broker.config.listener_specs import parse_address
from broker.config.server_keys import KEYS

logger = logging.getLogger("kawal.broker")


@dataclass(frozen=True, slots=True)
class ConfigLayers:
    """The layers and the configuration they make up, built by `layered`.  Texts are as Kafka writes them."""

    current: Config
    """The values in effect for this server's own keys."""
    static: Config
    cluster: Mapping[str, str] = field(repr=False)
    node: Mapping[str, str] = field(repr=False)
    memory: dict[str, object] = field(default_factory=dict, repr=False, compare=False)
    """What others have made of these layers, for as long as these are in effect; by group."""
    _chains: dict[tuple[str, ...], tuple[Synonym, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def value(self, name: str) -> Value:
        """Return the value in effect for a key of this server, or for one that only Kafka has."""
        if name in KEYS or is_listener_key(name):
            return self.current.value(name)
        key = server_key(name)
        assert key is not None, name
        for texts in (self.node, self.cluster):
            if name in texts:
                return key.parse(texts[name])
        return key.default

    def synonyms(self, name: str, *others: str) -> tuple[Synonym, ...]:
        """Return every value of `name` and of the keys it falls back to, the one in effect first.

        Empty when `name` has no value of its own in any layer, as in Kafka.
        """
        names = (name, *others)
        found = self._chains.get(names)
        if found is None:
            chain = dropwhile(lambda synonym: synonym.name != name, self._all_values(names))
            found = self._chains[names] = tuple(chain)
        return found

    def _all_values(self, names: tuple[str, ...]) -> list[Synonym]:
        chain = [
            *_dynamic(names, self.node, ConfigSource.DYNAMIC_BROKER_CONFIG),
            *_dynamic(names, self.cluster, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ]
        for name in names:
            if name in self.static.set_by_operator:
                text = shown(key_of(name), self.static.value(name))
                chain.append(Synonym(name, text, ConfigSource.STATIC_BROKER_CONFIG))
        for name in names:
            key = server_key(name)
            text = None if key is None else shown(key, key.default)
            if text is not None:
                chain.append(Synonym(name, text, ConfigSource.DEFAULT_CONFIG))
        return chain


def layered(
    static: Config, *, cluster: Mapping[str, str] | None = None, node: Mapping[str, str] | None = None
) -> ConfigLayers:
    """Return the layers over a server's own configuration.

    A setting that this release no longer knows or allows is logged and has no effect: a server must start,
    whatever its clients have set.
    """
    cluster, node = dict(cluster or {}), dict(node or {})
    values: dict[str, Value] = {}
    for texts in (cluster, node):
        for name in tuple(texts):
            try:
                key = dynamic_key(name)
                typed = key.parse(texts[name])
            except ConfigError as error:
                logger.warning("a setting made by a client is ignored: %s", error)
                del texts[name]
                continue
            if name in KEYS or is_listener_key(name):
                values[name] = typed
    current = _together(values, static, (cluster, node))
    return ConfigLayers(replace(current, set_by_operator=static.set_by_operator), static, cluster, node)


def _together(values: dict[str, Value], static: Config, texts: tuple[dict[str, str], ...]) -> Config:
    """Return the configuration with the clients' settings, except those that contradict the operator's."""
    while values:
        try:
            return config_of(values, base=static)
        except ConfigError as error:
            logger.warning("settings made by clients are ignored: %s", error)
            # The error may name a key of the operator; any of the clients' may be the other part, so all go.
            dropped = [error.name] if error.name in values else list(values)
            for name in dropped:
                del values[name]
                for layer in texts:
                    layer.pop(name, None)
    return static


def checked_together(layers: ConfigLayers, settings: Mapping[str, str]) -> None:
    """Check that (checked) settings of clients agree with each other and the rest.  Raises: ConfigError."""
    ours = {name: text for name, text in settings.items() if name in KEYS or is_listener_key(name)}
    config_of(ours, base=layers.static)


def with_node(layers: ConfigLayers, node: Mapping[str, str]) -> Config:
    """Return what would be in effect if these were the (checked) settings of this node."""
    return layered(layers.static, cluster=layers.cluster, node=node).current


def server_key(name: str) -> Key | None:
    """Return the server key of that name, ours or one that only Kafka has."""
    found = KEYS.get(name)
    if found is None and is_listener_key(name):
        try:
            return listener_key(name)
        except ConfigError:
            return None
    if found is None:
        from broker.config.kafka_keys import KAFKA_KEYS  # a long table, not needed to start

        found = KAFKA_KEYS.get(name)
    return found


def dynamic_key(name: str) -> Key:
    """Return a server key that may be changed while the server runs.

    Raises: ConfigError, for a key that cannot be changed and for one that does not exist.
    """
    from broker.config.kafka_keys import KAFKA_KEYS

    key = server_key(name)
    if key is None:
        known = nearest(name, [*KEYS, *KAFKA_KEYS])
        raise ConfigError(
            name,
            None,
            "is not a broker configuration",
            nearest=known,
            kafka=f"Unknown broker config name: {name}",
        )
    if not key.dynamic:
        reason = "cannot be changed while the server runs"
        raise ConfigError(name, None, reason, kafka=f"Cannot update these configs dynamically: [{name}]")
    if not is_changeable(key):
        raise ConfigError(name, None, "protects a Kafka broker but nothing here, so it cannot be set")
    return key


def is_changeable(key: Key) -> bool:
    """Whether clients may change a server key; not one that protects a Kafka broker but nothing here."""
    from broker.config.kafka_keys import PROTECTIVE, TIMES_OF_OWN_LOGINS

    ours = key.name in KEYS or is_listener_key(key.name)
    harmless = not key.name.startswith(PROTECTIVE) or key.name.startswith(TIMES_OF_OWN_LOGINS)
    return key.dynamic and (ours or harmless)


def shown(key: Key, value: Value) -> str | None:
    """Return a value as Kafka's tools expect it: addresses with their security protocol."""
    if key.name in ("listeners", "advertised.listeners"):
        assert isinstance(value, tuple)
        return ",".join(parse_address(text).text for text in value) or None
    if key.sensitive:
        return None
    return text_of(value)


def _dynamic(names: Sequence[str], texts: Mapping[str, str], source: ConfigSource) -> list[Synonym]:
    return [Synonym(name, texts[name], source) for name in names if name in texts]
