"""The rules for new views, and for their sources as long as there are views over them.

The functions decide and change nothing.  A view is made by CreateTopics with the configuration `kawal.sql`;
its definition is the normalised text with the types that its source's columns had then, so that the view
stays the same whatever becomes of them.  A view is read-only, and reads a topic, never another view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from broker.catalogue.catalogue_records import ViewDefinition
from broker.catalogue.databases import no_such_database
from broker.catalogue.view_drafts import Draft, layout_of
from broker.config.config_keys import ConfigError, nearest
from broker.config.kawal_topic_keys import (
    ALIAS_KEY,
    COLUMNS_KEY,
    DEFINING_NAMES,
    FROM_KEY,
    SCHEMA_SHOWN,
    SNAPSHOT_KEY,
    SOURCE_SHOWN,
    SPEED_KEY,
    SQL_KEY,
    TO_KEY,
    WINDOW_NAMES,
)
from broker.config.view_bounds import parse_bound, parse_speed
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.topics import Catalogue, Topic
    from views.columns import Columns
    from views.statement import Statement

ALIAS_KIND: Final = "alias"

META_KIND: Final = "stable_meta"
"""A STABLE view that shows changes of its topic as well."""

VIEWS_NAMED_MAX: Final = 5
"""The most views named in a refusal; there may be a thousand."""


def is_definition(configs: Mapping[str, str | None]) -> bool:
    """Whether a topic with these configurations is to be a view, even by an empty statement."""
    return any(configs.get(key.name) is not None for key in (SQL_KEY, ALIAS_KEY))


def check_not_windowed(configs: Mapping[str, str | None]) -> None:
    """Refuse keys that bound or pace a view where there is none.  Raises: RequestError(INVALID_CONFIG)."""
    stray = next((name for name in WINDOW_NAMES if configs.get(name) is not None), None)
    if stray is not None:
        raise RequestError(
            ErrorCode.INVALID_CONFIG,
            f"{stray!r} is for views, which show what a topic stores: set {ALIAS_KEY.name!r} or"
            f" {SQL_KEY.name!r} with it",
        )


def define_view(
    name: str, configs: Mapping[str, str | None], catalogue: Catalogue, draft: Draft | None = None
) -> ViewDefinition:
    """Return the definition of the new view `name`; `draft`: its statement, if there is one already.

    Raises: RequestError(INVALID_CONFIG), with a sentence that names the part of the statement at fault.
    """
    _check_alone(configs)
    window = defined_window(configs)
    alias = _alias_of(configs)
    _check_not_itself(name, alias)
    if alias:
        draft = Draft(f"STABLE `{source_topic(alias, catalogue).name}`", name)
    definition = define_statement(draft or Draft(configs[SQL_KEY.name] or "", name), catalogue)
    _check_has_times(definition, window)
    kind = ALIAS_KIND if alias else definition.kind
    return msgspec.structs.replace(definition, kind=kind, **window)


def define_statement(draft: Draft, catalogue: Catalogue) -> ViewDefinition:
    """Return the definition that a statement gives its view.

    Raises: RequestError(INVALID_CONFIG), as `define_view`.
    """
    from views.errors import ViewError

    try:
        statement = draft.statement()
        if statement.kind.value != "database":
            _check_not_itself(draft.name, statement.source)
        return DEFINERS[statement.kind.value](draft, catalogue)
    except ViewError as error:
        raise refused(str(error)) from error


def read_topic(statement: Statement, catalogue: Catalogue) -> Topic | None:
    """Return the topic that a statement reads, None if it reads a database.  Raises: as `source_topic`."""
    return None if statement.kind.value == "database" else source_topic(statement.source, catalogue)


def _alias_of(configs: Mapping[str, str | None]) -> str:
    """Return the topic that the view is another name of, "" if it has a statement."""
    alias = configs.get(ALIAS_KEY.name)
    if alias is None:
        return ""
    if not alias.strip():
        raise RequestError(
            ErrorCode.INVALID_CONFIG,
            f"{ALIAS_KEY.name!r} is empty; name the topic that the view is to show, or leave it out",
        )
    return alias.strip()


def defined_window(configs: Mapping[str, str | None]) -> dict[str, str]:
    """Return the bounds and the pace among the configurations, as a definition keeps them.

    Raises: RequestError(INVALID_CONFIG).
    """
    found = {}
    for field, key in (("start", FROM_KEY), ("end", TO_KEY), ("speed", SPEED_KEY)):
        raw = configs.get(key.name)
        if raw is None:
            continue
        try:
            key.parse(raw)
        except ConfigError as error:
            raise RequestError(ErrorCode.INVALID_CONFIG, str(error)) from error
        found[field] = f"{parse_speed(raw):g}" if key is SPEED_KEY else parse_bound(raw).text
    if _wants_snapshot(configs):
        if "speed" in found:
            raise RequestError(
                ErrorCode.INVALID_CONFIG,
                f"{SNAPSHOT_KEY.name} and {SPEED_KEY.name} exclude each other: a replay shows what has"
                " happened, a snapshot what came of it",
            )
        found["snapshot"] = "true"
    if "start" in found and "end" in found:
        first, last = parse_bound(found["start"]), parse_bound(found["end"])
        if first.is_offset == last.is_offset and first.value > last.value:
            raise RequestError(
                ErrorCode.INVALID_CONFIG,
                f"{FROM_KEY.name}={first.text!r} lies after {TO_KEY.name}={last.text!r}, so nothing would be"
                " shown; exchange the two",
            )
    return found


def _wants_snapshot(configs: Mapping[str, str | None]) -> bool:
    raw = configs.get(SNAPSHOT_KEY.name)
    if raw is None:
        return False
    try:
        return bool(SNAPSHOT_KEY.parse(raw))
    except ConfigError as error:
        raise RequestError(ErrorCode.INVALID_CONFIG, str(error)) from error


def _check_has_times(definition: ViewDefinition, window: Mapping[str, str]) -> None:
    """Refuse times as bounds of changes, which are not found by time: such a bound is never reached."""
    times = [window[name] for name in ("start", "end") if name in window]
    if definition.meta == "only" and not all(parse_bound(text).is_offset for text in times):
        raise RequestError(
            ErrorCode.INVALID_CONFIG,
            f"ONLY META shows changes, which are not found by their time: give {FROM_KEY.name} and"
            f" {TO_KEY.name} as offsets, like 'offset 4711'",
        )


def definition_configs(definition: ViewDefinition) -> dict[str, str]:
    """Return what is kept and shown as a view's own configurations."""
    if definition.kind == ALIAS_KIND:
        shown = {ALIAS_KEY.name: definition.source}
    else:
        shown = {SQL_KEY.name: definition.statement}
    values = definition.start, definition.end, definition.speed, definition.snapshot
    window = zip(WINDOW_NAMES, values, strict=True)
    return shown | {name: text for name, text in window if text}


