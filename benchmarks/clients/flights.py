"""The records that views are measured with: flights, as JSON of 1 KB."""

from __future__ import annotations

COLUMNS = "id bigint, delay int, carrier varchar(8), body varchar(2000)"
VALUE_BYTES = 1_024
CARRIERS = 20
DELAYS = 100
"""Of so many records one has a delay of 99."""


def value(number: int) -> bytes:
    """One JSON record of 1 KB; of a hundred records one has a delay of 99.

    Made by hand: a producer at 10,000 records a second has other things to do than to build dictionaries.
    """
    head = b'{"id": %d, "delay": %d, "carrier": "C%d", "body": "' % (
        number,
        number % DELAYS,
        number % CARRIERS,
    )
    return head.ljust(VALUE_BYTES - 2, b"x") + b'"}'
