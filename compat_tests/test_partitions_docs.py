"""The example of docs/partitions.md does what the page says: what each command prints is on the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compat_tests.conftest import StartBroker
from compat_tests.test_views_docs import printed

pytestmark = pytest.mark.only_kawal("partitions of Apache Kafka do not split")

PAGE = Path(__file__).parent.parent / "docs" / "partitions.md"


def _joined(example: str) -> str:
    """Return the example with each command in one line."""
    return example.replace("\\\n", " ")


def test_the_examples_are_right(start_broker: StartBroker) -> None:
    """All on one server, from the page's first line to its last."""
    examples = re.findall(r"^```\n(\$ .*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(examples) == 2
    broker = start_broker()
    for example in examples:
        parts = re.split(r"^\$ ", _joined(example), flags=re.MULTILINE)[1:]
        commands = [part.partition("\n") for part in parts]
        assert len(commands) >= 3
        for command, _, shown in commands:
            assert printed(broker, command) == shown, command


def test_the_statement_is_right(start_broker: StartBroker) -> None:
    (statement,) = re.findall(r"`(ALTER TOPIC [^`]*)`", PAGE.read_text())
    broker = start_broker()
    printed(
        broker,
        "kawal topics create orders --config kawal.partition.autosplit.mode=up"
        " --config kawal.partition.write.bytes.per.sec=2000000",
    )
    printed(broker, f"kawal sql '{statement}'")
    described = printed(broker, "kawal topics describe orders")
    assert re.search(r"^kawal\.partition\.autosplit\.mode +paused ", described, re.MULTILINE), described