def refused(problem: str) -> RequestError:
    """Return the error for a statement that cannot be a view."""
    return RequestError(ErrorCode.INVALID_CONFIG, f"{SQL_KEY.name}: {problem}")


def _check_not_itself(name: str, source: str) -> None:
    if name == source:
        raise refused(
            f"there is no topic {source!r} to read: a view cannot read itself; name a topic that stores"
            " records"
        )


def _check_alone(configs: Mapping[str, str | None]) -> None:
    if SQL_KEY.name in configs and ALIAS_KEY.name in configs:
        raise RequestError(
            ErrorCode.INVALID_CONFIG,
            f"{SQL_KEY.name!r} and {ALIAS_KEY.name!r} both say what the view shows; leave one of them out",
        )
    others = [name for name in configs if name not in DEFINING_NAMES]
    if others:
        raise RequestError(
            ErrorCode.INVALID_CONFIG,
            f"a view stores nothing, so {', '.join(map(repr, others))} cannot be set for it; set it for the"
            " topic that the view reads",
        )


def _over_topic(draft: Draft, catalogue: Catalogue) -> ViewDefinition:
    statement = draft.statement()
    source = source_topic(statement.source, catalogue)
    plan = draft.plan(layout_of(source))
    return ViewDefinition(
        kind=statement.kind.value if statement.meta.value == "none" else META_KIND,
        source=source.name,
        source_id=source.topic_id.hex,
        statement=statement.text,
        meta=statement.meta.value,
        used_columns=tuple(sorted(plan.used_columns)),
        schema=msgspec.json.encode(plan.schema).decode(),
    )


def over_database(draft: Draft, catalogue: Catalogue) -> ViewDefinition:
    """Return the definition of a view over all topics of a database."""
    statement = draft.statement()
    database = catalogue.databases.get(statement.source)
    if database is None or not database.recorded:
        raise refused(no_such_database(statement.source, catalogue.databases))
    if nothing := database.keeps_nothing:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"database {database.name!r} has {nothing}=0, which leaves a view nothing to show; alter it"
            " first",
        )
    return ViewDefinition(
        kind=statement.kind.value,
        source=database.name,
        statement=statement.text,
        meta=statement.meta.value,
    )


def declared(columns_text: str) -> Columns | None:
    """Return the columns that a topic's configuration declares, None when it declares none."""
    from views.columns import parse_columns

    return parse_columns(columns_text) if columns_text else None


DEFINERS: Final[dict[str, Callable[[Draft, Catalogue], ViewDefinition]]] = {
    "query": _over_topic,
    "stable": _over_topic,
    "unfit": _over_topic,
    "database": over_database,
}
"""The functions that make the definition of each kind of statement."""


