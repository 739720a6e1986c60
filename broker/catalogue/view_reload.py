"""RELOAD TOPIC: a view gets another definition and keeps its name, its id and the progress of its groups.

So the offsets of the view must go on to mean the same: its source stays, and so does the kind of its offsets,
which are its source's or, for databases and for changes of topics, versions.  Columns are taken as they are
declared now: this is how a view learns of columns that its source has gained, or of new types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from broker.catalogue.catalogue_records import ViewReloaded
from broker.catalogue.view_admin import (
    ALIAS_KIND,
    META_KIND,
    define_statement,
    definition_configs,
    refused,
)
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.topics import Catalogue, Topic
    from broker.catalogue.view_drafts import Draft

VERSIONED: Final = ("database", META_KIND)
"""The kinds of views whose offsets are versions of the log."""


def reload_record(topic: Topic, draft: Draft, catalogue: Catalogue) -> ViewReloaded:
    """Return the record that gives the view `topic` the definition in a statement, which the view keeps.

    Raises: RequestError(INVALID_CONFIG), with a sentence that names what is at fault.
    """
    before = topic.view
    if before is None:
        raise RequestError(
            ErrorCode.INVALID_CONFIG,
            f"{topic.name!r} stores records: only a view can be reloaded with another statement",
        )
    if before.kind == ALIAS_KIND:
        raise RequestError(
            ErrorCode.INVALID_CONFIG,
            f"{topic.name!r} is an alias of {before.source!r}, which has no statement; drop it, and create a"
            " view",
        )
    definition = define_statement(draft, catalogue)
    if (definition.source, definition.source_id) != (before.source, before.source_id):
        raise refused(
            f"{topic.name!r} reads {before.source!r}, and groups have offsets of that; a view of"
            f" {definition.source!r} needs another name"
        )
    if (definition.kind in VERSIONED) != (before.kind in VERSIONED):
        raise refused(
            f"the offsets of {topic.name!r} would have another meaning with the changes of its topic, or"
            " without them; drop it, and create it again"
        )
    window = {"start": before.start, "end": before.end, "speed": before.speed, "snapshot": before.snapshot}
    definition = replace(definition, **window)
    return ViewReloaded(topic_id=topic.topic_id.hex, configs=definition_configs(definition), view=definition)
