"""The setting by which a topic's records declare their sub-tables, of the topic and of its database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from broker.config.config_keys import ConfigType, Key

SQL: Final = "sql"
AUTO: Final = "auto"

DECLARE_KEY: Final = Key(
    "kawal.tables.declare",
    ConfigType.STRING,
    SQL,
    "How sub-tables, the keys of the topic, come to be known: by CREATE TABLE alone (`sql`), or by their"
    " records as well (`auto`), which views WITH META then show as changes.",
    choices=(SQL, AUTO),
)

DATABASE_NAME: Final = "tables.declare"
"""The setting of a database: the one that topics get that are created in it without their own."""

DECLARATIONS: Final = "kawal.tables."
"""The beginning of the names of topics of declarations, whose keys are those of other topics."""


def declares_tables(configs: Mapping[str, str]) -> bool:
    """Whether the records of a topic with these configurations declare sub-tables."""
    return configs.get(DECLARE_KEY.name) == AUTO


def with_default(name: str, configs: dict[str, str], database: Mapping[str, str]) -> dict[str, str]:
    """Return the configurations of a new topic, with the setting that its database has for it."""
    default = database.get(DATABASE_NAME, SQL)
    if default == SQL or DECLARE_KEY.name in configs or name.startswith((DECLARATIONS, "__")):
        return configs
    return configs | {DECLARE_KEY.name: default}
