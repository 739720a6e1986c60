"""`kawal consume`: its arguments and what they print."""

import json

import pytest

from console.cli import main
from console.commands import consume
from tests.console.commands.fakes import Consumer


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> Consumer:
    fake = Consumer([b"a", b"b", b"c"], [b"d\xff"])
    monkeypatch.setattr(consume, "consumer_client", fake.session)
    monkeypatch.setattr(consume, "Fetcher", fake.fetcher)
    return fake


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ([], b"a\nb\nc\nd\xff\n"),
        (["--from", "latest"], b""),
        (["--from", "-1"], b"c\nd\xff\n"),
        (["--partition", "0", "--from", "2"], b"c\n"),
        (["--partition", "1", "--partition", "1"], b"d\xff\n"),
        (["--until", "1"], b"a\nd\xff\n"),
        (["--max-messages", "2"], b"a\nb\n"),
        (["--delimiter", "\\0", "-p", "1"], b"d\xff\0"),
        (["--format", "%t-%p-%o=%s;", "-p", "1"], b"t-1-0=d\xff;"),
        (["--since", "-9"], b"a\nb\nc\nd\xff\n"),
        (["--key-separator", "=", "--null", "-", "-p", "1"], b"-=d\xff\n"),
    ],
)
def test_records_are_printed_as_asked(
    words: list[str], printed: bytes, consumer: Consumer, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["consume", "t", *words]) == 0
    assert capfdbinary.readouterr().out == printed


def test_json_lines_hold_everything(consumer: Consumer, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["consume", "t", "--json", "-p", "1"]) == 0
    assert json.loads(capfd.readouterr().out) == {
        "topic": "t",
        "partition": 1,
        "offset": 0,
        "timestamp": 1000,
        "key": None,
        "value_base64": "ZP8=",
        "headers": [],
    }


def test_framed_values_are_decoded_by_a_registry(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("console.registry.Registry.decoded", lambda _, data: data and b"<%b>" % data)
    assert main(["consume", "t", "-p", "0", "-n", "2", "--registry", "http://127.0.0.1:8081"]) == 0
    assert capfd.readouterr().out == "<a>\n<b>\n"


def test_committed_records_are_asked_for(consumer: Consumer, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["consume", "t", "--read-committed", "--bootstrap", "b:1"]) == 0
    assert consumer.read_committed
    assert consumer.options["bootstrap"] == "b:1"
    assert main(["consume", "t"]) == 0
    assert not consumer.read_committed


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["tripps"], 1, "topic 'tripps' does not exist at 127.0.0.1:9092; did you mean 'trips'?"),
        (["xyzzy"], 1, "'kawal topics list' shows those that exist"),
        (["a b"], 1, "'a b' is illegal"),
        (["t", "-p", "7"], 1, "'t' has partitions 0 to 1; there is no 7"),
        (["t", "--from", "2"], 1, "partition 1 of 't' holds offsets 0 to 1, not 2"),
        (["t", "--from", "soon"], 2, "--from 'soon' is not a position"),
        (["t", "--follow", "--until", "5"], 2, "--follow has no end and --until sets one"),
        (["t", "--max-messages", "0"], 2, "--max-messages must be at least 1"),
        (["t", "--json", "--format", "%s"], 2, "--json and --format both say how records are printed"),
        (["t", "--registry", "localhost"], 2, "--registry 'localhost' is not an address such as"),
        (["t", "--format", "%q"], 2, "--format: there is no '%q'"),
        (["t", "--group", "g", "--until", "5"], 2, "a group is given its partitions and has no end"),
        (["t", "--group", "g", "--from", "5"], 2, "'kawal groups reset' moves it elsewhere"),
        (["t", "--group", ""], 2, "--group must not be empty"),
        (["t", "--delimiter", ""], 2, "--delimiter must not be empty"),
    ],
)
def test_what_cannot_be_read_is_told(
    words: list[str],
    code: int,
    message: str,
    consumer: Consumer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("KAWAL_BOOTSTRAP", raising=False)
    assert main(["consume", *words]) == code
    assert message in capsys.readouterr().err
