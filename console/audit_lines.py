"""The lines of an audit log: reading its files in order, choosing events, and showing one to people."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from heapq import merge
from typing import Any, Final, NamedTuple

from broker.server.audit_file import paths_of_workers
from console.errors import CommandError, UsageError
from views.durations import parse_duration

Event = dict[str, Any]

LINE_BYTES_MAX: Final = 4 << 20
"""No line that a server writes is longer."""

HEADINGS: Final = ("TIME", "EVENT", "OUTCOME", "USER", "FROM", "WHAT")


class Wanted(NamedTuple):
    """The events that are asked for; empty texts ask for all."""

    since: datetime | None = None
    user: str = ""
    event: str = ""

    def has(self, event: Event) -> bool:
        """Whether the event is asked for."""
        if self.since is not None and moment_of(event) < self.since:
            return False
        if self.user and self.user not in (event.get("user"), event.get("claimed")):
            return False
        name = str(event.get("event"))
        return not self.event or name == self.event or name.startswith(f"{self.event}.")


def moment_of(event: Event) -> datetime:
    """Return the time of an event; the beginning of all times if it has none that can be read."""
    try:
        return datetime.fromisoformat(str(event.get("time"))).astimezone(UTC)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)


def since_of(text: str, now: datetime) -> datetime:
    """Read a time, `2026-11-23T08:00`, or a duration before now, `2h`.  Raises: UsageError."""
    nanoseconds = parse_duration(text)
    if nanoseconds is not None:
        return now - timedelta(microseconds=nanoseconds // 1000)
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"--since {text!r} is neither a duration such as 2h nor a time such as 2026-11-23T08:00"
        ) from error
    return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)


def files_of(path: str) -> list[list[str]]:
    """Return the files of an audit log, the oldest first: a list for each worker that has written it.

    Raises: CommandError.
    """
    found = [[*_older(each), each] for each in paths_of_workers(path)]
    if found == [[path]] and not os.path.exists(path):
        raise CommandError(f"there is no audit log {path}; kawal.audit.file names the one of a server")
    return found


def _older(path: str) -> list[str]:
    older: list[str] = []
    number = 1
    # A crash while files are moved on leaves one number out, until they are moved again.
    while os.path.exists(f"{path}.{number}") or os.path.exists(f"{path}.{number + 1}"):
        older.append(f"{path}.{number}")
        number += 1
    return older[::-1]


def events_of(logs: list[list[str]]) -> Iterator[Event | None]:
    """Yield the events of files, those of several workers by their times.

    None stands for a line that is no event, as a crash can leave.  Raises: CommandError.
    """
    return merge(*map(_events_in, logs), key=lambda event: moment_of(event or {}))


def _events_in(paths: list[str]) -> Iterator[Event | None]:
    """Yield the events of one worker's files."""
    for path in paths:
        try:
            with open(path, "rb") as stream:
                while line := stream.readline(LINE_BYTES_MAX):
                    yield _event(line)
        except FileNotFoundError:
            continue  # a new file was begun meanwhile
        except OSError as error:
            raise CommandError(f"cannot read {path}: {error.strerror}") from error


def _event(line: bytes) -> Event | None:
    try:
        tree = json.loads(line)
    except ValueError:
        return None
    return tree if isinstance(tree, dict) else None


def row_of(event: Event) -> tuple[str, ...]:
    """Return the cells of an event."""
    user = event.get("user", "")
    claimed = event.get("claimed")
    return (
        str(event.get("time", "")),
        str(event.get("event", "")),
        str(event.get("outcome", "")),
        f"({claimed})" if claimed else str(user),
        str(event.get("address", "")),
        " ".join(_details(event)),
    )


def _details(event: Event) -> Iterator[str]:
    resource = event.get("resource")
    if isinstance(resource, dict):
        yield f"{resource.get('type')} {resource.get('name')!r}"
    for name in ("request", "resources", "errors", "reason", "mechanism", "of", "kind", "left_out"):
        if event.get(name):
            yield f"{name}={_text(event[name])}"
    before, after = event.get("before"), event.get("after")
    if before or after:
        yield f"{_text(before or {})} -> {_text(after or {})}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
