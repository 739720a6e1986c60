"""KawalAudit: for nodes of the cluster alone; the rest is in test_audit_elsewhere.py."""

from __future__ import annotations

import pytest

from broker.catalogue.topics import AUDIT_TOPIC
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_audit import KawalAuditRequest
from tests.broker.cluster import Cluster
from tests.broker.kit import batch

EVENT = bytes(batch(b"{}", producer=(5, 0, 0)))


def test_a_client_is_cut_off() -> None:
    cluster = Cluster(2)
    client = cluster[0].client()
    client.send(KawalAuditRequest(records=EVENT), 0)
    assert client.connection.close_reason is not None
    assert client.answers() == []
    assert AUDIT_TOPIC not in cluster[0].broker.catalogue.by_name


def test_the_controller_creates_the_topic_and_its_leader_alone_takes_events() -> None:
    cluster = Cluster(2)
    assert cluster.ask(0, KawalAuditRequest(records=EVENT), 0).error_code == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    cluster.advance(1_000)
    codes = [cluster.ask(number, KawalAuditRequest(records=EVENT), 0).error_code for number in range(2)]
    assert sorted(codes) == [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (b"", ErrorCode.INVALID_RECORD),
        (EVENT[:-1] + b"?", ErrorCode.CORRUPT_MESSAGE),
        (bytes(batch(b"{}", producer=(5, 0, 7))), ErrorCode.NONE),
    ],
)
def test_what_is_no_batch_is_refused(records: bytes, code: ErrorCode) -> None:
    cluster = Cluster(2)
    cluster.ask(0, KawalAuditRequest(records=EVENT), 0)
    cluster.advance(1_000)
    topics = cluster[0].broker.topics
    leader = topics.leader(cluster[0].broker.catalogue.by_name[AUDIT_TOPIC], 0)[0]
    assert cluster.ask(leader, KawalAuditRequest(records=records), 0).error_code == code
