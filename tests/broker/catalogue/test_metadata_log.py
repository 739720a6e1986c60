"""The log of the catalogue: changes are planned, then confirmed or undone; all listeners learn of them."""

from __future__ import annotations

import errno

import pytest

from broker.catalogue.catalogue_records import CatalogueRecord, GroupConfigs, ProducerIdBlock
from broker.errors import RequestError
from protocol.error_codes import ErrorCode
from tests.broker.gateway import Gateway
from wal.memory_faults import failing


def configs(group: str, value: str) -> GroupConfigs:
    return GroupConfigs(group=group, configs={"consumer.session.timeout.ms": value})


def test_every_listener_learns_of_each_durable_change_once() -> None:
    gateway = Gateway()
    log = gateway.broker.metadata_log
    heard: list[tuple[str, CatalogueRecord, int]] = []
    for name in ("first", "second"):
        log.listen(lambda record, now_ms, name=name: heard.append((name, record, now_ms)))  # type: ignore[misc]
    made = [configs("a", "1"), configs("b", "2")]
    for record in made:
        log.append(record, gateway.now_ms)
    assert heard == []
    gateway.settle()
    assert heard == [(name, record, gateway.now_ms) for record in made for name in ("first", "second")]


def test_a_lost_change_is_undone_and_no_listener_learns_of_it() -> None:
    gateway = Gateway()
    log, catalogue = gateway.broker.metadata_log, gateway.broker.catalogue
    heard: list[CatalogueRecord] = []
    answered: list[ErrorCode | None] = []
    log.listen(lambda record, _now_ms: heard.append(record))
    log.append(configs("a", "1"), gateway.now_ms, confirmed=lambda: answered.append(None))
    log.when_durable(answered.append, gateway.now_ms)
    assert catalogue.group_configs == {"a": {"consumer.session.timeout.ms": "1"}}
    gateway.disk.faults.append(failing("sync", errno.EIO, path="meta"))
    gateway.run_jobs()
    assert (heard, answered) == ([], [ErrorCode.KAFKA_STORAGE_ERROR])
    assert catalogue.group_configs == {}


def test_a_log_that_takes_no_more_refuses_the_change() -> None:
    gateway = Gateway()
    gateway.disk.faults.append(failing("sync", errno.EIO, path="meta", times=100))
    log = gateway.broker.metadata_log
    log.append(ProducerIdBlock(next_id=1_000), gateway.now_ms)
    gateway.run_jobs()
    with pytest.raises(RequestError) as refused:
        log.append(ProducerIdBlock(next_id=2_000), gateway.now_ms)
    assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert gateway.broker.catalogue.next_producer_id == 0
