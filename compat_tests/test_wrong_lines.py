"""More than 300 wrong command lines end with one helpful sentence each, and the right code."""

from __future__ import annotations

import io
import re
import sys

import pytest

from compat_tests.broker import HOST
from compat_tests.conftest import StartBroker
from compat_tests.first_hour.wrong_lines import NOBODY, made, problem_with, tried
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
    assert len(lines) > 250


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
    assert len(lines) > 50
