"""The texts that mean one address: rules, quotas and limits name a client by a text of its IPv6 address.

    2001:db8::a01                as this system writes it, and RFC 5952
    2001:db8:0:0:0:0:0:a01       as Java does, and so every rule that was made for Kafka

Source: java.net.Inet6Address.getHostAddress, which StandardAuthorizer compares the hosts of rules with.
"""

from __future__ import annotations

import struct
from functools import lru_cache

_WORDS = struct.Struct(">8H")


@lru_cache(maxsize=1024)
def spellings(address: str) -> tuple[str, ...]:
    """Return the texts that rules may have for a client's address, first the address as it is given."""
    packed, zone = _packed(address)
    if packed is None:
        return (address,)
    javas = ":".join(f"{word:x}" for word in _WORDS.unpack(packed)) + zone
    return (address, javas) if javas != address else (address,)


def canonical(address: str) -> str:
    """Return the address as this system writes those of clients; another text is returned as it is."""
    packed, zone = _packed(address)
    if packed is None:
        return address
    from ipaddress import IPv6Address

    return IPv6Address(packed).compressed + zone


def _packed(address: str) -> tuple[bytes | None, str]:
    """Return the 16 bytes of an IPv6 address, None if it is none, and its zone with the sign before it."""
    if ":" not in address:
        return None, ""
    from ipaddress import AddressValueError, IPv6Address  # for those who have such clients

    plain, sign, zone = address.partition("%")
    try:
        return IPv6Address(plain).packed, sign + zone
    except AddressValueError:
        return None, ""
