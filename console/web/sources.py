"""A topic as a search sees it: columns, kind, and what is masked of it.

All of it is in the topic's configurations, asked for by DescribeConfigs, which every broker answers; one that
is not Kawal knows none of Kawal's, and its topics have no columns then.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from console.config_admin import describe, find_resource
from console.errors import CommandError
from console.web.errors import PageError
from console.web.masked_plans import mask_of_view
from console.web.masks import EVERYTHING, NO_MASK, Masks, TopicMask, joined_masks
from views.column_types import parse_type
from views.columns import Column, Columns, parse_columns
from views.errors import ViewError
from views.plan import Plan, restore_plan
from views.statement import Kind, parse_view

COLUMNS, SQL, ALIAS, SCHEMA, FORMAT, IDS = (
    "kawal.columns", "kawal.sql", "kawal.alias.of", "kawal.schema", "kawal.value.format", "kawal.message.ids",
)  # fmt: skip
CLEANUP: Final = "cleanup.policy"
KEYS: Final = (COLUMNS, SQL, ALIAS, SCHEMA, FORMAT, CLEANUP, IDS)


@dataclass(frozen=True, slots=True)
class Source:
    """A topic that is read, or searched."""

    topic: str
    columns: Columns | None = None
    """The declared columns; of a view, those of its statement; None: there are none."""
    framed: bool = False
    """Whether values are framed for a schema registry, which only the server reads."""
    reads: str = ""
    """The topic that it is a view or alias of; "" when it has records of its own."""
    is_view: bool = False
    compacted: bool = False
    mask: TopicMask = NO_MASK
    has_ids: bool = False
    """Whether its messages have ids."""
    problem: str = ""
    """Why its configurations are not known."""

    @property
    def counts_offsets(self) -> bool:
        """Whether the number of its offsets is not that of its records."""
        return self.is_view or self.compacted


def source_of(bootstrap: str, topic: str, masks: Masks) -> Source:
    """Return what is known of a topic.  Raises: LinkLost and others when there is no answer at all."""
    own = masks.of(topic)
    try:
        configs = _configs(bootstrap, topic)
        if configs.get(ALIAS):
            return _alias(bootstrap, topic, str(configs[ALIAS]), masks)
        if configs.get(SQL):
            return _view(bootstrap, topic, configs, masks)
        columns = parse_columns(configs[COLUMNS]) if configs.get(COLUMNS) else None
    except CommandError as error:
        # Its source, and so its masks, are not known.
        return Source(topic, mask=EVERYTHING if masks else own, problem=str(error))
    except ViewError as error:
        return Source(topic, mask=EVERYTHING if masks else own, problem=error.problem)
    framed = configs.get(FORMAT) == "registry"
    compacted = "compact" in (configs.get(CLEANUP) or "")
    has_ids = configs.get(IDS) == "true"
    return Source(topic, columns, framed, compacted=compacted, mask=own, has_ids=has_ids)


def _alias(bootstrap: str, topic: str, of: str, masks: Masks) -> Source:
    source = source_of(bootstrap, of, masks)
    mask = joined_masks(masks.of(topic), source.mask)
    return Source(
        topic, source.columns, source.framed, of, True, source.compacted, mask, problem=source.problem
    )


def _view(bootstrap: str, topic: str, configs: dict[str, str], masks: Masks) -> Source:
    statement = parse_view(configs[SQL])
    reads = statement.source
    if statement.kind is Kind.DATABASE:
        return Source(topic, None, False, reads, True, mask=EVERYTHING if masks else NO_MASK)
    schema: dict[str, Any] = json.loads(configs.get(SCHEMA) or "{}")
    plan = restore_plan(configs[SQL], schema)
    source = source_of(bootstrap, reads, masks)
    columns = _columns_of(schema) if plan.output is not None else source.columns
    mask = joined_masks(masks.of(topic), mask_of_view(plan, source.mask))
    framed = source.framed and plan.output is None
    return Source(topic, columns, framed, reads, True, source.compacted, mask, problem=source.problem)


def _columns_of(schema: dict[str, Any]) -> Columns | None:
    found = []
    for column in schema.get("columns") or ():
        kind = parse_type(column["type"])
        if kind is not None:
            found.append(Column(column["name"], kind))
    return Columns(tuple(found)) if found else None


def _configs(bootstrap: str, topic: str) -> dict[str, str]:
    found = describe(find_resource(bootstrap, "topic", topic), KEYS, synonyms=False)
    return {config.name: config.value for config in found if config.value is not None}


def check_readable(source: Source, plan: Plan) -> None:
    """Raise PageError when only the server can evaluate a plan over this source."""
    if source.framed and plan.framed:
        raise PageError(
            400,
            f"the values of {source.topic!r} are framed for a schema registry, which only the server reads: "
            "save the search as a topic, and read that",
        )
