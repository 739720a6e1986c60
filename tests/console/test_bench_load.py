"""The load of `kawal bench`."""

from __future__ import annotations

import pytest

from console import bench_load
from console.bench_load import (
    Tally,
    consume_all,
    make_batch,
    own_topic,
    produce_in_bulk,
    produce_one_by_one,
)
from console.errors import CommandError
from protocol.records import read_batch_header
from tests.broker.gateway import Gateway
from tests.console.bench import connect_links

MANY = 1 << 40


def test_a_batch_holds_so_many_records_of_a_size() -> None:
    batch = make_batch(3, 500)
    assert read_batch_header(batch).record_count == 3
    assert 1_500 < len(batch) < 1_700


def test_what_is_produced_is_counted_and_read_back(linked_gateway: Gateway) -> None:
    produced, consumed = Tally(), Tally()
    with own_topic("here:1", "bench", 2) as leaders:
        assert leaders == {0: "gateway:9092", 1: "gateway:9092"}
        taken = produce_one_by_one("bench", leaders[0], make_batch(1, 10), seconds=0)
        produce_in_bulk("bench", leaders, make_batch(5, 100), produced, seconds=60, bytes_max=5_000)
        consume_all("bench", leaders, consumed)
        assert linked_gateway.broker.find_topic("bench").partition_count == 2
    assert len(taken) == 1
    assert produced.size_bytes >= 5_000
    assert consumed.records == produced.records + 1
    assert consumed.mb_per_second > 0
    assert consumed.records_per_second > 0
    assert linked_gateway.broker.catalogue.find("bench") is None


def test_the_topic_is_deleted_when_something_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = connect_links(monkeypatch, message_max_bytes=100)
    with (
        pytest.raises(CommandError, match="a produce was refused"),
        own_topic("here:1", "bench", 1) as leaders,
    ):
        produce_in_bulk("bench", leaders, make_batch(5, 100), Tally(), seconds=60, bytes_max=MANY)
    assert gateway.broker.catalogue.find("bench") is None


def test_damage_and_gaps_are_found() -> None:
    batch = bytearray(make_batch(2, 50))
    with pytest.raises(CommandError, match="after offset 6 comes 0"):
        bench_load._take(batch, 7, Tally(), "it")
    batch[-1] ^= 1
    with pytest.raises(CommandError, match="the batch at offset 0 is damaged"):
        bench_load._take(batch, 0, Tally(), "it")


@pytest.mark.usefixtures("linked_gateway")
def test_a_topic_that_gets_no_leader_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_load, "LEADER_SECONDS", 0.0)
    with pytest.raises(CommandError, match="has no leader"), own_topic("here:1", "bench", 1):
        pass


@pytest.mark.usefixtures("linked_gateway")
def test_a_broker_that_does_not_lead_yet_is_waited_for() -> None:
    with own_topic("here:1", "bench", 1) as leaders:
        assert bench_load._leads("bench", 0, leaders[0])
        assert not bench_load._leads("bench", 7, leaders[0])


def test_a_tally_without_time_has_no_rate() -> None:
    assert (Tally().mb_per_second, Tally().records_per_second) == (0.0, 0.0)
