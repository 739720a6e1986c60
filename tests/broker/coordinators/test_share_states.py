"""The states of share groups: the offsets at which they begin, made and deleted."""

from __future__ import annotations

import pytest

from broker.coordinators import share_states
from broker.coordinators.local_states import after_all, duration_ms
from broker.loop.slices import run_here
from groups.errors import CoordinatorNotAvailable
from groups.share.state_records import ShareKey
from groups.share.table import SHARE_BYTES
from groups.topics import Client as GroupClient
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, send
from tests.broker.share_requests import beating
from tests.broker.wide_requests import Threads


def beat(gateway: Gateway, epoch: int, *topics: str, group: str = "g") -> ShareGroupHeartbeatResponse:
    answers: list[ShareGroupHeartbeatResponse] = []
    request = ShareGroupHeartbeatRequest(
        group_id=group, member_id="m", member_epoch=epoch, subscribed_topic_names=list(topics) or None
    )
    with gateway.broker.groups.step(gateway.now_ms) as coordinator:
        coordinator.share(gateway.now_ms).heartbeat(request, GroupClient(1, "c", "/"), answers.append)
    gateway.settle()
    return answers[0]


def start_of(gateway: Gateway) -> int | None:
    with gateway.broker.coordinators.shares.step(gateway.now_ms) as machine:
        found = machine.find(ShareKey("g", gateway.broker.find_topic("jobs").topic_id, 0))
    return None if found is None else found.start


def configure(gateway: Gateway, reset: str) -> None:
    configs = [AlterableConfig(name="share.auto.offset.reset", config_operation=0, value=reset)]
    resource = AlterConfigsResource(resource_type=32, resource_name="g", configs=configs)
    gateway.client().call(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)


def with_records() -> Gateway:
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    create(client, "jobs")
    for age_ms in (7_200_000, 3_000_000, 0):
        send(client, "jobs", batch(b"a", timestamp_ms=START_MS - age_ms))
    return gateway


@pytest.mark.parametrize(
    ("reset", "start"),
    [
        ("latest", 3),
        ("earliest", 0),
        ("by_duration:PT1H", 1),
        ("by_duration:P1D", 0),
        ("by_duration:PT0S", 2),
    ],
)
def test_a_group_begins_where_its_setting_says(reset: str, start: int) -> None:
    gateway = with_records()
    configure(gateway, reset)
    answer = beat(gateway, 0, "jobs")
    assert answer.assignment is not None
    assert answer.assignment.topic_partitions[0].partitions == [0]
    assert start_of(gateway) == start


def test_what_comes_after_the_first_heartbeat_is_not_skipped() -> None:
    gateway = with_records()
    beat(gateway, 0, "jobs")
    send(gateway.client(), "jobs", batch(b"late"))
    assert start_of(gateway) == 3


def test_the_states_of_a_group_are_deleted_with_it() -> None:
    gateway = with_records()
    beat(gateway, 0, "jobs")
    beat(gateway, -1)
    answer = gateway.client().call(DeleteGroupsRequest(groups_names=["g"]), 2)
    assert answer.results[0].error_code == ErrorCode.NONE
    assert start_of(gateway) is None
    gateway.crash()
    gateway.tick()
    gateway.settle()
    assert start_of(gateway) is None


def test_a_group_is_not_deleted_while_states_of_it_may_still_be_loaded() -> None:
    gateway = with_records()
    beat(gateway, 0, "jobs")
    beat(gateway, -1)
    shares = gateway.broker.coordinators.shares
    with shares.step(gateway.now_ms) as machine:
        machine.unload(range(50), gateway.now_ms)
    answer = gateway.client().call(DeleteGroupsRequest(groups_names=["g"]), 2)
    assert answer.results[0].error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    gateway.crash()
    gateway.tick()
    gateway.settle()
    assert start_of(gateway) == 3
    answer = gateway.client().call(DeleteGroupsRequest(groups_names=["g"]), 2)
    assert answer.results[0].error_code == ErrorCode.NONE
    assert start_of(gateway) is None


def test_the_members_of_a_group_survive_a_crash_with_their_states() -> None:
    gateway = with_records()
    epoch = beat(gateway, 0, "jobs").member_epoch
    gateway.crash()
    gateway.tick()
    gateway.settle()
    assert beat(gateway, epoch).error_code == ErrorCode.NONE
    assert start_of(gateway) == 3


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Threads:
    """Return threads that the test lets work; states of three partitions are very many."""
    monkeypatch.setattr(share_states, "PLAIN_ITEMS_PER_STEP", 2)
    return Threads()


