"""Records deleted up to a position in each partition."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from console import record_deletion
from console.cli import main
from console.errors import CommandError
from console.positions import parse_position
from console.record_deletion import Cut, cuts_of, delete
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, offset_of, send
from tests.console.commands.fakes import Consumer


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> Consumer:
    fake = Consumer([b"a", b"b", b"c"], [b"d"])
    monkeypatch.setattr(record_deletion, "consumer_client", lambda _: nullcontext(fake))
    return fake


@pytest.mark.parametrize(
    ("position", "befores"),
    [("latest", [3, 1]), ("2", [2, 1]), ("-1", [2, 0]), ("earliest", [0, 0])],
)
def test_a_position_is_an_offset_in_each_partition(
    position: str, befores: list[int], consumer: Consumer
) -> None:
    cuts = cuts_of("h:1", "t", parse_position(position, "--before"), [])
    assert [cut.before for cut in cuts] == befores
    assert [cut.start for cut in cuts] == [0, 0]


@pytest.mark.parametrize(
    ("topic", "partitions", "sentence"),
    [("x", [], "topic 'x' does not exist"), ("t", [7], "'t' has partitions 0 to 1; there is no 7")],
)
def test_what_is_not_there_is_told(
    topic: str, partitions: list[int], sentence: str, consumer: Consumer
) -> None:
    with pytest.raises(CommandError, match=sentence):
        cuts_of("h:1", topic, parse_position("latest", "--before"), partitions)


def test_the_log_start_moves(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t", 2)
    send(client, "t", batch(b"a", b"b", b"c"))
    delete("h:1", "t", [Cut(0, 0, 2), Cut(1, 0, 0)])
    assert offset_of(client, "t", -2).offset == 2
    with pytest.raises(CommandError, match="partition 0 of 't': "):
        delete("h:1", "t", [Cut(0, 2, 99)])


def test_a_dry_run_deletes_nothing(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    deleted: list[list[Cut]] = []
    monkeypatch.setattr(record_deletion, "delete", lambda _bootstrap, _topic, cuts: deleted.append(cuts))
    assert main(["topics", "delete-records", "t", "--before", "2", "--dry-run"]) == 0
    assert deleted == []
    assert capsys.readouterr().out.splitlines()[1].split() == ["0", "0", "2", "2"]
    assert main(["topics", "delete-records", "t", "--before", "2", "-p", "1"]) == 0
    assert deleted == [[Cut(1, 0, 1)]]
