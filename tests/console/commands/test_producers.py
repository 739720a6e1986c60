"""`kawal producers`."""

from __future__ import annotations

import json

import pytest

from console.cli import main
from console.commands import producers
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.broker.numbered import dedup_topic, sent

Output = pytest.CaptureFixture[str]


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    gateway = Gateway()
    monkeypatch.setattr(producers, "ask", lambda _bootstrap, request: gateway.client().call(request, 0))
    dedup_topic(gateway.client(), partitions=2)
    return gateway


def test_a_program_that_starts_again_asks_for_its_last_number(gateway: Gateway, capsys: Output) -> None:
    sent(gateway.client(), 4711, partition=1)
    assert main(["producers", "describe", "t", "sensor", "new", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "producer": "sensor",
            "partition": 1,
            "last_seqno": 4711,
            "open_seqno": None,
            "written": "2023-11-14T22:13:20.000+00:00",
        },
        {"producer": "new", "partition": None, "last_seqno": None, "open_seqno": None, "written": None},
    ]


def test_all_are_listed_by_name_and_odd_names_do_no_harm(gateway: Gateway, capsys: Output) -> None:
    assert main(["producers", "describe", "t"]) == 0
    assert capsys.readouterr().out == "topic t remembers no producers\n"
    for name in (b"b", b"a", b"\x1b[2J\xff"):
        sent(gateway.client(), 1, name=name)
    assert main(["producers", "describe", "t"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["a", "b"]
    assert "\x1b" not in out


def test_a_topic_without_numbers_is_refused_with_a_sentence(gateway: Gateway, capsys: Output) -> None:
    create(gateway.client(), "plain")
    assert main(["producers", "describe", "plain"]) == 1
    assert "it has no kawal.dedup=seqno" in capsys.readouterr().err
