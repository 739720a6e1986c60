"""Serialised descriptors, made by hand."""

from __future__ import annotations


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def part(number: int, content: str | bytes | int) -> bytes:
    """Return a field of a message: text and bytes with their length, or a number."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    data = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(data)) + data


def field(number: int, name: str, kind: int, of: str = "", *, repeated: bool = False) -> bytes:
    made = part(1, name) + part(3, number) + part(4, 3 if repeated else 1) + part(5, kind)
    return part(2, made + (part(6, of) if of else b""))


def message(name: str, *parts: bytes) -> bytes:
    return part(1, name) + b"".join(parts)


def file(*messages: bytes, package: str = "shop", syntax: str = "proto3") -> bytes:
    return part(2, package) + b"".join(part(4, made) for made in messages) + part(12, syntax)
