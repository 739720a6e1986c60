"""The effects of records that change a topic: other configs, or another definition of a view.

broker/catalogue/view_reload.py has the rules of definitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Protocol, TypeAlias

from msgspec.structs import replace

from broker.catalogue.catalogue_records import TopicConfigs, ViewDefinition, ViewReloaded
from broker.catalogue.settings_plan import plan_nothing


class Reloadable(Protocol):
    """A topic, as far as its definition goes."""

    name: str
    view: ViewDefinition | None
    configs: dict[str, str]

    def forget_settings(self) -> None:
        """Have the effective settings computed anew."""


Halves: TypeAlias = tuple[Callable[[], None], Callable[[], None]]
"""The action for when a planned change is durable, and the one for when it is lost."""


def plan_reload(topic: Reloadable, record: ViewReloaded, meta_views: Counter[str], database: str) -> Halves:
    """Plan the change of the definition; `meta_views` counts the views of each database that show changes."""
    before, configs = topic.view, topic.configs
    assert before is not None, f"topic {topic.name!r} is not a view"
    # Until the new definition counts, the columns of both are in use.
    used = tuple(sorted({*before.used_columns, *record.view.used_columns}))
    topic.view = replace(before, used_columns=used)

    def put(view: ViewDefinition, configs: dict[str, str]) -> None:
        topic.view, topic.configs = view, configs
        topic.forget_settings()

    def confirm() -> None:
        meta_views[database] += (record.view.meta != "none") - (before.meta != "none")
        put(record.view, dict(record.configs))

    return confirm, lambda: put(before, configs)


def plan_topic_configs(topic: Reloadable, record: TopicConfigs) -> Halves:
    """Set a topic's own configs, at once."""
    before = topic.configs

    def put(configs: dict[str, str]) -> None:
        topic.configs = configs
        topic.forget_settings()

    put(dict(record.configs))
    return plan_nothing, lambda: put(before)
