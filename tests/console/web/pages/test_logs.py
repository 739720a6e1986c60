"""The write-ahead logs in a browser."""

from __future__ import annotations

import json

import pytest

from console.web import log_facts
from console.web.kafka_door import Kafka
from console.wire import NotKawal
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    found = Web()
    monkeypatch.setattr(log_facts, "DISK", found.broker.disk)
    create(found.broker.client(), "t")
    for _ in range(205):
        send(found.broker.client(), "t", batch(b"a", b"b"))
    return found


def test_one_walks_from_the_logs_to_segments_and_frames(web: Web) -> None:
    (row,) = [row for row in json.loads(web.get("/logs?as=json").body) if row["streams"]]
    label = f"{row['database']}/{row['vnode']}"
    (path,) = web.get("/logs").links(label)
    (segment,) = json.loads(web.get(f"{path}?as=json").body)
    assert (segment["frames"], segment["records"]) == (205, 410)
    page = web.get(path)
    assert "kawal wal verify /data/default/" in page.text
    (frames,) = page.links(segment["segment"])
    first = web.get(frames)
    assert "1 to 200" in first.text
    (after,) = first.links("after →")
    assert [frame["sequence"] for frame in json.loads(web.get(f"{after}&as=json").body)] == [*range(200, 205)]
    assert web.get(after).links("← before") == [frames]


def test_a_log_without_records_says_that_the_first_makes_a_segment() -> None:
    assert "vnode-0" in Web().get("/logs").text


def test_files_are_not_read_by_a_console_that_stands_alone(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kafka, "is_beside", False)
    for path in ("/logs/default/vnode-0", "/logs/default/vnode-0/x.wal"):
        page = web.get(path)
        assert page.status == 404
        assert "by the console of its gateway alone" in page.problem
    assert web.get("/logs").status == 200


def test_another_broker_says_that_it_has_no_log_of_kawals(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object) -> object:
        raise NotKawal("closed")

    monkeypatch.setattr(log_facts, "do", closed)
    page = web.get("/logs")
    assert (page.status, "This broker is not Kawal" in page.text) == (200, True)
    assert web.get("/logs/default/vnode-0").status == 404


def test_a_read_only_console_shows_them(web: Web) -> None:
    assert Web(broker=web.broker, read_only=True).get("/logs").status == 200


@pytest.mark.parametrize("database", ["none", "..%2fmeta"])
def test_a_log_of_a_database_that_is_not_there_is_not_found(web: Web, database: str) -> None:
    page = web.get(f"/logs/{database}/vnode-0")
    assert (page.status, "there is no database" in page.problem) == (404, True)
