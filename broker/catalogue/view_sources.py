"""The source that a view is to read, and whether the client that makes the view may read it.

It is asked before the statement is looked at closely: an error that names a column, or another topic, would
show what the client may not see.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from broker.catalogue.catalogue_records import ViewDefinition
from broker.catalogue.topics import Catalogue
from broker.config.kawal_topic_keys import ALIAS_KEY
from broker.security.authorized_operations import Operation
from broker.security.rights import Rights

if TYPE_CHECKING:
    from broker.catalogue.view_drafts import Draft


class Source(NamedTuple):
    """A topic, or a database with all its topics."""

    name: str
    is_database: bool


def source_of_view(view: ViewDefinition) -> Source:
    """Return the source of a view that exists."""
    return Source(view.source, is_database=not view.source_id)


def asked_source(configs: Mapping[str, str | None], draft: Draft | None) -> Source | None:
    """Return the source that the configurations of a new topic, and the statement among them, ask for.

    None: it is no view, or its statement cannot be read, which is an error whatever the client may do.
    """
    alias = (configs.get(ALIAS_KEY.name) or "").strip()
    if alias:
        return Source(alias, is_database=False)
    if draft is None:
        return None
    from views.errors import ViewError

    try:
        statement = draft.statement()
    except ViewError:
        return None
    return Source(statement.source, is_database=statement.kind.value == "database")


def may_read_source(rights: Rights, catalogue: Catalogue, source: Source) -> bool:
    """Whether a client may make a view of the source, and so let others read it.

    For a database it must be allowed to read every topic there is, and `*`, which stands for those to come.
    """
    if not source.is_database:
        return rights.may_topic(Operation.READ, source.name)
    return rights.may_topic(Operation.READ, "*") and all(
        rights.may_topic(Operation.READ, topic.name)
        for topic in catalogue.by_name.values()
        if topic.database == source.name
    )
