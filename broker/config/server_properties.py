"""Kafka's `server.properties`, read as Kafka reads it, as settings of this server.

    key of this server                       a setting
    key of Kafka without a purpose here      named, once, in one line: KRaft, replication, threads, …
    key that protects a Kafka broker         the start ends, unless ignoring it changes nothing
    unknown key                              named, as in Kafka; refused if it may be meant for security

The listeners of controllers, for which there is nothing here, are left out with everything about them.
Source: KafkaConfig, SocketServerConfigs, JaasContext and SaslChannelBuilder of Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from broker.config.config import Config, key_of
from broker.config.config_keys import ConfigError, Setting
from broker.config.config_providers import resolved
from broker.config.kafka_keys import INSTEAD, KAFKA_KEYS, PROTECTIVE
from broker.config.kafka_values import ASSIGNORS, HANDLER_KEY, OF_OTHER_BROKERS, refusal
from broker.config.listener_keys import ListenerKey, is_listener_key, parts_of
from broker.config.listener_specs import SecurityProtocol, parse_protocol_map
from broker.config.properties import Property, read_properties
from broker.config.server_keys import KEYS, SECTIONS

SIMILARITY_MIN: Final = 0.85
"""The likeness (difflib's ratio) to a key of security from which an unknown one counts as misspelt."""

GUARDED: Final = (*PROTECTIVE, "authorizer.", "kawal.", "listener.", "super.")
"""Prefixes of names that are about security, or ours: an unknown one is never ignored."""

ADDRESSES: Final = ("listeners", "advertised.listeners")
MAP: Final = "listener.security.protocol.map"


class ServerProperties(NamedTuple):
    """A file, as far as it concerns this server."""

    settings: list[Setting]
    warnings: list[str]


def server_properties(path: str, environment: Mapping[str, str]) -> ServerProperties:
    """Read the file; `environment` is that of config providers.  Raises: ConfigProblem."""
    entries, warnings = _last_of_each(read_properties(path, other_encoding="latin-1"))
    entries, unused = resolved(entries, environment)
    unused += _rename(entries)
    entries, of_controllers = _without_controllers(entries)
    unused += of_controllers
    settings: list[Setting] = []
    for entry in entries.values():
        try:
            setting = _setting(entry)
        except ConfigError as error:
            raise error.at(entry.place) from None
        if setting is None:
            unused.append(entry.key)
        else:
            settings.append(setting)
    settings += _one_way(settings)
    if unused:
        count = f"{len(unused)} key{'s have' if len(unused) > 1 else ' has'}"
        warnings.append(f"{path}: {count} no effect here: {', '.join(sorted(unused))}")
    return ServerProperties(settings, warnings)


def check_mechanisms(config: Config, path: str) -> None:
    """Refuse logins for which the file names no mechanism: Kafka's default is not served.

    Raises: ConfigError.
    """
    name = "sasl.enabled.mechanisms"
    for spec in config.specs:
        own = f"listener.name.{spec.name.lower()}.{name}"
        named = name in config.set_by_operator or own in config.listener_overrides
        if spec.protocol.sasl and not named:
            raise ConfigError(
                name,
                None,
                f"is not set, and the listener {spec.name} needs it: Kafka's default is GSSAPI, which is not"
                " served; set it to SCRAM-SHA-512, for example",
                source=path,
            )


def _last_of_each(properties: list[Property]) -> tuple[dict[str, Property], list[str]]:
    """Return the properties by key, of each the last, as Java does, with a warning about the others."""
    found: dict[str, Property] = {}
    warnings = []
    for entry in properties:
        before = found.pop(entry.key, None)
        if before is not None:
            warnings.append(f"{entry.place}: {entry.key!r} is set again; {before.place} has no effect")
        found[entry.key] = entry
    return found, warnings


def _rename(entries: dict[str, Property]) -> list[str]:
    """Give entries with Kafka's older names the newer ones; return those that have both."""
    overruled = []
    for old, new in INSTEAD.items():
        if old in entries and new in entries:
            overruled.append(old)
        elif old in entries:
            entries[new] = entries[old]._replace(key=new)
        entries.pop(old, None)
    return overruled


def _without_controllers(entries: Mapping[str, Property]) -> tuple[dict[str, Property], list[str]]:
    """Return the properties without the listeners of controllers, and the keys that were left out.

    Raises: ConfigError, if nothing but a controller is left.
    """
    roles = entries.get("process.roles")
    if roles is not None and roles.value.strip() == "controller":
        raise ConfigError(
            roles.key,
            None,
            "is controller alone: a file of a broker is needed, for there is nothing to control",
            source=roles.place,
        )
    names = entries.get("controller.listener.names")
    controllers = {name.strip().upper() for name in names.value.split(",")} if names else set()
    kept: dict[str, Property] = {}
    left_out = []
    for key, entry in entries.items():
        if key in ADDRESSES:
            own = [text for text in entry.value.split(",") if _name_of(text) not in controllers]
            if not own and entry.value.strip():
                raise ConfigError(key, None, "has listeners of controllers only", source=entry.place)
            kept[key] = entry._replace(value=",".join(own))
        elif is_listener_key(key) and key.split(".")[2].upper() in controllers:
            left_out.append(key)
        else:
            kept[key] = entry
    return kept, left_out


def _name_of(address: str) -> str:
    return address.strip().partition("://")[0].upper()


def _setting(entry: Property) -> Setting | None:
    """Return the setting that a property is, None if it has no effect.  Raises: ConfigError."""
    name, value = entry.key, entry.value
    of_listener = is_listener_key(name)
    parts = _parts(name) if of_listener else ListenerKey("", "", name)
    base = parts.base
    if base == "sasl.jaas.config" and not parts.mechanism:
        return None  # Kafka's brokers take login modules for one mechanism of a listener only
    if name in KEYS or (base in KEYS and of_listener):
        key_of(name)
        return _of_this_server(entry)
    if base.startswith(OF_OTHER_BROKERS) or (base in KAFKA_KEYS and base.startswith(PROTECTIVE)):
        why = refusal(base, value.strip(), parts.mechanism)
        if why is not None:
            raise ConfigError(name, None, why)
        return None
    if base in KAFKA_KEYS and not of_listener:
        KAFKA_KEYS[base].parse(value)
        return None
    _refuse_misspelt(name)
    return None


def _parts(name: str) -> ListenerKey:
    """Take the name of a listener's key apart.  Raises: ConfigError."""
    parts = parts_of(name)
    if parts.mechanism or not parts.base.endswith(f".{HANDLER_KEY}"):
        return parts
    raise ConfigError(name, None, "is for a mechanism that is not served")


def _of_this_server(entry: Property) -> Setting | None:
    """Return the setting of a key that is served.  Raises: ConfigError."""
    name, value = entry.key, entry.value
    if name == "default.replication.factor":
        # There is one node: topics without a factor of their own would all be refused.
        return None
    if name == "log.dirs" and "," in value:
        raise ConfigError(name, value, "there is exactly one data directory here; name one")
    if name == "group.consumer.assignors":
        value = ",".join(ASSIGNORS.get(each.strip(), each) for each in value.split(","))
    return Setting(name, value, entry.place)


def _refuse_misspelt(name: str) -> None:
    """Refuse an unknown key that may be meant for security.  Raises: ConfigError."""
    import difflib  # files of Kafka seldom have unknown keys

    security = [key.name for key in SECTIONS["Security"]] + [
        known for known in KAFKA_KEYS if known.startswith(PROTECTIVE)
    ]
    close = difflib.get_close_matches(name.lower(), security, n=1, cutoff=SIMILARITY_MIN)
    if close or name.lower().startswith(GUARDED):
        like = close[0] if close else ""
        raise ConfigError(
            name, None, "is not a key of Kafka 4.3 or of kawal; remove or correct it", nearest=like
        )


def _one_way(settings: list[Setting]) -> list[Setting]:
    """Return what has ssl.client.auth, set for all listeners, leave those with SASL alone, as in Kafka.

    Source: SaslChannelBuilder.configure, KIP-684.
    """
    values = {setting.name: setting for setting in settings}
    auth, addresses, protocols = (values.get(name) for name in ("ssl.client.auth", "listeners", MAP))
    if auth is None or addresses is None:
        return []
    try:
        by_name = parse_protocol_map(str((protocols or _default_map()).raw))
    except ValueError:
        return []  # it is told where the setting is checked
    made = []
    for name in (_name_of(text) for text in str(addresses.raw).split(",")):
        own = f"listener.name.{name.lower()}.ssl.client.auth"
        if by_name.get(name) is SecurityProtocol.SASL_SSL and own not in values:
            made.append(Setting(own, "none", auth.source))
    return made


def _default_map() -> Setting:
    return Setting(MAP, KEYS[MAP].default, "")
