"""Topics and configurations that are tried before they are made."""

from __future__ import annotations

import pytest

from console.errors import CommandError
from console.link import LinkLost
from console.web.creation import (
    create_command,
    create_topic,
    problem_of_config,
    problem_of_creation,
    set_config,
)
from tests.broker.kit import create
from tests.console.web.kit import ADDRESS, Web


def test_a_try_creates_nothing() -> None:
    web = Web()
    with web.at_work():
        assert problem_of_creation(ADDRESS, "t", {"retention.ms": "5"}) == ""
        create_topic(ADDRESS, "t", {"retention.ms": "5"}, dry_run=True)
        create_topic(ADDRESS, "t", {"retention.ms": "5"}, dry_run=False)
        assert "exists" in problem_of_creation(ADDRESS, "t", {})
        with pytest.raises(CommandError, match="exists"):
            create_topic(ADDRESS, "t", {}, dry_run=False)


def test_a_configuration_that_would_be_refused_is_told() -> None:
    web = Web()
    create(web.broker.client(), "t")
    with web.at_work():
        assert "retention.ms" in problem_of_config(ADDRESS, "t", "retention.ms", "soon")
        assert problem_of_config(ADDRESS, "t", "retention.ms", "5") == ""
        set_config(ADDRESS, "t", "retention.ms", "5", dry_run=False)


def test_a_broker_that_is_away_is_no_refusal() -> None:
    web = Web()
    web.away = True
    with web.at_work():
        with pytest.raises(LinkLost):
            problem_of_creation(ADDRESS, "t", {})
        with pytest.raises(LinkLost):
            problem_of_config(ADDRESS, "t", "retention.ms", "5")


def test_the_command_is_quoted_for_a_shell() -> None:
    command = create_command("b:1", "a b", {"kawal.sql": "SELECT '$(x)' FROM t"})
    assert command == (
        "kawal topics create 'a b' --config 'kawal.sql=SELECT '\"'\"'$(x)'\"'\"' FROM t' --bootstrap b:1"
    )
