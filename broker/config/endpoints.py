"""Addresses of listeners: `HOST:PORT` read from text, checked and written again."""

from __future__ import annotations

from typing import Final, NamedTuple

HTTP_OFF: Final = "none"
"""The address that stands for no HTTP listener."""


class Endpoint(NamedTuple):
    """The address a listener binds, or that clients connect to; an IPv6 host has no brackets here."""

    host: str
    port: int

    @property
    def text(self) -> str:
        """`HOST:PORT`, with brackets around an IPv6 address."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_endpoint(text: str) -> Endpoint:
    """Read `HOST:PORT`, `[IPv6]:PORT` or Kafka's `PLAINTEXT://HOST:PORT`.

    Raises: ValueError, with one sentence.
    """
    scheme, separator, rest = text.strip().rpartition("://")
    if separator and scheme.upper() != "PLAINTEXT":
        raise ValueError(f"{text!r}: only PLAINTEXT:// can be given here")
    host, colon, port = rest.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or (":" in host and not bracketed):
        raise ValueError(f"{text!r} is not HOST:PORT; for example 127.0.0.1:9092 or [::1]:9092")
    if not (port.isascii() and port.isdigit() and int(port[:6]) <= 65535):
        raise ValueError(f"{text!r}: the port must be a number between 0 and 65535")
    return Endpoint(host[1:-1] if bracketed else host, int(port))


def http_problem(text: object) -> str | None:
    """Return what is wrong with the address of the HTTP listener, or None."""
    assert isinstance(text, str)
    try:
        if text != HTTP_OFF:
            parse_endpoint(text)
    except ValueError as error:
        return str(error)
    return None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`; names other than localhost count as reachable by others."""
    import ipaddress  # not needed for the usual spellings

    if host in ("127.0.0.1", "localhost", "::1"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
