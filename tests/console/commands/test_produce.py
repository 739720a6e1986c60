"""`kawal produce`: the records sent for an input, and the reports of failures."""

import io
import sys
from pathlib import Path

import pytest

from console.cli import main
from console.commands import produce
from tests.console.commands.fakes import Producer


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> Producer:
    fake = Producer()
    monkeypatch.setattr(produce, "producer_client", fake.session)
    return fake


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_each_line_is_a_record(
    producer: Producer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    feed(monkeypatch, b"one\n\ntwo\xff")
    assert main(["produce", "t", "--bootstrap", "b:1"]) == 0
    assert [record["value"] for record in producer.sent] == [b"one", b"", b"two\xff"]
    assert capsys.readouterr().err == "produced 3 records to 't' (partition 0: 3)\n"
    assert producer.options["bootstrap"] == "b:1"


def test_keys_headers_and_partition_are_sent(producer: Producer, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"k\tv\nNULL\tNULL\n")
    words = ["--key-separator", "\\t", "--null", "NULL", "--header", "a=1", "--partition", "1"]
    assert main(["produce", "t", *words]) == 0
    first, second = producer.sent
    assert (first["key"], first["value"], first["partition"]) == (b"k", b"v", 1)
    assert first["headers"] == [("a", b"1")]
    assert (second["key"], second["value"]) == (None, None)


def test_json_lines_say_everything_themselves(producer: Producer, monkeypatch: pytest.MonkeyPatch) -> None:
    first = b'{"value": "v", "key": "k", "partition": 1, "timestamp": 5, "headers": {"b": "2"}}'
    feed(monkeypatch, first + b'\n\n{"value": null}\n')
    assert main(["produce", "t", "--json", "--key", "all", "--header", "a=1"]) == 0
    assert producer.sent[0] == {
        "topic": "t",
        "value": b"v",
        "key": b"k",
        "partition": 1,
        "timestamp_ms": 5,
        "headers": [("a", b"1"), ("b", b"2")],
    }
    assert (producer.sent[1]["key"], producer.sent[1]["value"]) == (b"all", None)


def test_each_file_is_a_record(producer: Producer, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"line\nline\n")
    assert main(["produce", "t", str(tmp_path / "a"), str(tmp_path / "a")]) == 0
    assert [record["value"] for record in producer.sent] == [b"line\nline\n"] * 2


@pytest.mark.parametrize(
    ("words", "acks", "idempotent", "codec"),
    [
        ([], "all", True, None),
        (["--acks", "1", "--codec", "zstd"], 1, False, "zstd"),
        (["--acks", "0", "--codec", "none"], 0, False, None),
    ],
)
def test_acks_and_codec_reach_the_producer(
    words: list[str],
    acks: object,
    idempotent: bool,
    codec: str | None,
    producer: Producer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    feed(monkeypatch, b"")
    assert main(["produce", "t", *words]) == 0
    options = producer.options
    assert (options["acks"], options["enable_idempotence"], options["compression_type"]) == (
        acks,
        idempotent,
        codec,
    )


@pytest.mark.parametrize(
    ("words", "data", "message"),
    [
        ([], b"a\nfail\n", "a record was not stored in 't': no answer came"),
        ([], b"a\ntoo large\n", "record 2 cannot be sent: the record is too large (1 records before"),
        (["--json"], b'{"value": 1, "headers": {"a": null}}', "record 1 cannot be sent: All headers"),
        (["--json"], b'{"value": 1}\n{\n', "record 2 of the input is not JSON"),
        (["--key-separator", ":"], b"no key\n", "record 1 of the input has no key"),
        (["--partition", "5"], b"", "'t' has partitions 0 to 1; there is no 5"),
        (["/no/such/file"], b"", "cannot read /no/such/file: No such file"),
    ],
)
def test_what_cannot_be_stored_is_told(
    words: list[str],
    data: bytes,
    message: str,
    producer: Producer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed(monkeypatch, data)
    assert main(["produce", "t", *words]) == 1
    assert message in capsys.readouterr().err


def test_a_topic_that_cannot_be_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(produce, "producer_client", Producer(partitions=0).session)
    feed(monkeypatch, b"a")
    assert main(["produce", "a b"]) == 1
    assert main(["produce", "t"]) == 1
    err = capsys.readouterr().err
    assert "'a b' is illegal" in err
    assert "topic 't' does not exist and is not created automatically" in err


@pytest.mark.parametrize(
    "words",
    [
        ["--json", "--key-separator", ":"],
        ["--json", "file"],
        ["--key", "a", "--key-separator", ":"],
        ["--delimiter", ""],
        ["--header", "x"],
    ],
)
def test_arguments_that_contradict_are_usage_errors(words: list[str], producer: Producer) -> None:
    assert main(["produce", "t", *words]) == 2
    assert producer.sent == []
