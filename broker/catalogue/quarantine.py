"""The configuration `kawal.quarantine=NAME`: a topic's own view of the records that do not fit its columns.

It is a convenience: when it is set, at creation or later, the view `UNFIT topic` of that name is made in the
same step, so that both exist or neither does.  From then on the view is a topic like others: unsetting the
configuration, or naming another view, removes nothing, and deleting the view unsets it.
The functions decide and make catalogue records; they change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from uuid import UUID

import msgspec

from broker.catalogue.catalogue_records import TopicConfigs, TopicCreated, ViewDefinition
from broker.catalogue.guards import check_room, check_view_room
from broker.catalogue.topics import INTERNAL_TOPICS, Catalogue, Topic
from broker.catalogue.view_admin import declared, definition_configs
from broker.config.config import Config
from broker.config.kawal_topic_keys import COLUMNS_KEY, QUARANTINE_KEY
from broker.config.topic_names import collision_key
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from random import Random

UNFIT_KIND: Final = "unfit"


def quarantine_record(
    source: TopicCreated, before: str, *, catalogue: Catalogue, config: Config, random: Random, wall_ms: int
) -> TopicCreated | None:
    """Return the record that creates the quarantine named in the configurations of `source`, if any.

    `source` is the topic as it will be, and `before` its quarantine so far: the same name again asks for
    nothing.  None, too, when the view already exists.

    Raises: RequestError(INVALID_CONFIG), when the topic has no columns or the name is another topic's.
    """
    name = source.configs.get(QUARANTINE_KEY.name, "")
    if name in ("", before):
        return None
    definition = _definition(source, name)
    existing = catalogue.by_name.get(name)
    if existing is not None:
        _check_same(existing, source, definition)
        return None
    _check_free(name, source.name, catalogue)
    # The source itself may not be counted yet.
    is_new = source.name not in catalogue.by_name
    check_room(source.partition_count * (1 + is_new), "default", catalogue, config)
    check_view_room(catalogue, config)
    return TopicCreated(
        name=name,
        topic_id=UUID(int=random.getrandbits(128), version=4).hex,
        database="default",
        first_stream=0,
        partition_count=source.partition_count,
        first_vnode=0,
        created_ms=wall_ms,
        replication_factor=source.replication_factor,
        configs=definition_configs(definition),
        view=definition,
    )


def unset_record(view: Topic, catalogue: Catalogue) -> TopicConfigs | None:
    """Return the record that unsets the configuration that names a view to be deleted, if any."""
    if view.view is None or view.view.kind != UNFIT_KIND:
        return None
    source = catalogue.by_id[UUID(hex=view.view.source_id)]
    if source.configs.get(QUARANTINE_KEY.name) != view.name:
        return None
    kept = {name: text for name, text in source.configs.items() if name != QUARANTINE_KEY.name}
    return TopicConfigs(topic_id=source.topic_id.hex, configs=kept)


def as_created(topic: Topic, configs: Mapping[str, str]) -> TopicCreated:
    """Return the record of an existing topic with the configurations that it is to have."""
    return TopicCreated(
        name=topic.name,
        topic_id=topic.topic_id.hex,
        database=topic.database,
        first_stream=0,
        partition_count=topic.partition_count,
        first_vnode=topic.first_vnode,
        created_ms=topic.created_ms,
        replication_factor=topic.replication_factor,
        configs=dict(configs),
    )


def _definition(source: TopicCreated, name: str) -> ViewDefinition:
    from views.errors import ViewError
    from views.plan import plan_view
    from views.statement import parse_view

    columns_text = source.configs.get(COLUMNS_KEY.name, "")
    if not columns_text:
        raise _refused(
            name, f"{source.name!r} declares no columns that a record could not fit; set {COLUMNS_KEY.name!r}"
        )
    if source.name in INTERNAL_TOPICS:
        raise _refused(name, f"{source.name!r} is an internal topic, which no view may read")
    statement = parse_view(f"UNFIT `{source.name}`")
    try:
        plan = plan_view(statement, declared(columns_text))
    except ViewError as error:
        raise _refused(name, str(error)) from error
    return ViewDefinition(
        kind=UNFIT_KIND,
        source=source.name,
        source_id=source.topic_id,
        statement=statement.text,
        used_columns=tuple(sorted(plan.used_columns)),
        schema=msgspec.json.encode(plan.schema).decode(),
    )


def _check_same(existing: Topic, source: TopicCreated, wanted: ViewDefinition) -> None:
    """Check that an existing topic is the wanted view.  Raises: RequestError."""
    from views.statement import parse_view

    view = existing.view
    is_of_source = view is not None and (view.kind, view.source_id) == (UNFIT_KIND, source.topic_id)
    if view is None or not is_of_source or view.is_windowed:
        raise _refused(existing.name, f"there is a topic of that name, which is not {wanted.statement}")
    statement = parse_view(view.statement)
    if statement.columns or statement.predicate is not None:
        raise _refused(existing.name, f"the view of that name is {view.statement}, not {wanted.statement}")
    if view.schema != wanted.schema:
        raise _refused(
            existing.name,
            f"the view of that name was made when {source.name!r} had other columns; delete it first",
        )


def _check_free(name: str, source: str, catalogue: Catalogue) -> None:
    if name == source:
        raise _refused(name, "a topic cannot be its own quarantine; choose another name")
    other = catalogue.collision_names.get(collision_key(name))
    if other is None and collision_key(name) == collision_key(source):
        other = source
    if other is not None:
        raise _refused(name, f"the name collides with that of topic {other!r}; choose another one")


def _refused(name: str, problem: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_CONFIG, f"{QUARANTINE_KEY.name}={name!r}: {problem}")
