"""The differences of two answers, field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compat_tests.differential.steps import Step

ABSENT = "<default>"
"""The value shown for a field with its default, and for an element that only one of two lists has."""

KEYS = {"configs": "name", "api_keys": "api_key"}
"""Lists whose elements are known by one of their fields, as their place means nothing."""


@dataclass(frozen=True)
class Difference:
    """One field in which the answers to one step differ.

    `path` leads from the answer to the field, with `[]` for every element of a list; `where` names the
    elements. `kafka_item` and `kawal_item` are the structs that hold the field.
    """

    step: Step
    path: str
    where: str
    kafka: Any
    kawal: Any
    kafka_item: Mapping[str, Any]
    kawal_item: Mapping[str, Any]

    def __str__(self) -> str:
        api = f"{self.step.api.name} v{self.step.version}"
        return f"{api} {self.where}: kafka {_shown(self.kafka)}, kawal {_shown(self.kawal)}"


def differences(step: Step, kafka: Mapping[str, Any], kawal: Mapping[str, Any]) -> Iterator[Difference]:
    """Compare the plain answers to one step."""
    if kafka.get("outcome") != kawal.get("outcome"):
        a, b = kafka.get("outcome", "answered"), kawal.get("outcome", "answered")
        yield Difference(step, "outcome", "outcome", a, b, kafka, kawal)
        return
    yield from _structs(step, "", "", kafka, kawal)


def _structs(
    step: Step, path: str, where: str, kafka: Mapping[str, Any], kawal: Mapping[str, Any]
) -> Iterator[Difference]:
    failed = kafka.get("error_code", 0) != kawal.get("error_code", 0)
    # Where the codes differ, so must the rest, which is compared only where they agree.
    for name in ["error_code"] if failed else dict.fromkeys([*kafka, *kawal]):
        a, b = kafka.get(name, ABSENT), kawal.get(name, ABSENT)
        here, there = (f"{path}.{name}", f"{where}.{name}") if path else (name, name)
        if a == b:
            continue
        if isinstance(a, list) and isinstance(b, list):
            yield from _lists(step, here, there, a, b, KEYS.get(name), (kafka, kawal))
        elif isinstance(a, dict) and isinstance(b, dict):
            yield from _structs(step, here, there, a, b)
        else:
            yield Difference(step, here, there, a, b, kafka, kawal)


def _lists(
    step: Step,
    path: str,
    where: str,
    kafka: Sequence[Any],
    kawal: Sequence[Any],
    key: str | None,
    items: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> Iterator[Difference]:
    ours, theirs = _by_key(kafka, key), _by_key(kawal, key)
    for name in dict.fromkeys([*ours, *theirs]):
        a, b = ours.get(name, ABSENT), theirs.get(name, ABSENT)
        if a == b:
            continue
        here, there = f"{path}[]", f"{where}[{name}]"
        if isinstance(a, dict) and isinstance(b, dict):
            yield from _structs(step, here, there, a, b)
        else:
            yield Difference(step, here, there, a, b, *items)


def _by_key(items: Sequence[Any], key: str | None) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for index, item in enumerate(items):
        name = item.get(key, index) if key and isinstance(item, dict) else index
        found[f"{name} again" if name in found else name] = item
    return found


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 200 else text[:200] + "…"
