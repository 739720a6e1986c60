"""`kawal queues`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.cli import main
from console.wire import NotKawal
from protocol.error_codes import ErrorCode
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from tests.broker.shares import ACCEPT, Member, acquired, configure, outcome, values
from tests.broker.views import make_view
from tests.console.queues import Busy

Output = pytest.CaptureFixture[str]


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Busy:
    return Busy(monkeypatch)


@pytest.fixture
def kafka(jobs: Busy, monkeypatch: pytest.MonkeyPatch) -> Busy:
    """Return the jobs on a server that knows Kafka's requests alone."""

    def ask(_bootstrap: str, request: Any, version: int) -> Any:
        if type(request).__name__.startswith("Kawal"):
            raise NotKawal("h:1 does not know the request 'kawal queues': it is not a Kawal server")
        return jobs.gateway.client().call(request, version)

    monkeypatch.setattr("console.admin.ask_server", ask)
    return jobs


def told(capsys: Output) -> Any:
    return json.loads(capsys.readouterr().out)


def test_groups_are_listed_with_what_waits(jobs: Busy, capsys: Output) -> None:
    jobs.gateway.advance(3_000)
    assert main(["queues", "list", "--json"]) == 0
    (row,) = told(capsys)
    assert row.pop("oldest_seconds") >= 3
    assert row == {
        "group": "g", "state": "Stable", "members": 1, "topics": ["jobs"], "under_way": 4, "backlog": 9,
    }  # fmt: skip
    assert main(["queues", "list"]) == 0
    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split() == ["GROUP", "STATE", "MEMBERS", "TOPICS", "UNDER", "WAY", "OLDEST", "BACKLOG"]
    assert line.split()[:5] == ["g", "Stable", "1", "jobs", "4"]


