"""A `default` that is less safe than other databases is told of."""

from __future__ import annotations

import logging

import pytest

from broker.storage.mixed_classes import mixed_classes
from protocol.messages.kawal_databases import DatabaseAction
from tests.broker.databases import asking
from tests.broker.upkeep.remote import Remote
from wal.options import Durability


@pytest.mark.parametrize("own", ["disk", "os"])
def test_databases_of_class_remote_beside_a_default_of_another_are_named(own: Durability) -> None:
    text = mixed_classes({"default": own, "b": "remote", "a": "remote", "c": "disk"})
    assert text is not None
    assert text.startswith(f"a, b: durability 'remote' beside 'default' of durability '{own}'")
    many = mixed_classes({"default": own, **{f"d{number}": "remote" for number in range(5)}})
    assert many is not None
    assert many.startswith("d0, d1, d2 and 2 more: ")


def test_nothing_is_told_while_default_is_as_safe_or_nothing_is_safer() -> None:
    assert mixed_classes({"default": "remote", "a": "remote", "b": "disk"}) is None
    assert mixed_classes({"default": "disk", "a": "os"}) is None
    assert mixed_classes({}) is None


def test_the_log_warns_at_create_and_alter_once_for_each_time_that_it_becomes_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def ask(action: DatabaseAction, name: str, **settings: str) -> list[str]:
        caplog.clear()
        with caplog.at_level(logging.WARNING, "kawal.broker"):
            client = remote.gateway.client()
            client.send(asking(action, name, validate_only=False, **settings), 0)
            for _ in range(3):
                remote.run_all()
                remote.gateway.advance(1)
            (answer,) = client.answers()
            assert answer.databases[0].error_code == 0
        return [record.message for record in caplog.records if "beside 'default'" in record.message]

    remote = Remote(kawal_durability="disk").opened_without_journal()
    assert ask(DatabaseAction.CREATE, "a") == []
    (created,) = ask(DatabaseAction.CREATE, "b", durability="remote")
    assert created.startswith("b: ")
    assert "kawal databases alter default" in created
    assert ask(DatabaseAction.CREATE, "c") == []
    (altered,) = ask(DatabaseAction.ALTER, "a", durability="remote")
    assert altered.startswith("a, b: ")
    assert ask(DatabaseAction.ALTER, "default", durability="remote") == []
