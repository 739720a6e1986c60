"""Wrong answers made from right ones: would the comparison notice a handler that gives one of them?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from protocol.error_codes import ErrorCode

WRONG_CODE = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH.value
"""A code that no answer has."""

LOOKED_INTO = 3
"""The number of elements of each list that are themselves changed."""


def mutants(answer: Any) -> Iterator[tuple[str, Any]]:
    """Yield copies of a plain answer with one thing wrong in each, and where."""
    if isinstance(answer, dict):
        yield from _wrong_fields(answer)
    elif isinstance(answer, list):
        yield from _wrong_lists(answer)


def _wrong_fields(answer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in answer.items():
        if name == "error_code":
            yield name, answer | {name: WRONG_CODE}
        elif isinstance(value, bool):
            yield name, answer | {name: not value}
        elif isinstance(value, int):
            yield name, answer | {name: value + 1}
        elif isinstance(value, str):
            yield name, answer | {name: f"{value} and more"}
        else:
            for where, wrong in mutants(value):
                yield f"{name}.{where}", answer | {name: wrong}


def _wrong_lists(answer: list[Any]) -> Iterator[tuple[str, Any]]:
    if answer:
        yield "first item missing", answer[1:]
        yield "last item missing", answer[:-1]
    for index, item in enumerate(answer[:LOOKED_INTO]):
        for where, wrong in mutants(item):
            yield f"[{index}].{where}", [*answer[:index], wrong, *answer[index + 1 :]]
