"""The values of partition columns, as the folders of Hive-style tables name them.

The names are Spark's, but for numbers with an exponent: 1e-05, where Java writes 1.0E-5.
"""

from __future__ import annotations

import re
import struct
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from urllib.parse import unquote

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""The folder in which Spark and Hive put rows without a value in the partition column."""


def folder_values(path: str) -> dict[str, str | None]:
    """Return the partition columns that a file's folders name; None where there is no value."""
    folders = [part.partition("=") for part in path.split("/")[:-1]]
    return {name: None if value == NULL_FOLDER else unquote(value) for name, _, value in folders}


_PERIOD_YEARS: Final = 400
"""After so many years the days of the months and the leap years come again."""
_PERIOD_US: Final = 146_097 * 86_400 * 1_000_000

_ESCAPED: Final = re.compile("[\x00-\x1f\x7f\"#%'*/:=?\\\\{\\[\\]^]")
"""The characters that Spark and Hive write as %XX in the names of folders, and NUL, which none may have."""


def folder_name(column: str, value: Any, kind: str = "") -> str:
    """Return the folder of the rows with a value in a partition column, as Spark names it.

    Of kind `timestamp` the value is in µs since 1970; a `float` is of 32 bits, and has as many digits as tell
    it from the others of these; bytes are a text.  Raises: UnicodeDecodeError for bytes that are none.
    """
    text = "" if value is None else _text(value, kind)
    return f"{_escaped(column)}={_escaped(text) if text else NULL_FOLDER}"


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)


def _text(value: Any, kind: str) -> str:
    if kind == "timestamp":
        return _moment(value)
    match value:
        case bool():
            return str(value).lower()
        case bytes():
            return value.decode()
        case float():
            return repr(_shortest(value) if kind == "float" else value)
        case Decimal():
            return f"{value:f}"
    return str(value)


def _moment(time_us: int) -> str:
    """Return a time as `2013-01-01 10:00:00.5`, also of years that Python does not know."""
    periods, within_us = divmod(time_us, _PERIOD_US)
    moment = datetime(1970, 1, 1) + timedelta(microseconds=within_us)  # noqa: DTZ001  (UTC, as all of them)
    year = moment.year + _PERIOD_YEARS * periods
    fraction = f".{moment.microsecond:06}".rstrip("0") if moment.microsecond else ""
    return f"{'+' if year > 9999 else ''}{year:04}{moment:-%m-%d %H:%M:%S}{fraction}"


def _shortest(value: float) -> float:
    """Return the number with the fewest digits that is this one in 32 bits."""
    for digits in range(1, 9):
        near = float(f"{value:.{digits}g}")
        if _in_32_bits(near) == value:
            return near
    return value


def _in_32_bits(value: float) -> float | None:
    try:
        found: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return None
    return found
