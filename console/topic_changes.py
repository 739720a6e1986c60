"""The changes of `kawal topics alter`: more partitions, other configurations, all checked beforehand."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from console.admin import ask, check
from console.config_admin import alter, changes_of, find_resource, told
from console.errors import OK, CommandError, UsageError
from console.partition_offsets import LATEST, leaders_of, offsets_at
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.incremental_alter_configs import AlterableConfig

TIMEOUT_MS = 15_000


def alter_topics(
    bootstrap: str,
    topics: Sequence[str],
    *,
    partitions: int | None,
    sets: Sequence[str],
    deletes: Sequence[str],
    dry_run: bool,
) -> int:
    """Change topics, or only check whether that would work; print what was done to each.

    A topic that has records and gets partitions is warned of.

    Raises: UsageError; CommandError with the broker's reason, before anything is changed as far as the
    broker's own checks go.
    """
    changes = changes_of(sets=sets, deletes=deletes, appends=(), subtracts=())
    if partitions is None and not changes:
        raise UsageError("say what to change with --partitions, --config or --delete-config")
    resources = [find_resource(bootstrap, "topic", name) for name in topics]
    unordered: list[str] = []
    for only_check in (True,) if dry_run else (True, False):
        if changes:
            for resource in resources:
                alter(resource, changes, dry_run=only_check)
        if partitions is not None:
            _set_partitions(bootstrap, topics, partitions, dry_run=only_check)
            if only_check:
                unordered = [name for name in topics if _may_have_records(bootstrap, name)]
    verb = "could be changed" if dry_run else "changed"
    for resource in resources:
        print(f"{resource.words}: {verb}: {_told(partitions, changes)}")
    for name in unordered:
        print(
            f"kawal: warning: topic {name!r} has records: with other partitions, new records of a key may go"
            " to another one than before, and be read before earlier ones",
            file=sys.stderr,
        )
    return OK


def _may_have_records(bootstrap: str, topic: str) -> bool:
    """Whether something was ever written to a topic; true, too, where the broker does not tell."""
    try:
        leaders = leaders_of(bootstrap, [topic])
        return any(offsets_at(leaders, leaders, LATEST).values())
    except CommandError:
        return True


def _set_partitions(bootstrap: str, topics: Sequence[str], count: int, *, dry_run: bool) -> None:
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=count, assignments=None) for name in topics],
        timeout_ms=TIMEOUT_MS,
        validate_only=dry_run,
    )
    for result in ask(bootstrap, request, 2).results:
        check(result.error_code, result.error_message, f"topic {result.name!r}")


def _told(partitions: int | None, changes: Sequence[AlterableConfig]) -> str:
    words = [] if partitions is None else [f"{partitions} partitions"]
    return "; ".join([*words, *map(told, changes)])
