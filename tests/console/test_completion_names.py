"""The names that completions offer."""

from __future__ import annotations

import pytest

from console import completion_names
from console.cli import main
from tests.broker.gateway import Gateway
from tests.broker.groups import beating
from tests.broker.kit import create


def test_topics_and_groups_are_named(gateway: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    client = gateway.client()
    create(client, "orders", 1)
    create(client, "bills", 1)
    client.call(beating("billing", "m", topics=["orders"]), 1)
    assert completion_names.topics("h:1") == ["bills", "orders"]
    assert completion_names.groups("h:1") == ["billing"]
    assert main(["completion", "topics"]) == 0
    assert main(["completion", "groups"]) == 0
    assert capsys.readouterr().out == "bills\norders\nbilling\n"
