"""Kafka's own message specifications, as the kafka-python wheel ships them: JSON with comment lines."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from protocol.schema import parse_versions

_WHEEL = find_spec("kafka")  # Found, not imported: importing it costs 0.2 s and warns.
assert _WHEEL is not None
assert _WHEEL.origin is not None
_FOLDER = Path(_WHEEL.origin).parent / "protocol" / "schemas" / "resources"


def specified_names() -> list[str]:
    """Return the names of all messages that the wheel specifies."""
    return sorted(
        file.name.removesuffix(".json") for file in _FOLDER.iterdir() if file.name.endswith(".json")
    )


@cache
def specification(name: str) -> dict[str, Any]:
    """Return the specification of a message, with shared structs put in place."""
    text = (_FOLDER / f"{name}.json").read_text()
    found: dict[str, Any] = json.loads(re.sub(r"(?m)^\s*//.*$", "", text))
    shared = {struct["name"]: struct["fields"] for struct in found.get("commonStructs", [])}
    _resolve(found["fields"], shared)
    return found


def _resolve(fields: list[dict[str, Any]], shared: dict[str, Any]) -> None:
    for field in fields:
        element = field["type"].removeprefix("[]")
        if element in shared:
            field["fields"] = shared[element]
        _resolve(field.get("fields", []), shared)


def released_versions(found: dict[str, Any]) -> range:
    """Return the versions that brokers offer without asking for unstable ones."""
    versions = parse_versions(found["validVersions"])
    return versions[:-1] if found.get("latestVersionUnstable") else versions


def versions_of(found: dict[str, Any], key: str) -> range:
    """Return the range that a specification gives under `key`; none if it does not."""
    return parse_versions(found.get(key, "none"))


def common(one: range, other: range) -> range:
    """Return the versions in both ranges; all empty ranges are alike."""
    first, end = max(one.start, other.start), min(one.stop, other.stop)
    return range(first, end) if first < end else range(0)


def snake_case(name: str) -> str:
    """Return a field's name as we write it: ThrottleTimeMs -> throttle_time_ms."""
    name = name.replace("2Pc", "2pc")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def default_of(field: dict[str, Any]) -> Any:
    """Return the default that a specification names, as a Python value."""
    text = str(field["default"])
    if text == "null" or field["type"] == "string":
        return None if text == "null" else text
    return text.lower() == "true" if field["type"] == "bool" else int(text, 0)
