"""The settings of one listener's logins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from broker.config.config_keys import ConfigError, Value
from broker.config.jaas import MODULES, read_module
from broker.config.sasl_names import OAUTHBEARER, PLAIN


class Values(Protocol):
    """The configuration, as far as logins need it."""

    @property
    def connection_failed_authentication_delay_ms(self) -> int:
        """The time until a failed login is answered."""

    def of_listener(self, listener: str, name: str, mechanism: str = "") -> Value:
        """Return the value of a key for one listener, or one mechanism of it."""


class OAuthSettings(NamedTuple):
    """The settings of tokens."""

    keys_url: str
    refresh_ms: int
    backoff_ms: int
    backoff_max_ms: int
    issuer: str | None
    audiences: tuple[str, ...]
    skew_ms: int
    name_claim: str


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
    oauth: OAuthSettings | None = None
    """Those of OAUTHBEARER, if it is enabled."""


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
        oauth=_oauth(config, listener, prefix) if OAUTHBEARER in mechanisms else None,
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


def _oauth(config: Values, listener: str, prefix: str) -> OAuthSettings:
    def value(name: str) -> Value:
        return config.of_listener(listener, f"sasl.oauthbearer.{name}")

    url, issuer, audiences = value("jwks.endpoint.url"), value("expected.issuer"), value("expected.audience")
    if url is None:
        raise ConfigError(
            f"{prefix}.sasl.oauthbearer.jwks.endpoint.url",
            None,
            f"is not set, and the listener {listener} has the mechanism OAUTHBEARER; name the place of the"
            " keys that sign tokens (unsigned tokens are never accepted)",
        )
    assert isinstance(audiences, tuple)
    return OAuthSettings(
        keys_url=str(url),
        refresh_ms=_number(value("jwks.endpoint.refresh.ms")),
        backoff_ms=_number(value("jwks.endpoint.retry.backoff.ms")),
        backoff_max_ms=_number(value("jwks.endpoint.retry.backoff.max.ms")),
        issuer=None if issuer is None else str(issuer),
        audiences=audiences,
        skew_ms=1_000 * _number(value("clock.skew.seconds")),
        name_claim=str(value("sub.claim.name")),
    )


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
