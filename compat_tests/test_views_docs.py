"""The examples of docs/views.md do what the page says: views of each kind, made, read by kcat and Spark."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.conftest import StartBroker
from compat_tests.kawal_broker import KAWAL
from compat_tests.spark import spark_session

pytestmark = pytest.mark.only_kawal("Apache Kafka has no views")

PAGE = Path(__file__).parent.parent / "docs" / "views.md"
SERVER = "127.0.0.1:9092"

TABLES = (
    r"\|\s*BA\|\s*1\|\s*\|\s*TP\|\s*1\|",
    r"\|\s*2\|\s*kawal.topic\|\s*arrivals\|\s*\|\s*3\|\s*kawal.topic\|\s*belts\|",
)
"""What Spark prints, one after the other."""


def printed(broker: Broker, shell: str) -> str:
    """Return what the commands print."""
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", shell.replace(SERVER, broker.bootstrap)],
        env={"PATH": f"{Path(KAWAL).parent}:/usr/bin:/bin", "KAWAL_BOOTSTRAP": broker.bootstrap},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, f"{shell}\n{ran.stderr}"
    return ran.stdout


def test_the_examples_are_right(start_broker: StartBroker, capsys: pytest.CaptureFixture[str]) -> None:
    """All on one server, from the top of the page to its end."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    broker = start_broker()
    names: dict[str, Any] = {"spark": spark_session()}
    shown = 0
    for (kind, body), (next_kind, result) in pairwise([*blocks, ("", "")]):
        if kind == "sh":
            found = printed(broker, body)
            if not next_kind and result:
                shown += 1
                assert found.endswith(result), found
        elif kind == "python":
            exec(body.replace(SERVER, broker.bootstrap), names)
    assert shown >= 5
    assert not [body for kind, body in blocks if body.startswith("$ ")]
    tables = capsys.readouterr().out.replace("\n", "")
    for table in TABLES:
        assert re.search(table, tables), tables
