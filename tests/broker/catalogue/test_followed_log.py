"""The log of a node that follows: it changes nothing by itself, and takes the records of the controller."""

from __future__ import annotations

import pytest

from broker.catalogue.catalogue_records import FeatureLevel, GroupConfigs
from broker.catalogue.followed_log import FollowedLog, log_kind
from broker.catalogue.metadata_log import MetadataLog
from broker.catalogue.nodes import Nodes
from broker.errors import RequestError
from protocol.error_codes import ErrorCode
from tests.broker.cluster import Cluster

RECORD = GroupConfigs(group="g", configs={"group.min.session.timeout.ms": "1"})


def follower() -> tuple[Cluster, FollowedLog]:
    cluster = Cluster(2)
    log = cluster[1].broker.metadata_log
    assert isinstance(log, FollowedLog)
    return cluster, log


def test_a_change_of_its_own_is_refused() -> None:
    cluster, log = follower()
    with pytest.raises(RequestError) as refused:
        log.append(RECORD, 0)
    assert refused.value.code == ErrorCode.NOT_CONTROLLER
    assert not cluster[1].broker.catalogue.group_configs


def test_a_record_that_is_taken_counts_at_once_and_is_told_of() -> None:
    cluster, log = follower()
    told: list[object] = []
    confirmed: list[None] = []
    log.listen(lambda record, _now_ms: told.append(record))
    log.when_changed(lambda: told.append("changed"))
    with log.taking(RECORD):
        log.append(RECORD, 0, confirmed=lambda: confirmed.append(None))
    assert cluster[1].broker.catalogue.group_configs == {"g": RECORD.configs}
    assert (told, len(confirmed)) == ([RECORD, "changed"], 1)


def test_what_follows_from_a_record_is_left_to_the_controller() -> None:
    cluster, log = follower()
    with log.taking(RECORD):
        log.append(FeatureLevel(name="share.version", level=0), 0)
    assert not cluster[1].broker.catalogue.feature_levels


def test_waiting_for_the_disk_ends_at_once() -> None:
    _, log = follower()
    done: list[ErrorCode | None] = []
    log.when_durable(done.append, 0)
    assert done == [None]


def test_only_the_controller_has_a_log_that_it_writes() -> None:
    assert log_kind(Nodes(0)) is MetadataLog
    assert log_kind(Nodes(0, count=2)) is MetadataLog
    assert log_kind(Nodes(1, number=1, count=2)) is FollowedLog


def test_what_waits_for_a_version_goes_on_when_it_is_reached() -> None:
    _, log = follower()
    told: list[int] = []
    for ahead in (3, 1, 0):
        log.when_reached(log.version + ahead, lambda ahead=ahead: told.append(ahead))  # type: ignore[misc]
    assert told == [0]
    log.reached(log.version + 2)
    assert told == [0, 1]
    log.reached(log.version + 1)
    assert told == [0, 1, 3]
