"""The session finds topics by name, and by name and database."""

from __future__ import annotations

import pytest

from console.errors import CommandError
from tests.broker.databases import create_database
from tests.broker.kit import create
from tests.console.sql.conftest import Sql


def test_a_topic_may_be_named_with_its_database(sql: Sql) -> None:
    client = sql.gateway.client()
    create_database(client, "d", vnodes="1")
    create(client, "t", 1, **{"kawal.database": "d"})
    create(client, "x.t", 1)
    session = sql.session
    assert session.topic("d.t").name == "t"
    assert session.topic("x.t").name == "x.t"
    assert session.find_topic("other.t") is None
    with pytest.raises(CommandError, match=r"there is no topic 'd\.u'"):
        session.topic("d.u")


def test_the_time_of_day_is_in_milliseconds() -> None:
    from console.sql.session import Session

    assert Session("h:1").now_ms() > 1_700_000_000_000
