"""Values that cannot be the name of a folder: records with such a value in a partition column do not fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pipeline.folder_values import folder_name

if TYPE_CHECKING:
    import pyarrow

NAME_MAX: Final = 255
"""The longest name of a folder that file systems take, in bytes."""

PATH_MAX: Final = 700
"""The longest path of a row's folders in a table, in bytes: the key of a file in a bucket may have 1,024."""

_ESCAPED_MAX: Final = 3
"""The bytes that one byte of a value has in the name of its folder, at most."""


def folder_problems(named: Mapping[str, pyarrow.Array]) -> dict[int, str]:
    """Return the rows whose folders cannot be made, each with the reason.

    `named` has the partition columns of texts or bytes; values of other types have short names.  As a rule
    no value is looked at: all are short, and texts.
    """
    lengths = [_longest(name, column) for name, column in named.items()]
    texts = not any(_is_binary(column) for column in named.values())
    if texts and max(lengths, default=0) <= NAME_MAX and sum(lengths) + len(lengths) <= PATH_MAX:
        return {}
    return dict(_problems(named))


def _longest(name: str, column: pyarrow.Array) -> int:
    """Return the bytes that a folder's name has at most, or more."""
    import pyarrow.compute as pc

    longest = pc.max(pc.binary_length(column)).as_py() or 0
    return len(folder_name(name, None).encode()) + _ESCAPED_MAX * longest


def _is_binary(column: pyarrow.Array) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type))


def _problems(named: Mapping[str, pyarrow.Array]) -> Iterator[tuple[int, str]]:
    known: dict[tuple[Any, ...], str] = {}
    for at, row in enumerate(zip(*(column.to_pylist() for column in named.values()), strict=True)):
        if row not in known:
            known[row] = _problem(dict(zip(named, row, strict=True)))
        if known[row]:
            yield at, known[row]


def _problem(values: dict[str, str | bytes | None]) -> str:
    """Return why there is no folder for these values; "" where there is."""
    total = 0
    for name, value in values.items():
        try:
            length = len(folder_name(name, value).encode())
        except UnicodeDecodeError:
            return f"column {name} names a folder, and its value is not UTF-8"
        if length > NAME_MAX:
            return f"column {name} names a folder of {length} bytes, and {NAME_MAX} are the most"
        total += length + 1
    if total > PATH_MAX:
        return f"columns {', '.join(values)} name folders of {total} bytes, and {PATH_MAX} are the most"
    return ""
