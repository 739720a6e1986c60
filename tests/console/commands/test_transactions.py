"""`kawal transactions`."""

from __future__ import annotations

import json

import pytest

from console.cli import main
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.broker.txn import Producer
from tests.console.gateway import connect

Output = pytest.CaptureFixture[str]


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    gateway = connect(monkeypatch)
    create(gateway.client(), "t")
    Producer(gateway, "idle")
    Producer(gateway, "busy").write("t", 0, b"a")
    return gateway


def test_transactions_are_listed_and_filtered(gateway: Gateway, capsys: Output) -> None:
    assert main(["transactions", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["TRANSACTIONAL", "busy", "idle"]
    assert main(["transactions", "list", "--state", "Ongoing", "--json"]) == 0
    assert [row["transactional_id"] for row in json.loads(capsys.readouterr().out)] == ["busy"]
    assert main(["transactions", "list", "--id-pattern", "x.*"]) == 0
    assert capsys.readouterr().out == "no transactions\n"
    assert main(["transactions", "list", "--longer-than", "60", "--state", "Ongoing"]) == 0
    assert capsys.readouterr().out == "no transactions\n"
    assert main(["transactions", "list", "--state", "Nothing"]) == 1


def test_a_transaction_is_described_with_its_partitions(gateway: Gateway, capsys: Output) -> None:
    assert main(["transactions", "describe", "busy", "idle"]) == 0
    _, busy, idle = capsys.readouterr().out.splitlines()
    assert busy.split()[-1] == "t-0"
    assert "2023-11-14T22:13:20.000" in busy
    assert idle.split()[-2:] == ["-", "-"]
    assert main(["transactions", "describe", "other"]) == 1
    assert "'other'" in capsys.readouterr().err


def test_nothing_hangs(gateway: Gateway, capsys: Output) -> None:
    assert main(["transactions", "hanging"]) == 0
    assert capsys.readouterr().out == "no transaction hangs\n"


def test_an_abort_needs_an_id_or_a_place(gateway: Gateway, capsys: Output) -> None:
    assert main(["transactions", "abort", "busy"]) == 0
    assert "busy aborted" in capsys.readouterr().out
    for wrong in ([], ["--topic", "t"], ["busy", "--topic", "t", "--partition", "0", "--start-offset", "0"]):
        assert main(["transactions", "abort", *wrong]) == 2
    assert main(["transactions", "abort", "--topic", "t", "--partition", "0", "--start-offset", "9"]) == 1
