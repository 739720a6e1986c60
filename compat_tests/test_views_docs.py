"""The example at the head of docs/views.md does what the page says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from compat_tests.conftest import StartBroker
from compat_tests.kawal_broker import KAWAL
from compat_tests.spark import spark_session

pytestmark = pytest.mark.only_kawal("Apache Kafka has no views")

PAGE = Path(__file__).parent.parent / "docs" / "views.md"


def test_the_first_example_is_right(start_broker: StartBroker, capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text().split("## A view in five minutes")[1].split("\n## ")[0]
    blocks = re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL)
    broker = start_broker()
    shell = "".join(body for kind, body in blocks if kind == "sh").replace("127.0.0.1:9092", broker.bootstrap)
    path = f"{Path(KAWAL).parent}:/usr/bin:/bin"
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", shell],
        env={"PATH": path, "KAWAL_BOOTSTRAP": broker.bootstrap},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    (shown,) = [body for kind, body in blocks if not kind]
    assert ran.stdout.endswith(shown), ran.stdout
    (python,) = [body for kind, body in blocks if kind == "python"]
    names: dict[str, Any] = {"spark": spark_session()}
    exec(python.replace("127.0.0.1:9092", broker.bootstrap), names)
    table = capsys.readouterr().out
    assert re.search(r"\|\s*BA\|\s*1\|\s*\|\s*TP\|\s*1\|", table.replace("\n", "")), table
