"""The gate of an audited server: what changes without a record is watched, or refused."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from broker.config.config import config_of
from broker.requests.gates import gate_of
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.kawal_databases import DatabaseAction, DatabaseItem, KawalDatabasesRequest
from protocol.messages.offset_delete import OffsetDeleteRequest
from tests.broker.audited import Audited
from tests.broker.gateway import Gateway
from tests.broker.groups import codes, committing, join
from tests.broker.kit import create


def test_only_an_audited_server_has_it() -> None:
    broker: Any = Gateway().broker
    assert type(gate_of(broker)).__name__ == "QuotaGate"
    for settings in ({"kawal.audit.file": "/a"}, {"kawal.audit.topic": True}):
        broker.config = config_of(settings)
        assert type(gate_of(broker)).__name__ == "AuditGate"


def test_a_start_without_an_audit_log_imports_nothing_of_it() -> None:
    program = "import sys, broker.server.run; print([n for n in sys.modules if 'audit' in n])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    # The keys are part of the table of all keys.
    assert found.stdout.strip() == "['broker.config.audit_keys']"


def test_before_the_trail_is_there_requests_pass() -> None:
    gateway = Audited()
    gateway.broker.stats.audit = None
    create(gateway.admin, "t")
    assert "t" in gateway.broker.catalogue.by_name


def test_requests_that_cannot_be_told_are_refused_whole_but_not_commits_of_members() -> None:
    gateway = Audited(kawal_audit_when_full="refuse", group_initial_rebalance_delay_ms=0)
    admin = gateway.admin
    create(admin, "t")
    member = join(admin, "busy")
    assert codes(admin.call(committing("g", ("t", 0, 1)), 9)) == [0]
    gateway.failing = "no room"
    gateway.trail.record("something")
    refused = ErrorCode.POLICY_VIOLATION
    groups = admin.call(DeleteGroupsRequest(groups_names=["g", "h"]), 2)
    assert [(each.group_id, each.error_code) for each in groups.results] == [("g", refused), ("h", refused)]
    part = DeleteRecordsPartition(partition_index=0, offset=0)
    asked = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=[part])], timeout_ms=1)
    assert admin.call(asked, 2).topics[0].partitions[0].error_code == refused
    assert admin.call(OffsetDeleteRequest(group_id="g", topics=[]), 0).error_code == refused
    assert codes(admin.call(committing("g", ("t", 0, 2)), 9)) == [refused]
    assert codes(admin.call(committing("busy", ("t", 0, 2), member=member), 9)) == [0]
    named = [DatabaseItem(name="d2", settings=[])]
    for action, code in (
        (DatabaseAction.CREATE, refused),
        (DatabaseAction.DESCRIBE, ErrorCode.RESOURCE_NOT_FOUND),
    ):
        answer = admin.call(KawalDatabasesRequest(action=action, databases=named), 0)
        assert answer.databases[0].error_code == code
