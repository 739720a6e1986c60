"""More than 400 wrong command lines end with one helpful sentence each, and the right code."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import pytest

from compat_tests.broker import HOST
from compat_tests.conftest import StartBroker
from compat_tests.first_hour.wrong_lines import NOBODY, ROUGH, made, problem_with, problem_with_rough, tried
from compat_tests.kawal_broker import KAWAL
from compat_tests.test_console import kawal
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

pytestmark = pytest.mark.only_kawal("our own command line")


@pytest.fixture(autouse=True)
def nothing_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setenv("KAWAL_BOOTSTRAP", NOBODY)


def test_what_the_arguments_do_not_allow_is_told() -> None:
    lines = list(made())
    problems = [problem for line in lines if (problem := problem_with(line))]
    assert problems == [], "\n".join(problems)
    assert len(lines) > 300


def test_the_mistakes_of_people_are_told(start_broker: StartBroker) -> None:
    broker = start_broker(kawal_http_listen=f"{HOST}:0")
    create_topic(broker, "there")
    found = eventually(
        lambda: re.search(r"health are at http://(\S+)\n", broker.process.output()),
        waiting_for="the HTTP port",
    )
    assert found is not None
    lines = tried(broker.bootstrap, found[1])
    problems = [problem for line in lines if (problem := problem_with(line))]
    assert problems == [], "\n".join(problems)
    assert len(lines) > 120


def test_outputs_inputs_and_places_that_cannot_be_used_are_told(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    broker = start_broker()
    create_topic(broker, "full")
    kawal(broker, "produce", "full", stdin=b"a record of some length\n" * 10_000)
    variables = {
        "PATH": f"{Path(KAWAL).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "FOLDER": str(tmp_path),
        "DATA": str(broker.directory / "data"),
        "KAWAL_BOOTSTRAP": broker.bootstrap,
    }
    problems = [problem for code, line in ROUGH if (problem := problem_with_rough(code, line, variables))]
    assert problems == [], "\n".join(problems)
