"""The internal topic of the audit log: made when it is needed, and written by the server alone."""

from __future__ import annotations

import json

import pytest

from broker.catalogue.topics import AUDIT_TOPIC
from broker.upkeep.audit_topic import new_topic
from protocol.error_codes import ErrorCode
from protocol.messages.produce import ProduceRequest
from tests.broker.audited import Audited
from tests.broker.kit import batch, create, producing, read
from tests.broker.topic_requests import deleted
from wal.memory_faults import failing


@pytest.fixture
def gateway() -> Audited:
    return Audited(kawal_audit_topic=True)


def test_events_are_records_of_the_topic(gateway: Audited) -> None:
    create(gateway.admin, "t")
    create(gateway.admin, "u")
    gateway.settle()
    found = [json.loads(value) for value in read(gateway.admin, AUDIT_TOPIC)]
    assert found == gateway.events
    assert [event["resource"]["name"] for event in found] == ["t", AUDIT_TOPIC, "u"]


def test_no_client_writes_it_not_even_an_administrators(gateway: Audited) -> None:
    create(gateway.admin, "t")
    gateway.settle()
    request: ProduceRequest = producing((AUDIT_TOPIC, 0, batch(b"forged")))
    for client_id in (b"me", b"__admin_client"):
        client = gateway.admin
        client.send_under_name(client_id, request, 9)
        gateway.settle()
        (answer,) = client.answers()
        (part,) = answer.responses[0].partition_responses
        assert part.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_it_is_protected_from_deletion(gateway: Audited) -> None:
    create(gateway.admin, "t")
    gateway.settle()
    assert deleted(gateway.admin, AUDIT_TOPIC)[AUDIT_TOPIC][0] == ErrorCode.POLICY_VIOLATION
    assert new_topic().configs["retention.ms"] == "2592000000"


def test_events_that_the_disk_did_not_take_come_later(gateway: Audited) -> None:
    import errno

    create(gateway.admin, "t")
    gateway.settle()
    gateway.disk.faults.append(failing("write", errno.ENOSPC))
    gateway.trail.record("something")
    gateway.settle()
    gateway.advance(5_000)
    gateway.settle()
    found = [json.loads(value)["event"] for value in read(gateway.admin, AUDIT_TOPIC)]
    assert found.count("something") == 1


def test_it_goes_on_after_a_restart(gateway: Audited) -> None:
    create(gateway.admin, "t")
    gateway.settle()
    gateway.restart()
    before = len(read(gateway.admin, AUDIT_TOPIC))
    assert before == len(gateway.events) == 2


def test_after_a_crash_there_are_the_events_that_were_durable_in_their_order(gateway: Audited) -> None:
    for number in range(5):
        create(gateway.admin, f"t{number}")
    gateway.settle()
    durable = read(gateway.admin, AUDIT_TOPIC)
    gateway.trail.record("too late")
    gateway.crash()
    found = read(gateway.admin, AUDIT_TOPIC)
    assert found[: len(durable)] == durable
    assert len(found) <= len(durable) + 1
