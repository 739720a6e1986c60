"""Keys with a value for one listener: `listener.name.<listener>.<key>`, the listener in lower case.

Some can be given for one SASL mechanism of a listener, too: `listener.name.<listener>.<mechanism>.<key>`.
The most particular value that is set is in effect.  Source: KIP-103, KIP-226; Kafka's
`AbstractConfig.valuesWithPrefixOverride`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple

from broker.config.config_keys import ConfigError, Key, nearest
from broker.config.sasl_names import MECHANISMS
from broker.config.server_keys import KEYS

PREFIX: Final = "listener.name."

OF_LISTENERS: Final = ("ssl.", "sasl.", "kawal.sasl.")
"""Prefixes of the keys that listeners may have of their own."""

LIMITS_OF_LISTENERS: Final = ("max.connections", "max.connection.creation.rate")
"""Limits of a listener's connections, beside those of all listeners together."""

KNOWN: Final = frozenset(
    {
        *(name for name in KEYS if name.startswith(OF_LISTENERS)),
        *LIMITS_OF_LISTENERS,
        "connections.max.reauth.ms",
    }
)
"""The keys that listeners may have of their own."""

STORES: Final = frozenset({
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.key.password",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.certificates",
})  # fmt: skip
"""Keys and certificates, which clients may change for one listener of one node, and not for all of them."""

TLS_OF_RUNNING: Final = STORES | {
    "ssl.client.auth",
    "ssl.principal.mapping.rules",
    "ssl.enabled.protocols",
    "ssl.cipher.suites",
}
"""All keys of TLS that clients may change for one listener while the server runs.  Source: KIP-226."""

OF_MECHANISMS: Final = frozenset({"sasl.jaas.config", "connections.max.reauth.ms"})
"""Keys that mechanisms of a listener may have of their own."""

_FORM: Final = re.compile(rf"listener\.name\.([^.]+)\.(?:({'|'.join(MECHANISMS).lower()})\.)?(.+)")


class ListenerKey(NamedTuple):
    """The parts of a key's name; `mechanism` is "" when it is for all of them."""

    listener: str
    mechanism: str
    base: str


def is_listener_key(name: str) -> bool:
    """Whether the name is that of a key for one listener, known or not."""
    return name.startswith(PREFIX)


def parts_of(name: str) -> ListenerKey:
    """Take a name apart; listener and mechanism are in capitals.  Raises: ConfigError."""
    form = _FORM.fullmatch(name)
    if form is None:
        raise ConfigError(
            name, None, "is not listener.name.LISTENER.KEY; for example listener.name.ssl.ssl.client.auth"
        )
    listener, mechanism, base = form[1], form[2] or "", form[3]
    if listener != listener.lower():
        raise ConfigError(
            name, None, f"names a listener in capitals; write {PREFIX}{listener.lower()}.{base}"
        )
    return ListenerKey(listener.upper(), mechanism.upper(), base)


def tls_changed_by(name: str) -> str | None:
    """Return the listener, in capitals, whose TLS a key decides; None if clients cannot change it so."""
    if not is_listener_key(name):
        return None
    try:
        parts = parts_of(name)
    except ConfigError:
        return None
    return parts.listener if parts.base in TLS_OF_RUNNING and not parts.mechanism else None


@lru_cache(maxsize=512)
def listener_key(name: str) -> Key:
    """Return the key of that name.  Raises: ConfigError with the nearest known name."""
    parts = parts_of(name)
    known = OF_MECHANISMS if parts.mechanism else KNOWN
    if parts.base not in known:
        prefix = name.removesuffix(parts.base)
        like = nearest(parts.base, known)
        raise ConfigError(
            name, None, "is not a key that a listener can have of its own", nearest=like and prefix + like
        )
    found = replace(KEYS[parts.base], name=name, synonyms=(parts.base,))
    if parts.base in TLS_OF_RUNNING:
        found = replace(found, dynamic=True)
    # As in Kafka, 0 is an error: nothing could connect to the listener.
    return replace(found, minimum=1) if parts.base in LIMITS_OF_LISTENERS else found


def check_listeners_exist(overrides: Mapping[str, object], listeners: list[str]) -> None:
    """Refuse keys of listeners that are not there: their security would be missed.  Raises: ConfigError."""
    for name in overrides:
        listener = parts_of(name).listener
        if listener not in listeners:
            raise ConfigError(
                name,
                None,
                f"is for a listener {listener} that does not exist; there are {', '.join(listeners)}",
            )
