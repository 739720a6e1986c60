"""kawal.tables.declare, of a topic and as the default of its database."""

from __future__ import annotations

import pytest

from broker.config.config_keys import ConfigError
from broker.config.database_keys import checked
from broker.config.table_keys import DECLARE_KEY, declares_tables, with_default


def test_only_auto_declares_tables() -> None:
    assert declares_tables({"kawal.tables.declare": "auto"})
    assert not declares_tables({"kawal.tables.declare": "sql"})
    assert not declares_tables({})


def test_other_values_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"sql.*auto"):
        DECLARE_KEY.parse("always")
    with pytest.raises(ConfigError, match=r"tables\.declare"):
        checked({"tables.declare": "always"})


@pytest.mark.parametrize("name", ["kawal.tables.d", "__consumer_offsets"])
def test_declarations_and_internal_topics_declare_nothing(name: str) -> None:
    assert with_default(name, {}, {"tables.declare": "auto"}) == {}


def test_a_topic_has_its_own_setting_or_its_database_s() -> None:
    own = {"kawal.tables.declare": "sql"}
    assert with_default("t", own, {"tables.declare": "auto"}) == own
    assert with_default("t", {}, {"tables.declare": "auto"}) == {"kawal.tables.declare": "auto"}
    assert with_default("t", {}, {"tables.declare": "sql"}) == {}
    assert with_default("t", {}, {}) == {}