def source_topic(name: str, catalogue: Catalogue) -> Topic:
    """Return the topic that a view is to read, by its name or by `database.name`.

    Raises: RequestError(INVALID_CONFIG).
    """
    found = catalogue.by_name.get(name) or in_database(name, catalogue)
    if found is None:
        close = nearest(name, catalogue.by_name)
        hint = f"; did you mean {close!r}?" if close else ""
        raise refused(f"there is no topic {name!r} to read{hint}")
    if found.view is not None:
        raise refused(
            f"{name!r} is a view over {found.view.source!r}; a view reads a topic that stores records:"
            f" select from {found.view.source!r}"
        )
    if found.internal:
        raise refused(f"{name!r} is an internal topic, which no view may read")
    return found


def in_database(name: str, catalogue: Catalogue) -> Topic | None:
    """Return the topic that `database.name` stands for, if there is one; names may have points themselves."""
    for at, sign in enumerate(name):
        topic = catalogue.by_name.get(name[at + 1 :]) if sign == "." else None
        if topic is not None and topic.view is None and topic.database == name[:at]:
            return topic
    return None


def partition_count(definition: ViewDefinition, catalogue: Catalogue) -> int:
    """Return the number of a view's partitions, which is that of its source."""
    if definition.source_id:
        return catalogue.by_name[definition.source].partition_count
    return catalogue.databases[definition.source].vnode_count


def check_partition_count(name: str, asked: int, count: int, source: str) -> None:
    """Check that a view is to have as many partitions as its source.  Raises: RequestError."""
    if asked not in (-1, count):
        raise RequestError(
            ErrorCode.INVALID_PARTITIONS,
            f"view {name!r} has the {count} partition(s) of {source!r}, but {asked} were asked for; ask for"
            f" {count}, or for -1",
        )


def check_writable(topic: Topic) -> None:
    """Refuse writing to a view.  Raises: RequestError(POLICY_VIOLATION)."""
    if topic.view is not None:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"{topic.name!r} is a view over {topic.view.source!r} and read-only; write to"
            f" {topic.view.source!r}",
        )


def check_changeable(topic: Topic, what: str) -> None:
    """Refuse a change of a view; `what` says why.  Raises: RequestError(POLICY_VIOLATION)."""
    if topic.view is not None:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"{topic.name!r} is a view over {topic.view.source!r}: {what}",
        )


def check_unused(topic: Topic, catalogue: Catalogue) -> None:
    """Check that no view reads the topic.  Raises: RequestError(POLICY_VIOLATION)."""
    views = [view.name for view in catalogue.views_over(topic)]
    if views:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION, f"{topic.name!r} is read by {named(views)}; delete them first"
        )


def named(views: list[str]) -> str:
    """Return the views in words, the first few by name."""
    shown = ", ".join(map(repr, views[:VIEWS_NAMED_MAX]))
    more = len(views) - VIEWS_NAMED_MAX
    kind = "the view" if len(views) == 1 else "the views"
    return f"{kind} {shown}" + (f" and {more} more" if more > 0 else "")


def check_columns_kept(topic: Topic, configs: Mapping[str, str], catalogue: Catalogue) -> None:
    """Refuse to drop a column that a view uses, or to change its type.

    Raises: RequestError(POLICY_VIOLATION) naming the column and the views.
    """
    before = topic.configs.get(COLUMNS_KEY.name, "")
    after = configs.get(COLUMNS_KEY.name, "")
    if before == after:
        return
    views = [view for view in catalogue.views_over(topic) if view.view and view.view.used_columns]
    if not views:
        return
    kept = {column.name: column for column in declared(after) or ()}
    for column in declared(before) or ():
        users = [view.name for view in views if view.view and column.name in view.view.used_columns]
        if users and kept.get(column.name) != column:
            how = "changed" if column.name in kept else "dropped"
            raise RequestError(
                ErrorCode.POLICY_VIOLATION,
                f"column {column.name!r} of {topic.name!r} cannot be {how}: it is used by {named(users)};"
                " delete them first",
            )


def check_settable(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Refuse to make an existing topic a view.  Raises: ConfigError."""
    added = next((name for name in sorted(DEFINING_NAMES) if name in after and name not in before), None)
    if added is not None:
        raise ConfigError(added, None, "is settled when a topic is created; it cannot be set for this one")


def shown_configs(topic: Topic) -> dict[str, str]:
    """Return a topic's configurations, with those derived from its definition if it is a view."""
    if topic.view is None:
        return topic.configs
    shown = {SOURCE_SHOWN.name: topic.view.source, SCHEMA_SHOWN.name: topic.view.schema}
    return {**topic.configs, **{name: value for name, value in shown.items() if value}}