def test_groups_are_listed_once_their_coordinator_is_loaded(
    jobs: Busy, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.loading.PAUSE_SECONDS", 0)
    refusals = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2

    def ask(_bootstrap: str, request: Any, version: int) -> Any:
        if refusals and isinstance(request, ListGroupsRequest):
            return ListGroupsResponse(error_code=refusals.pop(), groups=[])
        return jobs.gateway.client().call(request, version)

    monkeypatch.setattr("console.admin.ask_server", ask)
    assert main(["queues", "list", "--json"]) == 0
    assert [row["group"] for row in told(capsys)] == ["g"]


def test_a_group_is_described_by_member_and_partition(jobs: Busy, capsys: Output) -> None:
    assert main(["queues", "describe", "g", "--json"]) == 0
    (row,) = told(capsys)
    (member,) = row["members"]
    shown = {name: member[name] for name in ("member", "status", "window", "pending", "slots")}
    assert shown == {"member": "m1", "status": "Running", "window": 500, "pending": 4, "slots": 496}
    first, second = row["partitions"]
    first.pop("oldest_seconds")
    assert first == {
        "topic": "jobs", "partition": 0, "start": 0, "end": 10, "acquired": 4, "available": 4,
        "released": 2, "acknowledged": 1, "archived": 1, "archiving": 0, "deliveries": {"1": 6}, "backlog": 8,
        "error": None,
    }  # fmt: skip
    assert (second["partition"], second["available"], second["backlog"]) == (1, 1, 1)
    assert row["counters"]["accepted"] == 1
    assert main(["queues", "describe", "g"]) == 0
    text = capsys.readouterr().out
    assert "group g   state Stable   assignor simple" in text
    assert "records since the server's start: accepted 1, acquired 8," in text


def test_what_kafka_knows_is_shown_of_kafka(kafka: Busy, capsys: Output) -> None:
    assert main(["queues", "list", "--json"]) == 0
    (row,) = told(capsys)
    assert (row["backlog"], row["under_way"], row["oldest_seconds"]) == (9, None, None)
    assert main(["queues", "describe", "g"]) == 0
    assert "records since" not in capsys.readouterr().out
    for command in (["peek", "g"], ["release", "g"], ["purge", "g", "--yes"]):
        assert main(["queues", *command]) == 1
        assert "it is not a Kawal server" in capsys.readouterr().err


def test_records_are_peeked_without_being_acquired(jobs: Busy, capsys: Output) -> None:
    assert main(["queues", "peek", "g"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    shown = [(row["partition"], row["offset"], row["state"], row["deliveries"]) for row in rows]
    acquired_now = [(0, offset, "acquired", 1) for offset in range(4)]
    available = [
        (0, 6, "available", 1),
        (0, 7, "available", 1),
        (0, 8, "available", 0),
        (0, 9, "available", 0),
    ]
    assert shown == [*acquired_now, *available, (1, 0, "available", 0)]
    assert (rows[0]["value"], rows[0]["member"], rows[0]["lock_ms"]) == ("0", "m1", 30_000)
    assert (rows[-1]["value"], rows[-1]["member"], rows[-1]["lock_ms"]) == ("other", None, None)
    assert acquired(jobs.member("m2").fetch(jobs.place)) == [(6, 7, 2), (8, 9, 1)]


def test_peeked_records_are_chosen_by_topic_state_and_number(jobs: Busy, capsys: Output) -> None:
    def offsets(*arguments: str) -> list[int]:
        assert main(["queues", "peek", "g", *arguments]) == 0
        return [json.loads(line)["offset"] for line in capsys.readouterr().out.splitlines()]

    assert offsets("--topic", "jobs:0", "-n", "2") == [0, 1]
    assert offsets("--topic", "jobs:0", "-n", "2", "--state", "available") == [6, 7]
    assert offsets("--state", "acquired") == [0, 1, 2, 3]
    assert offsets("--topic", "other") == []
    for wrong in ("0", "10001"):
        assert main(["queues", "peek", "g", "-n", wrong]) == 2


def test_records_are_given_back(jobs: Busy, capsys: Output) -> None:
    assert main(["queues", "release", "g", "--topic", "jobs", "-p", "0", "-o", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 records given back"
    assert main(["queues", "release", "g", "--member", "other"]) == 0
    assert capsys.readouterr().out == "0 records given back\n"
    assert main(["queues", "release", "g", "--json"]) == 0
    assert told(capsys) == [
        {"topic": "jobs", "partition": 0, "records": 3},
        {"topic": "jobs", "partition": 1, "records": 0},
    ]
    assert acquired(jobs.member("m2").fetch(jobs.place)) == [(0, 3, 2), (6, 7, 2), (8, 9, 1)]
    for wrong in (["-p", "0"], ["--topic", "jobs", "-o", "1"], ["--topic", "jobs", "-p", "-1"]):
        assert main(["queues", "release", "g", *wrong]) == 2
    assert main(["queues", "release", "g", "--topic", "other"]) == 1
    assert "other: " in capsys.readouterr().err


def test_a_purge_shows_what_it_would_do_and_does_it_when_told(jobs: Busy, capsys: Output) -> None:
    assert main(["queues", "purge", "g", "--topic", "jobs:0"]) == 0
    heading, line, note = capsys.readouterr().out.splitlines()
    assert (heading.split(), line.split()) == (
        ["TOPIC", "PARTITION", "UNDER", "WAY", "RECORDS"],
        ["jobs", "0", "4", "8"],
    )
    assert note == "nothing was changed; --yes does it"
    assert main(["queues", "purge", "g", "--json"]) == 0
    assert [row["records"] for row in told(capsys)] == [8, 1]
    assert main(["queues", "purge", "g", "--topic", "jobs:0", "--yes"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "8 records archived"
    assert outcome(jobs.worker.acknowledge(jobs.place, (0, 3, [ACCEPT]))) == [0]
    jobs.produce(b"next")
    assert values(jobs.member("m2").fetch(jobs.place)) == [b"next"]
    assert main(["queues", "purge", "g", "--topic", "other"]) == 1
    assert "has not begun to read other" in capsys.readouterr().err


def test_a_reset_needs_an_empty_group_and_is_shown_first(jobs: Busy, capsys: Output) -> None:
    assert main(["queues", "reset", "g", "--to", "latest"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:3]] == [["jobs", "0", "0", "10"], ["jobs", "1", "0", "1"]]
    assert lines[-1] == "nothing was changed; --yes does it"
    assert main(["queues", "reset", "g", "--to", "latest", "--yes"]) == 1
    assert "share group 'g': " in capsys.readouterr().err
    jobs.worker.beat(epoch=-1)
    assert main(["queues", "reset", "g", "--to", "5", "--topic", "jobs:0", "--yes", "--json"]) == 0
    assert told(capsys) == [{"topic": "jobs", "partition": 0, "current": 0, "new": 5}]
    assert acquired(jobs.member("m2").fetch(jobs.place)) == [(5, 9, 1)]


def test_a_reset_to_a_time_or_before_the_end(kafka: Busy, capsys: Output) -> None:
    for position, new in (("-3", 7), ("2099-01-01T00:00:00Z", 10), ("@0", 0), ("earliest", 0), ("77", 10)):
        assert main(["queues", "reset", "g", "--to", position, "--topic", "jobs:0", "--json"]) == 0
        assert told(capsys)[0]["new"] == new, position
    assert main(["queues", "reset", "g", "--to", "sometime"]) == 2


def test_a_group_is_made_by_a_reset_of_topics_that_are_named(jobs: Busy, capsys: Output) -> None:
    assert main(["queues", "reset", "new", "--to", "earliest"]) == 1
    assert "name topics with --topic" in capsys.readouterr().err
    assert main(["queues", "reset", "new", "--to", "1", "--topic", "jobs", "--yes"]) == 0
    capsys.readouterr()
    assert main(["queues", "describe", "new", "--json"]) == 0
    (row,) = told(capsys)
    assert [partition["start"] for partition in row["partitions"]] == [1, 1]
    assert main(["queues", "reset", "new", "--to", "1", "--topic", "jobs:7"]) == 1
    assert main(["queues", "reset", "new", "--to", "1", "--topic", "nothing"]) == 1


def test_a_group_that_does_not_exist_has_one_sentence(jobs: Busy, capsys: Output) -> None:
    for command in (["describe", "other"], ["peek", "other"], ["release", "other"], ["purge", "other"]):
        assert main(["queues", *command]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert "'other'" in line


def test_a_server_without_share_groups(jobs: Busy, capsys: Output) -> None:
    jobs.worker.beat(epoch=-1)
    assert main(["queues"]) == 2
    assert main(["queues", "list"]) == 0
    assert "Empty" in capsys.readouterr().out


def test_records_of_a_view_are_peeked(jobs: Busy, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.queue_peek.POLL_MS", 0)
    make_view(jobs.gateway.client(), "odd", "SELECT _offset AS n FROM jobs WHERE _offset % 2 = 1")
    configure(jobs.gateway, "early", share_auto_offset_reset="earliest")
    Member(jobs.gateway, "v", "odd", group="early")
    for count, wanted in (("3", [1, 3, 5]), ("100", [1, 3, 5, 7, 9])):
        assert main(["queues", "peek", "early", "-n", count]) == 0
        offsets = [json.loads(line)["offset"] for line in capsys.readouterr().out.splitlines()]
        assert offsets == wanted
