"""`kawal topics`, `produce` and `consume`: our own client commands, against any broker."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from compat_tests.batches import CODECS
from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.kawal_broker import KAWAL
from compat_tests.waiting import eventually

DAY_ONE = 1_714_521_600_000
"""2024-05-01T00:00:00Z."""


def kawal(
    broker: Broker, command: str, *arguments: str, stdin: bytes = b"", code: int = 0
) -> subprocess.CompletedProcess[bytes]:
    """Run `kawal COMMAND --bootstrap BROKER` to its end and expect an exit code."""
    first, *rest = command.split()
    ended = subprocess.run(
        [KAWAL, first, *rest, *arguments, "--bootstrap", broker.bootstrap],
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == code, ended.stderr
    return ended


def consume(broker: Broker, topic: str, *arguments: str) -> list[str]:
    return kawal(broker, "consume", topic, *arguments).stdout.decode().splitlines()


def sentence(ended: subprocess.CompletedProcess[bytes]) -> str:
    """Return the one line that reports an error."""
    lines = ended.stderr.decode().splitlines()
    assert len(lines) == 1, lines
    return lines[0].removeprefix("kawal: ")


@contextmanager
def following(broker: Broker, topic: str, directory: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Run `kawal consume --follow` at the end of the topic, with its output in a file."""
    output = directory / "followed"
    with output.open("wb") as out, (directory / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [KAWAL, "consume", topic, "--follow", "--bootstrap", broker.bootstrap],
            stdout=out,
            stderr=errors,
            # A shell's background jobs ignore Ctrl-C, and tests may be one.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        try:
            yield process, output
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize("codec", ["none", *CODECS])
def test_lines_round_trip_in_every_codec(broker: Broker, make_topic: MakeTopic, codec: str) -> None:
    topic = make_topic()
    lines = [f"line {number}" for number in range(2_000)]
    told = kawal(broker, "produce", topic, "--codec", codec, stdin="\n".join(lines).encode())
    assert told.stderr == f"produced 2000 records to {topic!r} (partition 0: 2000)\n".encode()
    assert consume(broker, topic) == lines


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_records_arrive_whatever_is_acknowledged(broker: Broker, make_topic: MakeTopic, acks: str) -> None:
    topic = make_topic()
    kawal(broker, "produce", topic, "--acks", acks, stdin=b"a\nb\n")
    assert eventually(lambda: consume(broker, topic) == ["a", "b"], waiting_for="both records")


def test_bytes_pass_unchanged(broker: Broker, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(max_message_bytes="3000000")
    picture = bytes(range(256)) * 8_000
    (tmp_path / "picture").write_bytes(picture)
    kawal(broker, "produce", topic, str(tmp_path / "picture"))
    assert kawal(broker, "consume", topic, "--delimiter", "\\0").stdout == picture + b"\0"


def test_json_lines_copy_a_topic_exactly(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3, retention_ms="-1")
    other = f"{topic}-again"
    kawal(broker, "topics create", other, "--partitions", "3", "--config", "retention.ms=-1")
    lines = [
        {
            "value": "grüße",
            "key": "k",
            "headers": [{"name": "a", "value": "1"}, {"name": "a", "value_base64": "/w=="}],
        },
        {"value": None, "key_base64": "/w==", "partition": 1, "timestamp": DAY_ONE},
        {"value": {"a": 1}, "partition": 2},
    ]
    kawal(broker, "produce", topic, "--json", stdin="\n".join(map(json.dumps, lines)).encode())
    first = kawal(broker, "consume", topic, "--json").stdout
    kawal(broker, "produce", other, "--json", stdin=first)
    second = kawal(broker, "consume", other, "--json").stdout
    records = [json.loads(line) for line in first.splitlines()]
    assert sorted(second.replace(b"-again", b"").splitlines()) == sorted(first.splitlines())
    assert {"topic": topic, "key_base64": "/w==", "value": None, "timestamp": DAY_ONE}.items() <= next(
        record for record in records if record["partition"] == 1
    ).items()


def test_reading_begins_and_ends_where_it_is_told(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms="-1")
    lines = [json.dumps({"value": str(day), "timestamp": DAY_ONE + day * 86_400_000}) for day in range(10)]
    kawal(broker, "produce", topic, "--json", stdin="\n".join(lines).encode())
    assert consume(broker, topic, "--from", "7") == ["7", "8", "9"]
    assert consume(broker, topic, "--from", "-2") == ["8", "9"]
    assert consume(broker, topic, "--from", "latest") == []
    assert consume(broker, topic, "--from", "2024-05-03T00:00:00Z", "--until", "2024-05-05T00:00:00Z") == [
        "2",
        "3",
    ]
    assert consume(broker, topic, "--from", f"@{DAY_ONE + 1}", "--max-messages", "2") == ["1", "2"]
    assert consume(broker, topic, "--from", "2030-01-01T00:00:00Z") == []
    assert "holds offsets 0 to 10, not 11" in sentence(
        kawal(broker, "consume", topic, "--from", "11", code=1)
    )


def test_following_sees_new_records_until_it_is_interrupted(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic()
    kawal(broker, "produce", topic, stdin=b"before\n")
    with following(broker, topic, tmp_path) as (process, output):
        eventually(lambda: output.read_text() == "before\n", waiting_for="what is there")
        kawal(broker, "produce", topic, stdin=b"after\n")
        eventually(lambda: output.read_text() == "before\nafter\n", waiting_for="what came")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert (tmp_path / "errors").read_text() == "kawal: interrupted\n"


def test_following_outlives_a_restart_of_the_broker(
    start_broker: StartBroker, topic: str, tmp_path: Path
) -> None:
    broker = start_broker()
    kawal(broker, "produce", topic, "--partition", "0", stdin=b"before\n")
    with following(broker, topic, tmp_path) as (_, output):
        eventually(lambda: output.read_text() == "before\n", waiting_for="what is there")
        broker.kill()
        eventually(
            lambda: "lost the connection" in (tmp_path / "errors").read_text(), waiting_for="the notice"
        )
        broker.start()
        kawal(broker, "produce", topic, "--partition", "0", stdin=b"after\n")
        eventually(lambda: output.read_text() == "before\nafter\n", waiting_for="what came")


def test_following_ends_when_its_reader_leaves(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    kawal(broker, "produce", topic, stdin=b"one\ntwo\n")
    command = (
        f"{KAWAL} consume {topic} --follow --bootstrap {broker.bootstrap} | head -1; exit ${{PIPESTATUS[0]}}"
    )
    ended = subprocess.run(["bash", "-c", command], capture_output=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"one\n", b"")


def test_topics_are_created_described_listed_and_deleted(broker: Broker, topic: str) -> None:
    settings = ["--partitions", "2", "--config", "retention.ms=-1"]
    assert kawal(broker, "topics create", topic, *settings).stdout == f"created {topic}\n".encode()
    kawal(broker, "produce", topic, "--partition", "1", stdin=b"a\nb\n")
    described = json.loads(kawal(broker, "topics describe", topic, "--json").stdout)[0]
    assert [
        (partition["partition"], partition["start_offset"], partition["end_offset"])
        for partition in described["partitions"]
    ] == [
        (0, 0, 0),
        (1, 0, 2),
    ]
    assert described["configs"] == {"retention.ms": {"value": "-1", "source": "DYNAMIC_TOPIC_CONFIG"}}
    assert topic in kawal(broker, "topics list").stdout.decode().splitlines()
    assert kawal(broker, "topics delete", topic).stdout == f"deleted {topic}\n".encode()
    kawal(broker, "topics describe", topic, code=1)


def test_what_the_broker_refuses_is_told_in_one_line(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert "already exists" in sentence(kawal(broker, "topics create", topic, code=1))
    kawal(broker, "topics create", topic, "--if-not-exists")
    assert "retention.mss" in sentence(
        kawal(broker, "topics create", "other", "--config", "retention.mss=1", code=1)
    )
    assert "does not exist" in sentence(kawal(broker, "consume", f"{topic}-gone", code=1))
    assert "there is no 7" in sentence(
        kawal(broker, "produce", topic, "--partition", "7", stdin=b"a", code=1)
    )
    large = kawal(broker, "produce", topic, stdin=b"x" * 1_100_000, code=1)
    assert f"not stored in {topic!r}" in sentence(large)
