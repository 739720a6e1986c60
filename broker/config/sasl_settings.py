"""The settings of one listener's logins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from broker.config.config_keys import ConfigError, Value
from broker.config.jaas import MODULES, read_module
from broker.config.sasl_names import PLAIN


class Values(Protocol):
    """The configuration, as far as logins need it."""

    @property
    def connection_failed_authentication_delay_ms(self) -> int:
        """The time until a failed login is answered."""

    def of_listener(self, listener: str, name: str, mechanism: str = "") -> Value:
        """Return the value of a key for one listener, or one mechanism of it."""


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """The settings of one listener."""

    listener: str
    mechanisms: tuple[str, ...]
    lifetimes_ms: Mapping[str, int]
    """How long a login lasts by mechanism; 0: without end."""
    receive_bytes_max: int
    failure_delay_ms: int
    plain_users: Mapping[str, str] = field(repr=False)
    """Passwords of PLAIN by name, in the clear."""
    plain_file: str | None
    """The file with hashed ones."""


def sasl_settings(config: Values, listener: str) -> SaslSettings:
    """Return the settings of a listener with SASL.  Raises: ConfigError."""
    mechanisms = config.of_listener(listener, "sasl.enabled.mechanisms")
    assert isinstance(mechanisms, tuple)
    prefix = f"listener.name.{listener.lower()}"
    if not mechanisms:
        raise ConfigError(f"{prefix}.sasl.enabled.mechanisms", "", "at least one mechanism is needed")
    file = config.of_listener(listener, "kawal.sasl.plain.users")
    users = _plain_users(config, listener, prefix) if PLAIN in mechanisms else {}
    if PLAIN in mechanisms and not users and file is None:
        raise ConfigError(
            f"{prefix}.plain.sasl.jaas.config",
            None,
            f"is not set, and the listener {listener} has the mechanism PLAIN; give users in it, or a file of"
            " them as kawal.sasl.plain.users",
        )
    return SaslSettings(
        listener=listener,
        mechanisms=mechanisms,
        lifetimes_ms={
            mechanism: _number(config.of_listener(listener, "connections.max.reauth.ms", mechanism))
            for mechanism in mechanisms
        },
        receive_bytes_max=_number(config.of_listener(listener, "sasl.server.max.receive.size")),
        failure_delay_ms=config.connection_failed_authentication_delay_ms,
        plain_users=users,
        plain_file=None if file is None else str(file),
    )


def _plain_users(config: Values, listener: str, prefix: str) -> Mapping[str, str]:
    text = config.of_listener(listener, "sasl.jaas.config", PLAIN)
    if text is None:
        return {}
    module = read_module(str(text))
    if PLAIN not in MODULES[module.name]:
        raise ConfigError(
            f"{prefix}.plain.sasl.jaas.config",
            None,
            f"names the login module {module.name}, which is not PLAIN's",
        )
    return module.users


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