def waiting(threads: Threads) -> tuple[Gateway, Client]:
    """Return a client whose heartbeat waits for the record of its group's states."""
    gateway = Gateway(kawal_vnodes=1)
    create(gateway.client(), "jobs", partitions=3)
    client = gateway.client()
    # What is imported, and caches.
    client.call(beating("jobs", member_id="first"), 1)
    gateway.client().call(beating("jobs", member_id="other"), 1)
    gateway.broker.scheduler.offload = threads.offload
    request = beating("jobs")
    request.group_id = "wide"
    client.send(request, 1)
    gateway.settle()
    assert client.answers() == []
    return gateway, client


def go_on(gateway: Gateway, threads: Threads) -> None:
    while work := threads.take():
        for done in work:
            done()
        gateway.settle()


def test_the_record_of_very_many_states_is_written_by_a_thread(threads: Threads) -> None:
    gateway, client = waiting(threads)
    go_on(gateway, threads)
    (answer,) = client.answers()
    assert answer.assignment.topic_partitions[0].partitions == [0, 1, 2]


def test_a_client_that_leaves_while_a_thread_writes_the_states_of_its_group_leaves_a_group(
    threads: Threads,
) -> None:
    gateway, client = waiting(threads)
    gateway.broker.disconnect(client.connection)
    go_on(gateway, threads)
    again = gateway.client()
    request = beating("jobs")
    request.group_id = "wide"
    again.send(request, 1)
    gateway.settle()
    (answer,) = again.answers()
    assert answer.assignment.topic_partitions[0].partitions == [0, 1, 2]


def test_a_topic_that_is_deleted_while_a_thread_writes_its_states_is_not_assigned(threads: Threads) -> None:
    gateway, client = waiting(threads)
    gateway.broker.scheduler.offload = run_here
    gateway.client().call(DeleteTopicsRequest(topic_names=["jobs"], timeout_ms=0), 3)
    go_on(gateway, threads)
    (answer,) = client.answers()
    assert (answer.error_code, answer.assignment.topic_partitions) == (ErrorCode.NONE, [])


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [("PT1.5S", 1_500), ("P2DT3H4M5S", 183_845_000), ("P1D", 86_400_000), ("pt1m", 60_000)],
)
def test_durations_are_those_of_java(text: str, expected_ms: int) -> None:
    assert duration_ms(f"by_duration:{text}") == expected_ms


def test_the_first_error_is_told_after_the_last_outcome() -> None:
    told: list[ErrorCode] = []
    one = after_all(3, told.append)
    for code in (ErrorCode.NONE, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
        assert told == []
        one(code)
    assert told == [ErrorCode.NOT_COORDINATOR]
    after_all(0, told.append)
    assert told[1:] == [ErrorCode.NONE]


def test_a_group_has_as_many_partitions_as_there_is_memory_for_and_the_rest_when_there_is_more() -> None:
    gateway = Gateway(kawal_vnodes=1, kawal_share_states_max_bytes=5 * SHARE_BYTES)
    create(gateway.client(), "jobs", 8)
    assert assigned(beat(gateway, 0, "jobs")) == 5
    assert gateway.broker.coordinators.shares.room == 0
    assert assigned(beat(gateway, 0, "jobs", group="other")) == 0
    beat(gateway, -1)
    deleted = gateway.client().call(DeleteGroupsRequest(groups_names=["g"]), 2)
    assert deleted.results[0].error_code == ErrorCode.NONE
    assert assigned(beat(gateway, 0, "jobs", group="other")) == 5


def test_a_state_for_which_there_is_no_memory_cannot_be_set_either() -> None:
    gateway = Gateway(kawal_vnodes=1, kawal_share_states_max_bytes=1_024)
    create(gateway.client(), "jobs")
    key = ShareKey("g", gateway.broker.find_topic("jobs").topic_id, 0)
    with (
        gateway.broker.coordinators.shares.step(gateway.now_ms) as machine,
        pytest.raises(CoordinatorNotAvailable, match=r"kawal\.share\.states\.max\.bytes"),
    ):
        machine.reset(key, 0, lambda _: None, gateway.now_ms)


def assigned(answer: ShareGroupHeartbeatResponse) -> int:
    """Return the number of partitions that a member is given."""
    given = [] if answer.assignment is None else answer.assignment.topic_partitions
    return sum(len(topic.partitions) for topic in given)
