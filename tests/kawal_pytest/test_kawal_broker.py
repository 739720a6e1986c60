"""The object by which a test uses a broker: each method is a command with a readable result."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kawal_pytest import KawalBroker, KawalError, Record
from kawal_pytest.host import Host


class FakeHost(Host):
    """A host that remembers commands and gives prepared answers."""

    def __init__(self, **results: Any) -> None:
        super().__init__()
        self.asked: list[dict[str, Any]] = []
        self.results = results

    def ask(self, command: dict[str, Any]) -> Any:
        self.asked.append(command)
        return self.results.get(command["do"])


def broker_of(**results: Any) -> tuple[KawalBroker, FakeHost]:
    host = FakeHost(**results)
    return KawalBroker(host, "broker-1", 4711), host


def test_it_knows_its_address() -> None:
    broker, _ = broker_of()
    assert broker.bootstrap == broker.bootstrap_servers == "127.0.0.1:4711"
    assert repr(broker) == "<KawalBroker broker-1 on 127.0.0.1:4711>"


def test_a_topic_is_created_with_kafkas_configs() -> None:
    broker, host = broker_of()
    assert broker.create_topic("t", 3, retention_ms=1000) == "t"
    assert host.asked == [
        {
            "do": "create_topic",
            "broker": "broker-1",
            "topic": "t",
            "partitions": 3,
            "configs": {"retention.ms": "1000"},
        }
    ]


def test_records_may_be_given_as_text_bytes_and_none() -> None:
    broker, host = broker_of(produce=[4, 5, 6])
    assert broker.produce("t", "é", b"\xff", None, key="k", headers={"h": b"1"}) == [4, 5, 6]
    records = host.asked[0]["records"]
    assert [record["value"] for record in records] == ["w6k=", "/w==", None]
    assert {(record["key"], record["headers"][0]) for record in records} == {("aw==", ("h", "MQ=="))}


def test_records_come_back_as_bytes() -> None:
    found = {
        "partition": 1,
        "offset": 7,
        "timestamp_ms": 5,
        "key": None,
        "value": "/w==",
        "headers": [["h", None]],
    }
    broker, _ = broker_of(records=[found])
    assert broker.records("t") == [Record(1, 7, 5, None, b"\xff", (("h", None),))]
    assert broker.values("t") == [b"\xff"]


def test_committed_offsets_are_by_topic_and_partition() -> None:
    broker, _ = broker_of(committed=[["t", 0, 5], ["t", 1, 6]])
    assert broker.committed("g") == {("t", 0): 5, ("t", 1): 6}


def test_its_life_is_in_the_tests_hands() -> None:
    broker, host = broker_of(disconnect=2)
    for act in (broker.restart, broker.stop, broker.start, broker.pause, broker.resume, broker.heal):
        act()
    broker.kill(power_cut=True)
    assert broker.disconnect() == 2
    broker.close()
    broker.close()
    assert [command["do"] for command in host.asked] == [
        "restart", "stop", "start", "pause", "resume", "heal", "kill", "disconnect", "close",
    ]  # fmt: skip


def test_a_fault_ends_with_its_block() -> None:
    broker, host = broker_of(add_fault=3, fault_hits=1)
    with broker.fail_produce("INVALID_RECORD", topic="t") as fault:
        assert fault.hits == 1
    assert host.asked[-1] == {"do": "heal", "broker": "broker-1", "number": 3}
    assert host.asked[0]["error"] == "INVALID_RECORD"
    assert host.asked[0]["times"] == 1


def test_a_fault_is_waited_for_until_it_was_met(monkeypatch: pytest.MonkeyPatch) -> None:
    broker, host = broker_of(add_fault=3, fault_hits=0)
    fault = broker.fail_sync(times=2)
    monkeypatch.setattr("kawal_pytest.kawal_broker.POLL_SECONDS", 0)
    with pytest.raises(KawalError, match=r"met 0 of 2 requests or commits in 0\.001 s"):
        fault.wait(2, within_seconds=0.001)
    host.results["fault_hits"] = 2
    fault.wait(2)


@pytest.mark.parametrize(
    ("method", "arguments", "sent"),
    [
        ("fail_sync", {}, {"kind": "fail_sync", "times": 1}),
        ("lose_answer", {}, {"kind": "lose_answer", "api": "Produce", "times": 1}),
        ("drop", {"api": "Fetch"}, {"kind": "drop", "api": "Fetch", "times": 1}),
        ("slow", {"seconds": 0.5}, {"kind": "slow", "api": None, "times": None, "delay_ms": 500}),
        ("slow_disk", {"seconds": 2}, {"kind": "slow_disk", "times": None, "delay_ms": 2000}),
    ],
)
def test_faults_are_commands(method: str, arguments: dict[str, Any], sent: dict[str, Any]) -> None:
    broker, host = broker_of(add_fault=1)
    getattr(broker, method)(**arguments)
    assert host.asked == [{"do": "add_fault", "broker": "broker-1", **sent}]


def test_the_clock_is_read_stopped_moved_and_started() -> None:
    broker, host = broker_of(status={"now_ms": 1_500})
    assert broker.clock.now == datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
    assert broker.clock.now_ms == 1_500
    broker.clock.stop()
    broker.clock.advance(0.25)
    broker.clock.go()
    assert [command["do"] for command in host.asked[2:]] == ["stop_clock", "advance", "start_clock"]
    assert host.asked[3]["ms"] == 250


def test_what_it_has_seen_can_be_counted() -> None:
    status = {"running": True, "connections": 2, "requests": {"offset_commit": 3}}
    broker, _ = broker_of(status=status, topics={"t": 1}, log=["a", "b"])
    assert broker.requests("OffsetCommit") == 3
    assert broker.requests("Produce") == 0
    assert broker.connections == 2
    assert broker.is_running
    assert broker.topics() == {"t": 1}
    assert broker.log == "a\nb"
    broker.delete_topic("t")


def test_a_view_is_a_topic_with_a_query() -> None:
    broker, host = broker_of()
    assert broker.create_view("large", "SELECT total FROM orders", kawal_from="earliest") == "large"
    assert host.asked[0]["configs"] == {
        "kawal.sql": "SELECT total FROM orders",
        "kawal.from": "earliest",
    }


def test_its_with_block_ends_it() -> None:
    broker, host = broker_of()
    with broker as same:
        assert same is broker
    assert [command["do"] for command in host.asked] == ["close"]
