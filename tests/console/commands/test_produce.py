"""`kawal produce`: the records sent for an input, and the reports of failures."""

from __future__ import annotations

import io
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from console.cli import main
from console.commands import produce
from console.errors import CommandError
from console.record_formats import OutgoingColumns, OutgoingRecord
from protocol.compression import Codec


class Sender:
    """A sender of two partitions that keeps what it is given; the value `fail` is refused."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.sent: list[OutgoingRecord] = []
        self.stored_in: Counter[int] = Counter()
        self.partitions = {0, 1}

    def __call__(self, bootstrap: str, topic: str, **options: Any) -> Sender:
        self.options = {"bootstrap": bootstrap, "topic": topic, **options}
        return self

    def open(self) -> set[int]:
        return self.partitions

    def add(self, record: OutgoingRecord) -> None:
        if record.value == b"fail":
            raise CommandError("a record was not stored in 't': no answer came")
        self.sent.append(record)
        self.stored_in[record.partition or 0] += 1

    def add_all(self, outgoing: OutgoingColumns) -> None:
        for record in outgoing.one_by_one():
            self.add(record)

    def ship(self) -> None: ...

    def finish(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> Sender:
    fake = Sender()
    monkeypatch.setattr(produce, "BatchSender", fake)
    return fake


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_each_line_is_a_record(
    producer: Sender, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    feed(monkeypatch, b"one\n\ntwo\xff")
    assert main(["produce", "t", "--bootstrap", "b:1"]) == 0
    assert [record.value for record in producer.sent] == [b"one", b"", b"two\xff"]
    assert capsys.readouterr().err == "produced 3 records to 't' (partition 0: 3)\n"
    assert producer.options["bootstrap"] == "b:1"


def test_keys_headers_and_partition_are_sent(producer: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"k\tv\nNULL\tNULL\n")
    words = ["--key-separator", "\\t", "--null", "NULL", "--header", "a=1", "--partition", "1"]
    assert main(["produce", "t", *words]) == 0
    first, second = producer.sent
    assert first == OutgoingRecord(b"v", b"k", [("a", b"1")], 1)
    assert (second.key, second.value) == (None, None)


def test_json_lines_say_everything_themselves(producer: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    first = b'{"value": "v", "key": "k", "partition": 1, "timestamp": 5, "headers": {"b": "2"}}'
    feed(monkeypatch, first + b'\n\n{"value": null}\n')
    assert main(["produce", "t", "--json", "--key", "all", "--header", "a=1"]) == 0
    assert producer.sent[0] == OutgoingRecord(b"v", b"k", [("a", b"1"), ("b", b"2")], 1, 5)
    assert (producer.sent[1].key, producer.sent[1].value) == (b"all", None)


def test_each_file_is_a_record(producer: Sender, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"line\nline\n")
    assert main(["produce", "t", str(tmp_path / "a"), str(tmp_path / "a")]) == 0
    assert [record.value for record in producer.sent] == [b"line\nline\n"] * 2


@pytest.mark.parametrize(
    ("words", "acks", "codec"),
    [
        ([], -1, Codec.NONE),
        (["--acks", "1", "--codec", "zstd"], 1, Codec.ZSTD),
        (["--acks", "0", "--codec", "none"], 0, Codec.NONE),
    ],
)
def test_acks_and_codec_reach_the_sender(
    words: list[str], acks: int, codec: Codec, producer: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(monkeypatch, b"")
    assert main(["produce", "t", *words]) == 0
    assert (producer.options["acks"], producer.options["codec"]) == (acks, codec)


def test_an_interruption_says_how_many_are_stored(
    producer: Sender, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    feed(monkeypatch, b"a\nb\n")

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(producer, "ship", interrupted)
    assert main(["produce", "t"]) == 130
    assert capsys.readouterr().err == "kawal: interrupted; 2 records are stored in 't'\n"


@pytest.mark.parametrize(
    ("words", "data", "message"),
    [
        ([], b"a\nfail\n", "a record was not stored in 't': no answer came (1 records were stored)"),
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
    producer: Sender,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed(monkeypatch, data)
    assert main(["produce", "t", *words]) == 1
    assert message in capsys.readouterr().err


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
def test_arguments_that_contradict_are_usage_errors(words: list[str], producer: Sender) -> None:
    assert main(["produce", "t", *words]) == 2
    assert producer.sent == []
