"""Requests that create and delete topics."""

from __future__ import annotations

import pytest

from console.errors import CommandError
from console.sql.topic_requests import TOPIC_EXISTS, checked, create_topic, delete_topic
from tests.console.sql.conftest import Sql


def test_a_topic_is_created_once_and_deleted(sql: Sql) -> None:
    assert create_topic(sql.session, "t", {"retention.ms": "7"}, partitions=3).error_code == 0
    assert sql.session.topic("t").partitions == 3
    again = create_topic(sql.session, "t", {})
    assert again.error_code == TOPIC_EXISTS
    with pytest.raises(CommandError, match="'t': Topic 't' already exists"):
        checked(again, "t")
    assert delete_topic(sql.session, "t").error_code == 0
    assert sql.session.find_topic("t") is None
