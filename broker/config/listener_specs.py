"""The listeners of the configuration: names, security protocols, addresses to bind and to advertise.

    listeners                        NAME://HOST:PORT,…       or HOST:PORT, short for PLAINTEXT://HOST:PORT
    advertised.listeners             NAME://HOST:PORT,…       or, for listeners without names, in their order
    listener.security.protocol.map   NAME:PROTOCOL,…

Names ignore case.  A listener that advertises nothing tells each client the address that it connected to.
Source: SocketServerConfigs and CoreUtils.listenerListToEndPoints of Kafka 4.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple, Protocol

from broker.config.config_keys import ConfigError, Value
from broker.config.endpoints import Endpoint, is_loopback, parse_endpoint

SHORT_NAME: Final = "PLAINTEXT"
"""The name of listeners that are given as HOST:PORT alone."""

WILDCARDS: Final = ("", "0.0.0.0", "::")  # noqa: S104  (compared, not bound)
"""Hosts that stand for every interface: they can be bound, but no client can connect to them."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,249}")


class SecurityProtocol(Enum):
    """The security of a listener's connections."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def encrypted(self) -> bool:
        """Whether connections use TLS."""
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def sasl(self) -> bool:
        """Whether clients log in by SASL."""
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class Values(Protocol):
    """The configuration, as far as listeners need it."""

    @property
    def listeners(self) -> tuple[str, ...]:
        """The addresses to bind."""

    @property
    def advertised_listeners(self) -> tuple[str, ...]:
        """The addresses that clients are told."""

    @property
    def listener_security_protocol_map(self) -> str:
        """The protocols by name."""

    @property
    def kawal_insecure(self) -> bool:
        """Whether others may connect without a login."""

    def of_listener(self, listener: str, name: str, mechanism: str = "") -> Value:
        """Return the value of a key for one listener."""


class NamedAddress(NamedTuple):
    """One entry of `listeners` or `advertised.listeners`; the name is "" when none was given."""

    name: str
    endpoint: Endpoint

    @property
    def text(self) -> str:
        """The entry as Kafka writes it."""
        return f"{self.name or SHORT_NAME}://{self.endpoint.text}"


class ListenerSpec(NamedTuple):
    """One listener as it is configured."""

    name: str
    protocol: SecurityProtocol
    endpoint: Endpoint
    advertised: Endpoint | None
    """The address that its clients learn; None: the one that they connected to."""

    @property
    def text(self) -> str:
        """`NAME://HOST:PORT`."""
        return f"{self.name}://{self.endpoint.text}"


def parse_address(text: str) -> NamedAddress:
    """Read `NAME://HOST:PORT` or `HOST:PORT`.  Raises: ValueError, with one sentence."""
    name, separator, rest = text.strip().rpartition("://")
    if separator and not _NAME.fullmatch(name):
        raise ValueError(
            f"{text!r}: the name before '://' may have letters, digits, '-' and '_'; for example"
            " SSL://127.0.0.1:9093"
        )
    return NamedAddress(name.upper(), parse_endpoint(rest))


def addresses_problem(texts: object) -> str | None:
    """Return what is wrong with a list of addresses, or None."""
    assert isinstance(texts, tuple)
    try:
        for text in texts:
            parse_address(text)
    except ValueError as error:
        return str(error)
    return None


def parse_protocol_map(text: str) -> dict[str, SecurityProtocol]:
    """Return the protocols by listener name, of NAME:PROTOCOL,….  Raises: ValueError, with one sentence."""
    found: dict[str, SecurityProtocol] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        name, colon, protocol = (part.strip() for part in entry.rpartition(":"))
        if not colon or not _NAME.fullmatch(name):
            raise ValueError(f"{entry!r} is not NAME:PROTOCOL; for example INTERNAL:SASL_SSL")
        if protocol.upper() not in SecurityProtocol.__members__:
            known = ", ".join(SecurityProtocol.__members__)
            raise ValueError(f"{entry!r}: {protocol!r} is no security protocol; there are {known}")
        if name.upper() in found:
            raise ValueError(f"the listener {name.upper()} has two protocols")
        found[name.upper()] = SecurityProtocol[protocol.upper()]
    return found


def protocol_map_problem(text: object) -> str | None:
    """Return what is wrong with a map of protocols, or None."""
    assert isinstance(text, str)
    try:
        parse_protocol_map(text)
    except ValueError as error:
        return str(error)
    return None


def listener_specs(config: Values) -> tuple[ListenerSpec, ...]:
    """Return the listeners in the order of `listeners`.  Raises: ConfigError, with one sentence."""
    addresses = [parse_address(text) for text in config.listeners]
    if not addresses:
        raise ConfigError("listeners", "", "at least one address is needed")
    _check_addresses(addresses)
    advertised = _advertised(config, addresses)
    protocols = parse_protocol_map(config.listener_security_protocol_map)
    return tuple(
        ListenerSpec(name, _protocol_of(name, protocols), address.endpoint, told)
        for address, told in zip(addresses, advertised, strict=True)
        for name in [address.name or SHORT_NAME]
    )


def _check_addresses(addresses: Sequence[NamedAddress]) -> None:
    """Refuse two listeners of one name, or on one port.  Raises: ConfigError."""
    shown = ",".join(address.text for address in addresses)
    names = [address.name for address in addresses if address.name]
    if any(not address.name for address in addresses) and SHORT_NAME in names:
        names.append(SHORT_NAME)
    if (twice := _repeated(names)) is not None:
        raise ConfigError("listeners", shown, f"two listeners are called {twice}; give each its own name")
    by_port: dict[int, list[NamedAddress]] = {}
    for address in addresses:
        if address.name and address.endpoint.port:
            by_port.setdefault(address.endpoint.port, []).append(address)
    for port, same in by_port.items():
        families = sorted(":" in address.endpoint.host for address in same)
        if len(same) > 1 and families != [False, True]:
            raise ConfigError(
                "listeners",
                shown,
                f"port {port} is given twice; two listeners may share a port if one has an IPv4 and the other"
                " an IPv6 address",
            )


def _advertised(config: Values, addresses: Sequence[NamedAddress]) -> list[Endpoint | None]:
    """Return what each listener advertises.  Raises: ConfigError."""
    key, shown = "advertised.listeners", ",".join(config.advertised_listeners)
    advertised = [parse_address(text) for text in config.advertised_listeners]
    for told in advertised:
        if told.endpoint.host in WILDCARDS:
            raise ConfigError(
                key, shown, f"{told.endpoint.text} is no address that a client could connect to; name a host"
            )
    if not advertised:
        return [None] * len(addresses)
    if not any(told.name for told in advertised) and not any(address.name for address in addresses):
        if len(advertised) != len(addresses):
            raise ConfigError(
                key,
                shown,
                f"names {len(advertised)} addresses for {len(addresses)} listeners; give one for each, or"
                " none",
            )
        return [told.endpoint for told in advertised]
    return _advertised_by_name(shown, addresses, advertised)


def _advertised_by_name(
    shown: str, addresses: Sequence[NamedAddress], advertised: Sequence[NamedAddress]
) -> list[Endpoint | None]:
    key = "advertised.listeners"
    names = [address.name or SHORT_NAME for address in addresses]
    by_name = {told.name or SHORT_NAME: told.endpoint for told in advertised}
    if len(by_name) < len(advertised):
        twice = _repeated([told.name or SHORT_NAME for told in advertised])
        raise ConfigError(key, shown, f"the listener {twice} is given twice")
    unknown = [name for name in by_name if name not in names]
    if unknown:
        raise ConfigError(key, shown, f"there is no listener {unknown[0]}; there are {', '.join(names)}")
    return [by_name.get(name) for name in names]


def _protocol_of(name: str, protocols: Mapping[str, SecurityProtocol]) -> SecurityProtocol:
    found = protocols.get(name)
    if found is None:
        raise ConfigError(
            "listeners",
            name,
            "no security protocol is known for this listener; add it to listener.security.protocol.map, for"
            f" example {name}:SASL_SSL",
        )
    return found


def _repeated(names: Sequence[str]) -> str | None:
    return next((name for name in names if names.count(name) > 1), None)


def check_reach(config: Values, specs: Iterable[ListenerSpec]) -> None:
    """Refuse listeners that other machines reach without a login, unless it is asked for.

    Raises: ConfigError.
    """
    if config.kawal_insecure:
        return
    for spec in specs:
        if not is_loopback(spec.endpoint.host) and (lack := lack_of(config, spec)):
            raise ConfigError(
                "listeners",
                spec.text,
                f"other machines could reach this address and {lack}, or allow it with --insecure"
                " (kawal.insecure=true)",
            )


def unencrypted(spec: ListenerSpec) -> str:
    """Return what is risked by clients that come over a network without encryption; "" if nothing is."""
    if spec.protocol is not SecurityProtocol.SASL_PLAINTEXT or is_loopback(spec.endpoint.host):
        return ""
    return (
        f"the listener {spec.name} is not encrypted, and other machines reach it: records, and passwords of"
        " PLAIN, can be read on their way"
    )


def lack_of(config: Values, spec: ListenerSpec) -> str:
    """Return what a listener lacks to be open to other machines, with the cure; "" if it lacks nothing."""
    if spec.protocol.sasl:
        return ""
    if spec.protocol.encrypted:
        if config.of_listener(spec.name, "ssl.client.auth") == "required":
            return ""
        return "its clients need no certificate; set ssl.client.auth=required, bind 127.0.0.1"
    return "no client is authenticated; bind 127.0.0.1"
