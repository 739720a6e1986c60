"""Databases over the wire: requests to the server, and its answers put into words, for the commands."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from console.client import refusal
from console.errors import CommandError
from console.tables import table
from console.wire import ask
from protocol.messages.kawal_databases import (
    DatabaseAction,
    DatabaseItem,
    DatabaseResult,
    DatabaseSetting,
    KawalDatabasesRequest,
)

NO_SUCH_DATABASE = 91
DATABASE_EXISTS = 92


def do(
    bootstrap: str,
    action: DatabaseAction,
    names: Sequence[str] | None,
    settings: Mapping[str, str | None] | None = None,
    *,
    validate_only: bool = False,
) -> list[DatabaseResult]:
    """Act on databases (None: on all) and return each one's result.  Raises: CommandError, NotKawal."""
    lines = [DatabaseSetting(name=name, value=value) for name, value in (settings or {}).items()]
    items = None if names is None else [DatabaseItem(name=name, settings=lines) for name in names]
    request = KawalDatabasesRequest(action=action, databases=items, validate_only=validate_only)
    results: list[DatabaseResult] = ask(bootstrap, request).databases
    return results


def described(bootstrap: str, names: Sequence[str] | None) -> tuple[list[DatabaseResult], list[int]]:
    """Return databases (None: all), and the nodes that have not told of their logs.

    Raises: CommandError, NotKawal.
    """
    items = None if names is None else [DatabaseItem(name=name, settings=[]) for name in names]
    request = KawalDatabasesRequest(action=DatabaseAction.DESCRIBE, databases=items, validate_only=False)
    answer = ask(bootstrap, request)
    return answer.databases, answer.silent_nodes


def told(results: Sequence[DatabaseResult], verb: str, forgiven: Mapping[int, str]) -> str:
    """Return a line for each database.  Raises: CommandError if one was refused; it prints the others."""
    lines, refused = [], []
    for result in results:
        if result.error_code == 0:
            lines.append(f"{verb} {result.name}" if not verb.startswith("could") else f"{result.name} {verb}")
        elif result.error_code in forgiven:
            lines.append(f"{result.name} {forgiven[result.error_code]}")
        else:
            refused.append(f"{result.name!r}: {refusal(result.error_code, result.error_message)}")
    if refused:
        if lines:
            print("\n".join(lines))
        raise CommandError("; ".join(refused))
    return "\n".join(lines)


def found(results: Sequence[DatabaseResult]) -> Sequence[DatabaseResult]:
    """Return the databases that were asked for.  Raises: CommandError naming those that do not exist."""
    told(results, "found", {})
    return results


def as_tree(one: DatabaseResult) -> dict[str, Any]:
    """Return a database for a program."""
    return {
        "name": one.name,
        "vnodes": one.vnodes,
        "topics": one.topic_count,
        "views": one.view_count,
        "size_bytes": one.size_bytes,
        "directory": one.directory,
        "created": _time(one.created_ms),
        "settings": {
            setting.name: {"value": setting.value, "default": setting.is_default} for setting in one.settings
        },
    }


def as_json(results: Sequence[DatabaseResult]) -> str:
    """Return databases for a program, as a JSON list."""
    return json.dumps([as_tree(result) for result in results], indent=2)


def as_table(results: Sequence[DatabaseResult]) -> str:
    """Return databases for people, one a line."""
    rows = [
        (
            result.name,
            result.vnodes,
            result.topic_count,
            result.view_count,
            result.size_bytes,
            setting_of(result, "durability"),
            setting_of(result, "retention.ms"),
        )
        for result in results
    ]
    heads = ("DATABASE", "VNODES", "TOPICS", "VIEWS", "SIZE BYTES", "DURABILITY", "RETENTION MS")
    return table(heads, rows)


def as_text(one: DatabaseResult) -> str:
    """Return one database for people, with its settings and where each comes from."""
    parts = [
        f"{one.name}: {one.vnodes} vnodes in {one.directory}",
        f"{one.topic_count} topics",
        f"{one.view_count} views",
    ]
    created = _time(one.created_ms)
    if created:
        parts.append(f"created {created}")
    rows = [(entry.name, entry.value, "the server's" if entry.is_default else "") for entry in one.settings]
    return ", ".join(parts) + "\n" + table(("SETTING", "VALUE", ""), rows)


def as_statement(one: DatabaseResult) -> str:
    """Return the statement that would create the database again."""
    own = [f"{entry.name}={entry.value}" for entry in one.settings if not entry.is_default]
    return " ".join([f"CREATE DATABASE `{one.name}`", *own])


def setting_of(one: DatabaseResult, name: str) -> str | None:
    """Return the value of a setting, None if the server does not know it."""
    return next((entry.value for entry in one.settings if entry.name == name), None)


def _time(created_ms: int) -> str | None:
    if not created_ms:
        return None
    return datetime.fromtimestamp(created_ms / 1000, UTC).isoformat(timespec="milliseconds")
