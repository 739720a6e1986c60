"""The tour of README.md, as a reader would take it: every block in its order, and what it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from compat_tests.conftest import StartBroker
from compat_tests.kawal_broker import KAWAL
from compat_tests.spark import spark_session

pytestmark = pytest.mark.only_kawal("our own README")

ROOT = Path(__file__).parent.parent
SERVER = "127.0.0.1:9092"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def tour() -> list[tuple[str, str, str]]:
    """Return kind, text and output of each block."""
    text = (ROOT / "README.md").read_text()
    blocks = BLOCK.findall(text[text.index("## A tour") : text.index("## What it does today")])
    return [
        (kind, body, output if not next_kind else "")
        for (kind, body), (next_kind, output) in pairwise([*blocks, ("", "")])
        if kind
    ]


def test_every_block_prints_what_the_page_says(
    start_broker: StartBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = start_broker()
    for kind, body, output in tour():
        text = body.replace(SERVER, broker.bootstrap)
        if "SparkSession" in body:
            spark_session()  # the one of these tests, which the block then gets
            capsys.readouterr()
            exec(text)
            assert capsys.readouterr().out.strip() == output.strip()
        else:
            assert printed(kind, text, broker.bootstrap) == output, body


def printed(kind: str, text: str, bootstrap: str) -> str:
    """Return what a block prints."""
    program = ["bash", "-euo", "pipefail", "-c"] if kind == "sh" else [sys.executable, "-c"]
    ended = subprocess.run(
        [*program, text],
        cwd=ROOT,
        env={"PATH": f"{Path(KAWAL).parent}:/usr/bin:/bin", "KAWAL_BOOTSTRAP": bootstrap},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, f"{text}\n{ended.stderr}"
    return ended.stdout


def test_docs_begin_with_a_page_that_names_them_all() -> None:
    page = (ROOT / "docs/README.md").read_text()
    named = set(re.findall(r"\(([\w-]+\.md)\)", page))
    there = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert named == there - {"README.md"}
