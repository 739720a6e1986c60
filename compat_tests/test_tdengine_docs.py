"""The walk-through of docs/tdengine.md does what the page says: SQL, kcat and two Python clients."""

from __future__ import annotations

import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from compat_tests.conftest import StartBroker
from compat_tests.test_views_docs import SERVER, printed

pytestmark = pytest.mark.only_kawal("Apache Kafka has no statements")

PAGE = Path(__file__).parent.parent / "docs" / "tdengine.md"


def test_the_examples_are_right(start_broker: StartBroker) -> None:
    """All on one server, from the top of the page to its end."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    broker = start_broker()
    names: dict[str, Any] = {}
    shown = 0
    for (kind, body), (next_kind, result) in pairwise([*blocks, ("", "")]):
        found = ""
        if kind == "sh":
            found = printed(broker, body)
        elif kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(body.replace(SERVER, broker.bootstrap), names)
            found = out.getvalue()
        if kind in ("sh", "python") and not next_kind and result:
            shown += 1
            assert found == result
    assert shown >= 7


def test_the_tests_that_the_page_names_exist() -> None:
    root, text = PAGE.parent.parent, PAGE.read_text()
    files = set(re.findall(r"`((?:tests|compat_tests)/[\w/.]+\.py)`", text))
    assert len(files) > 10
    assert [name for name in sorted(files) if not (root / name).exists()] == []
    folders = (root / name for name in ("tests", "compat_tests"))
    every = "\n".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))
    named = set(re.findall(r"`(test_\w+)`", text))
    assert [name for name in sorted(named) if f"def {name}(" not in every] == []
