"""Groups in the web console, over HTTP, beside any broker."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.broker import HOST, Broker
from compat_tests.kawal_broker import KAWAL
from compat_tests.test_web_console import Started, fetched


@pytest.fixture
def console(broker: Broker, tmp_path: Path) -> Iterator[int]:
    """Yield the port of a console for this broker."""
    started = Started(tmp_path / "run", "console", "--bootstrap", broker.bootstrap, "--listen", f"{HOST}:0")
    yield started.port("kawal console http://")
    started.end()


def kawal(broker: Broker, *words: str, given: str = "") -> None:
    subprocess.run(
        [KAWAL, *words, "--bootstrap", broker.bootstrap], check=True, timeout=60, input=given.encode()
    )


def test_a_group_is_listed_and_shown_with_its_lag_and_reset_after_a_preview(
    broker: Broker, console: int
) -> None:
    topic, group = "web-groups", "web-groups-1"
    kawal(broker, "topics", "create", topic, "--partitions", "1")
    kawal(broker, "produce", topic, given="a\nb\nc\n")
    kawal(broker, "groups", "reset-offsets", group, "--topic", topic, "--to", "1", "--execute")
    names = [row["group"] for row in json.loads(fetched(console, "/groups?as=json")[1])]
    assert group in names
    (row,) = json.loads(fetched(console, f"/groups/{group}?as=json")[1])
    assert (row["offset"], row["end"], row["lag"]) == (1, 3, 2)
    status, preview = fetched(console, f"/groups/{group}/reset?to=earliest")
    assert (status, "1 again" in preview) == (200, True)
    for path in ("/map", f"/topics/{topic}/readers", f"/topics/{topic}/config", "/databases"):
        assert fetched(console, path)[0] == 200
