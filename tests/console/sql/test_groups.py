"""Statements about groups against a whole broker with members and progress."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from console.errors import CommandError, UsageError
from tests.broker.groups import beating, committing
from tests.broker.kit import batch, create, send
from tests.console.sql.conftest import Sql


@pytest.fixture
def grouped(connect: Callable[..., Sql]) -> Sql:
    """Return a session with the topics t and u, and the group g, which reads t."""
    sql = connect(kawal_rebalance_interval_ms=0)
    client = sql.gateway.client()
    create(client, "t")
    create(client, "u")
    send(client, "t", batch(b"a", b"b"))
    client.call(committing("g", ("t", 0, 1), ("u", 0, 0)), 9)
    client.call(beating("g", "m", topics=["t"]), 1)
    return sql


def test_consumers_subscriptions_and_groups_are_shown(grouped: Sql) -> None:
    (consumer,) = grouped("SHOW CONSUMERS")
    assert (consumer["consumer_id"], consumer["consumer_group"], consumer["topics"]) == ("m", "g", ["t"])
    (row,) = [row for row in grouped("SHOW SUBSCRIPTIONS") if row["topic_name"] == "t"]
    assert (row["consumer_group"], row["offset"], row["end"], row["lag"]) == ("g", 1, 2, 1)
    assert row["vgroup_id"].startswith("default/vnode-")
    assert grouped("SHOW GROUPS")[0]["group_id"] == "g"


def test_progress_in_a_topic_without_subscribers_is_dropped(grouped: Sql) -> None:
    assert grouped("DROP CONSUMER GROUP g ON u") == "dropped g on u"
    assert [row["topic_name"] for row in grouped("SHOW SUBSCRIPTIONS")] == ["t"]
    with pytest.raises(CommandError, match="'g' has members that subscribe to 't'; stop them first"):
        grouped("DROP CONSUMER GROUP g ON t")


def test_a_whole_group_without_members_is_dropped(grouped: Sql) -> None:
    with pytest.raises(CommandError, match="'g'"):
        grouped("DROP CONSUMER GROUP g")
    grouped.gateway.client().call(beating("g", "m", -1), 1)
    assert grouped("DROP CONSUMER GROUP IF EXISTS g") == "dropped g"
    assert grouped("SHOW SUBSCRIPTIONS") == []


def test_if_exists_forgives_what_is_not_there(grouped: Sql) -> None:
    assert grouped("DROP CONSUMER GROUP IF EXISTS h ON t") == "h does not exist"
    assert grouped("DROP CONSUMER GROUP IF EXISTS h") == "h does not exist"
    assert grouped("DROP CONSUMER GROUP IF EXISTS g ON gone") == "gone does not exist"
    for text in ("DROP CONSUMER GROUP h ON t", "DROP CONSUMER GROUP h", "DROP CONSUMER GROUP g ON gone"):
        with pytest.raises(CommandError):
            grouped(text)


def test_force_is_refused_with_what_to_do(grouped: Sql) -> None:
    with pytest.raises(UsageError, match="DROP TOPIC FORCE"):
        grouped("DROP CONSUMER GROUP FORCE g ON t")
