"""The records that views are measured with: flights, as JSON of 1 KB."""

from __future__ import annotations

import random
from functools import cache
from string import ascii_lowercase

COLUMNS = "id bigint, delay int, carrier varchar(8), body varchar(2000)"
VALUE_BYTES = 1_024
CARRIERS = 20
DELAYS = 100
"""One record in this many has a delay of 99."""


def value(number: int) -> bytes:
    """Return one JSON record of 1 KB; one record in a hundred has a delay of 99.

    It is put together by hand: building dictionaries is too slow for a producer of 10,000 records a second.
    """
    head = b'{"id": %d, "delay": %d, "carrier": "C%d", "body": "' % (
        number,
        number % DELAYS,
        number % CARRIERS,
    )
    return head.ljust(VALUE_BYTES - 2, b"x") + b'"}'


DETAILED = (
    b'{"id": %d, "delay": %d, "carrier": "C%d", "origin": "%s", "dest": "%s", "tailnum": "N%05d", '
    b'"distance": %d, "air_time": %d.%d, "scheduled": "2026-11-%02dT%02d:%02d:00Z", "remarks": "'
)
AIRPORTS = (b"AMS", b"ATL", b"CDG", b"DFW", b"EWR", b"FRA", b"HND", b"JFK", b"LHR", b"ORD", b"PEK", b"SIN")
TEXT_BYTES = 4 << 20
WORDS = 2_000
SCATTER = 2_654_435_761
"""Knuth's multiplier: neighbours get remarks from far apart."""


def detailed(number: int) -> bytes:
    """Return one JSON record of 1 KB, of eleven members and words, which compresses as such records do.

    `id`, `delay` and `carrier` are those of `value`.
    """
    mixed = number * SCATTER % (1 << 32)
    head = DETAILED % (
        number,
        number % DELAYS,
        number % CARRIERS,
        AIRPORTS[mixed % 12],
        AIRPORTS[mixed // 12 % 12],
        mixed % 100_000,
        100 + mixed % 8_000,
        mixed % 700,
        mixed % 10,
        1 + mixed % 30,
        mixed % 24,
        mixed % 60,
    )
    wanted = VALUE_BYTES - len(head) - 2
    start = mixed % (TEXT_BYTES - wanted)
    return head + _text()[start : start + wanted] + b'"}'


@cache
def _text() -> bytes:
    """Return words drawn at random, the same in every run."""
    chance = random.Random(7)
    words = ["".join(chance.choices(ascii_lowercase, k=chance.randint(2, 11))) for _ in range(WORDS)]
    return " ".join(chance.choices(words, k=TEXT_BYTES // 5)).encode()[:TEXT_BYTES]
