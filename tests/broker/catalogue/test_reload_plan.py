"""The effect of a reload on the catalogue, while its record is on its way and when it is lost."""

from __future__ import annotations

from uuid import UUID

from broker.catalogue.catalogue_records import (
    DatabaseCreated,
    TopicCreated,
    ViewDefinition,
    ViewReloaded,
)
from broker.catalogue.catalogue_replay import replay_all
from broker.catalogue.topics import Catalogue

SOURCE, VIEW = UUID(int=1).hex, UUID(int=2).hex
BEFORE = ViewDefinition(kind="stable_meta", source="t", source_id=SOURCE, meta="with", used_columns=("a",))
AFTER = ViewDefinition(kind="query", source="t", source_id=SOURCE, statement="x", used_columns=("b",))
RELOAD = ViewReloaded(topic_id=VIEW, configs={"kawal.sql": "x"}, view=AFTER)


def topic(identity: str, name: str, view: ViewDefinition | None = None) -> TopicCreated:
    return TopicCreated(
        name=name,
        topic_id=identity,
        database="default",
        first_stream=0,
        partition_count=1,
        first_vnode=0,
        created_ms=0,
        view=view,
    )


def catalogue() -> Catalogue:
    default = DatabaseCreated(name="default", vnode_count=1, durability="disk")
    return replay_all([default, topic(SOURCE, "t"), topic(VIEW, "v", BEFORE)])


def test_columns_of_both_definitions_are_in_use_until_the_new_one_counts() -> None:
    known = catalogue()
    change = known.plan(RELOAD)
    view = known.by_name["v"].view
    assert view is not None
    assert (view.kind, view.used_columns) == ("stable_meta", ("a", "b"))
    change.confirm()
    assert known.by_name["v"].view == AFTER
    assert known.by_name["v"].configs == {"kawal.sql": "x"}
    assert known.meta_views["default"] == 0


def test_a_reload_that_is_lost_leaves_the_view_as_it_was() -> None:
    known = catalogue()
    known.plan(RELOAD).undo()
    assert known.by_name["v"].view == BEFORE
    assert known.meta_views["default"] == 1


def test_a_snapshot_has_the_reloaded_definition() -> None:
    known = catalogue()
    known.replay(RELOAD)
    again = replay_all(known.snapshot())
    assert again.by_name["v"].view == AFTER
    assert again.by_name["v"].configs == {"kawal.sql": "x"}
