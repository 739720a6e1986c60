"""Right requests made wrong: cut, lengthened, spoiled, with counts that are not so."""

from __future__ import annotations

import struct
from random import Random

from compat_tests.hunt.records import VARINTS
from compat_tests.hunt.world import INVALID_UTF8

LENGTHS = (-1, 0, 1, 4, 2**31 - 1, -(2**31), (100 << 20) + 1, 100 << 20)

INTEGERS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x80\0\0\0", b"\xff\xff\xff\xfe")

NO_UTF8 = (b"\xff\xfe" * 4, b"\xed\xa0\x80\xed\xa0\x80xx", b"\xc0\xafxxxxxx", b"xxxxxxx\xf0")
"""Eight bytes each, as the text that they take the place of: not UTF-8, a surrogate, overlong, cut."""


def without_utf8(frame: bytes, chance: Random) -> bytes:
    """Return the request with bytes that are no UTF-8 where `world.INVALID_UTF8` stood."""
    return frame.replace(INVALID_UTF8.encode(), chance.choice(NO_UTF8))


def spoiled(frame: bytes, chance: Random) -> bytes:
    """Return the request with something in it wrong."""
    if chance.random() < 0.05:
        return struct.pack(">i", chance.choice(LENGTHS)) + frame[4:]
    if chance.random() < 0.1:
        return chance.randbytes(chance.choice((1, 3, 4, 5, 20, 1_000)))
    body = bytearray(frame[4:])
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        _spoil(body, chance)
    body = body or bytearray(b"\0")
    return struct.pack(">i", len(body)) + bytes(body)


def _spoil(body: bytearray, chance: Random) -> None:
    at = chance.randrange(len(body) + 1)
    match chance.randrange(7):
        case 0:
            body[at : at + 1] = bytes((chance.randrange(256),))
        case 1:
            del body[at : at + chance.randint(1, 8)]
        case 2:
            body[at:at] = chance.randbytes(chance.randint(1, 8))
        case 3:
            body[at : at + 4] = chance.choice(INTEGERS)
        case 4:
            size = chance.choice((1, 5))
            body[at : at + size] = chance.choice(VARINTS)
        case 5:
            del body[at:]
        case _:
            body += chance.randbytes(chance.choice((1, 100, 10_000)))
