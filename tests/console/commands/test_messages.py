"""`kawal messages`."""

from __future__ import annotations

import json

import pytest

from console.cli import main
from console.commands import messages
from tests.broker.gateway import Gateway
from tests.broker.identified import identified
from tests.broker.kit import batch, create, send

Output = pytest.CaptureFixture[str]


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    gateway = Gateway()
    monkeypatch.setattr(messages, "ask", lambda _bootstrap, request: gateway.client().call(request, 0))
    identified(gateway.client())
    for values in ((b"a",), (b"b", b"c")):
        send(gateway.client(), "t", batch(*values))
    return gateway


@pytest.mark.usefixtures("gateway")
def test_messages_are_located_by_place_and_by_id(capsys: Output) -> None:
    assert main(["messages", "locate", "t", "0:2", "0:0:0:-1"]) == 0
    assert capsys.readouterr().out == (
        "ID        PARTITION  OFFSET  ENTRY  EXACT\n"
        "0:1:0:1           0       2  1-2    yes\n"
        "0:0:0:-1          0       0  0-0    yes\n"
    )  # fmt: skip


@pytest.mark.usefixtures("gateway")
def test_a_program_gets_json_in_the_order_of_its_questions(capsys: Output) -> None:
    assert main(["messages", "locate", "t", "0:1:0:0", "0:9", "0:1", "--json"]) == 1
    first, missing, last = json.loads(capsys.readouterr().out)
    assert first == {
        "asked": "0:1:0:0", "id": "0:1:0:0", "partition": 0, "offset": 1, "first_offset": 1, "last_offset": 2,
        "exact": True,
    }  # fmt: skip
    assert missing == {"asked": "0:9", "error": "partition 0 has no message at offset 9: it has 0 to 2"}
    assert (last["id"], last["offset"]) == ("0:1:0:0", 1)


@pytest.mark.usefixtures("gateway")
def test_what_is_not_found_is_told_after_the_rest(capsys: Output) -> None:
    assert main(["messages", "locate", "t", "5:0:0:-1", "0:0"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "5:0:0:-1: ledger 5 of partition 0 has not begun: the newest is 0"
    assert out[1].startswith("0:0:0:-1")


@pytest.mark.parametrize("text", ["", "1", "1:2:3", "a:b", "0:-1", "0:0:-2:0", "1:2:3:4:5", "0:" + "9" * 30])
def test_what_is_no_place_and_no_id_is_refused(text: str, capsys: Output) -> None:
    assert main(["messages", "locate", "t", text]) == 2
    assert "is neither PARTITION:OFFSET nor" in capsys.readouterr().err


def test_a_topic_without_ids_is_refused_with_a_sentence(gateway: Gateway, capsys: Output) -> None:
    create(gateway.client(), "plain")
    assert main(["messages", "locate", "plain", "0:0"]) == 1
    assert "created without kawal.message.ids=true" in capsys.readouterr().err
