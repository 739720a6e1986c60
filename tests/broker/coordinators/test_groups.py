"""The group coordinator inside the broker: its internal topic, its answers and the disk."""

from __future__ import annotations

import errno
from typing import Any

from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import (
    beating,
    codes,
    commit,
    committed,
    committing,
    fetching_offsets,
    given,
    join,
    joining,
    syncing,
)
from tests.broker.kit import batch, create, send
from tests.broker.topic_changes import grow
from wal.memory_faults import failing

SETTINGS = {"kawal_vnodes": 2, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}
TOPICS = {"t": 2}


OFFSETS = "__consumer_offsets"


def delete(client: Client, name: str) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=1_000)
    assert client.call(request, 6).responses[0].error_code == 0


def test_a_member_joins_commits_leaves_a_trace_and_goes_on_after_a_restart(
    gateway: Gateway, client: Client
) -> None:
    member = join(client, "g")
    commit(client, "g", ("t", 0, 5), ("t", 1, 7), member=member)
    beat = HeartbeatRequest(group_id="g", member_id=member[0], generation_id=member[1])
    assert client.call(beat, 4).error_code == 0
    assert committed(client, "g") == {("t", 0): 5, ("t", 1): 7}
    gateway.restart()
    client = gateway.client()
    gateway.advance(10)
    assert client.call(beat, 4).error_code == 0
    assert committed(client, "g") == {("t", 0): 5, ("t", 1): 7}


def test_commits_survive_a_crash_the_moment_they_are_answered(gateway: Gateway, client: Client) -> None:
    for offset in range(3):
        commit(client, "g", ("t", 0, offset))
        gateway.crash()
        gateway.advance(10)
        client = gateway.client()
        assert committed(client, "g") == {("t", 0): offset}


def test_an_unanswered_commit_is_not_shown_and_may_be_lost(gateway: Gateway, client: Client) -> None:
    commit(client, "g", ("t", 0, 1))
    client.send(committing("g", ("t", 0, 2)), 9)
    assert client.answers() == []
    gateway.crash()
    gateway.advance(10)
    assert committed(gateway.client(), "g") == {("t", 0): 1}


def test_the_internal_topic_is_made_at_the_first_record_only(gateway: Gateway, client: Client) -> None:
    client.call(fetching_offsets("g"), 9)
    client.call(ListGroupsRequest(), 5)
    client.call(joining("g"), 4)
    assert OFFSETS not in gateway.broker.catalogue.by_name
    commit(client, "g", ("t", 0, 1))
    (shown,) = client.call(MetadataRequest(topics=[MetadataRequestTopic(name=OFFSETS)]), 12).topics
    assert (shown.is_internal, len(shown.partitions)) == (True, 50)
    topic = gateway.broker.find_topic(OFFSETS)
    assert topic.configs == {
        "cleanup.policy": "compact",
        "segment.bytes": "104857600",
        "compression.type": "producer",
    }


def test_a_client_that_asks_for_the_internal_topic_makes_it_as_it_must_be(
    gateway: Gateway, client: Client
) -> None:
    client.call(MetadataRequest(topics=[MetadataRequestTopic(name=OFFSETS)]), 12)
    assert gateway.broker.find_topic(OFFSETS).partition_count == 50
    commit(client, "g", ("t", 0, 1))
    assert committed(client, "g") == {("t", 0): 1}


def test_what_comes_while_the_topic_is_being_made_is_stored_when_it_is(
    gateway: Gateway, client: Client
) -> None:
    clients = [gateway.client() for _ in range(3)]
    for number, sender in enumerate(clients):
        sender.send(committing(f"g{number}", ("t", 0, number)), 9)
    gateway.settle()
    assert [codes(sender.answers()[0]) for sender in clients] == [[0]] * 3
    gateway.crash()
    gateway.advance(10)
    assert [committed(gateway.client(), f"g{number}") for number in range(3)] == [
        {("t", 0): number} for number in range(3)
    ]


def test_a_topic_that_cannot_be_made_refuses_the_commit_and_the_next_one_tries_again(
    gateway: Gateway, client: Client
) -> None:
    gateway.disk.faults.append(failing("sync", errno.EIO, path="meta"))
    assert codes(client.call(committing("g", ("t", 0, 1)), 9)) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert committed(client, "g") == {}
    commit(client, "g", ("t", 0, 2))
    assert committed(client, "g") == {("t", 0): 2}


def test_a_failed_sync_answers_an_error_and_nothing_is_committed(gateway: Gateway, client: Client) -> None:
    commit(client, "g", ("t", 0, 1))
    client.send(committing("g", ("t", 0, 2)), 9)
    client.send(committing("g", ("t", 1, 2)), 9)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-"))
    gateway.run_jobs()
    assert [codes(answer) for answer in client.answers()] == [[ErrorCode.COORDINATOR_NOT_AVAILABLE]] * 2
    assert committed(client, "g") == {("t", 0): 1}
    gateway.settle()
    commit(client, "g", ("t", 1, 3))
    gateway.crash()
    gateway.advance(10)
    assert committed(gateway.client(), "g") == {("t", 0): 1, ("t", 1): 3}


def test_a_generation_whose_record_is_lost_is_given_to_nobody(gateway: Gateway, client: Client) -> None:
    commit(client, "other", ("t", 0, 1))
    member_id = client.call(joining("g"), 4).member_id
    client.send(joining("g", member_id), 4)
    gateway.settle()
    (joined,) = client.answers()
    client.send(syncing("g", member_id, joined.generation_id, **{member_id: b"mine"}), 5)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-"))
    gateway.run_jobs()
    (synced,) = client.answers()
    assert synced.error_code != 0
    gateway.settle()
    again = client.call(joining("g", member_id), 4)
    assert (again.error_code, again.generation_id > joined.generation_id) == (0, True)


def test_a_full_disk_still_takes_commits() -> None:
    gateway = Gateway(kawal_segment_bytes=1 << 20, kawal_min_free_bytes=1 << 20, kawal_vnodes=1)
    client = gateway.client()
    create(client, "t")
    send(client, "t", batch(b"a"))
    commit(client, "g", ("t", 0, 1))
    gateway.disk.capacity_bytes = gateway.disk.used_bytes() + 600_000
    gateway.advance(2_000)
    send(client, "t", batch(b"whose sync shows how little is left"))
    gateway.advance(2_000)
    assert send(client, "t", batch(b"refused")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    commit(client, "g", ("t", 0, 2))
    assert committed(client, "g") == {("t", 0): 2}


def test_a_topic_created_later_reaches_those_who_subscribe_to_its_name_or_a_pattern(
    gateway: Gateway, client: Client
) -> None:
    named = client.call(beating("named", "a", topics=["later"]), 1)
    pattern = client.call(beating("pattern", "b", regex="la.*"), 1)
    assert (given(named), given(pattern)) == ({}, {})
    topic_id = create(client, "later", partitions=3)
    gateway.advance(1_000)
    for group_id, member_id, joined in (("named", "a", named), ("pattern", "b", pattern)):
        answer = client.call(beating(group_id, member_id, joined.member_epoch), 1)
        assert given(answer) == {topic_id: [0, 1, 2]}


def test_new_partitions_reach_the_members(gateway: Gateway, client: Client) -> None:
    joined = client.call(beating("g", "a", topics=["t"]), 1)
    held = given(joined)
    assert held is not None
    (topic_id,) = held
    grow(client, "t", 4)
    gateway.advance(1_000)
    answer = client.call(beating("g", "a", joined.member_epoch, owned=held), 1)
    assert given(answer) == {topic_id: [0, 1, 2, 3]}


def test_the_offsets_of_a_deleted_topic_go_with_it(gateway: Gateway, client: Client) -> None:
    create(client, "other")
    commit(client, "g", ("t", 0, 5), ("other", 0, 6))
    delete(client, "t")
    gateway.settle()
    assert committed(client, "g") == {("other", 0): 6}
    create(client, "t")
    gateway.restart()
    gateway.advance(10)
    assert committed(gateway.client(), "g") == {("other", 0): 6}


def test_a_crash_between_a_deletion_and_that_of_its_offsets_leaves_none(
    gateway: Gateway, client: Client
) -> None:
    commit(client, "g", ("t", 0, 5))
    client.send(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1_000), 6)
    meta = [
        (vnode, job)
        for vnode, job in gateway.broker.take_jobs(gateway.now_ms)
        if vnode.name == "meta/vnode-0"
    ]
    gateway.finish(meta)
    gateway.crash()
    gateway.advance(10)
    client = gateway.client()
    create(client, "t")
    assert committed(client, "g") == {}


def test_groups_begin_anew_when_a_client_deletes_the_internal_topic(gateway: Gateway, client: Client) -> None:
    member_id, generation = join(client, "g")
    commit(client, "h", ("t", 0, 5))
    delete(client, OFFSETS)
    gateway.settle()
    assert committed(client, "h") == {}
    beat = HeartbeatRequest(group_id="g", member_id=member_id, generation_id=generation)
    assert client.call(beat, 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    commit(client, "h", ("t", 0, 6))
    gateway.crash()
    gateway.advance(10)
    assert committed(gateway.client(), "h") == {("t", 0): 6}


def test_an_internal_topic_of_another_size_is_used_as_it_is(gateway: Gateway, client: Client) -> None:
    client.call(ListGroupsRequest(), 5)
    create(client, OFFSETS, partitions=3)
    groups = [f"g{number}" for number in range(10)]
    for group_id in groups:
        commit(client, group_id, ("t", 0, 1))
    gateway.restart()
    gateway.advance(10)
    assert all(committed(gateway.client(), group_id) == {("t", 0): 1} for group_id in groups)


def test_progress_outlives_growth_of_the_internal_topic(gateway: Gateway, client: Client) -> None:
    for number in range(20):
        commit(client, f"g{number}", ("t", 0, number))
    grown = CreatePartitionsTopic(name=OFFSETS, count=73, assignments=None)
    (result,) = client.call(
        CreatePartitionsRequest(topics=[grown], timeout_ms=1_000, validate_only=False), 3
    ).results
    assert result.error_code == 0
    for step, again in enumerate((gateway.restart, gateway.crash, gateway.crash)):
        for number in range(10):
            commit(client, f"g{number}", ("t", 0, 100 * step + number))
        again()
        gateway.advance(10)
        client = gateway.client()
        found = [committed(client, f"g{number}") for number in range(20)]
        assert found == [{("t", 0): number + (100 * step if number < 10 else 0)} for number in range(20)]
    assert gateway.broker.find_topic(OFFSETS).partition_count == 73


def test_only_the_server_writes_the_internal_topic(client: Client) -> None:
    commit(client, "g", ("t", 0, 1))
    refused = send(client, OFFSETS, batch(b"junk", key=b"junk"))
    assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert refused.error_message == f"Cannot append to internal topic {OFFSETS}"


def test_who_waits_for_a_group_to_gather_is_answered_at_a_stop() -> None:
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    member_id = client.call(joining("g"), 4).member_id
    client.send(joining("g", member_id), 4)
    assert client.answers() == []
    gateway.broker.begin_stop(gateway.now_ms)
    (answer,) = client.answers()
    assert answer.error_code == ErrorCode.NOT_COORDINATOR


def test_a_commit_on_its_way_is_stored_before_the_stop_answers(gateway: Gateway, client: Client) -> None:
    commit(client, "g", ("t", 0, 1))
    client.send(committing("g", ("t", 0, 2)), 9)
    gateway.broker.begin_stop(gateway.now_ms)
    gateway.settle()
    assert codes(client.answers()[0]) == [0]


def test_members_that_fall_silent_are_removed(gateway: Gateway, client: Client) -> None:
    member_id, generation = join(client, "g")
    gateway.advance(10_001)
    beat = HeartbeatRequest(group_id="g", member_id=member_id, generation_id=generation)
    assert client.call(beat, 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_changed_settings_hold_for_the_groups_there_are(gateway: Gateway, client: Client) -> None:
    member = join(client, "g")
    set_cluster(client, "offset.metadata.max.bytes", "3")
    assert gateway.broker.live_config.current.offset_metadata_max_bytes == 3
    long = committing("g", ("t", 0, 5), member=member, metadata="four")
    assert codes(client.call(long, 8)) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    set_cluster(client, "group.max.size", "1")
    another = client.call(joining("g", client.call(joining("g"), 4).member_id), 4)
    assert another.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_bounds_at_odds_with_what_groups_get_are_refused(client: Client) -> None:
    refused = set_cluster(client, "group.consumer.max.session.timeout.ms", "11999")
    assert (refused.error_code, "group.consumer.session.timeout.ms = 12000" in refused.error_message) == (
        ErrorCode.INVALID_REQUEST,
        True,
    )


def set_cluster(client: Client, name: str, value: str) -> Any:
    """Change a setting of every node."""
    config = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=4, resource_name="", configs=[config])
    return client.call(
        IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1
    ).responses[0]


def test_a_client_id_that_grows_beyond_a_string_when_it_is_read_is_cut(client: Client) -> None:
    beat = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    client.send_under_name(b"\xff" * 32_767, beat, 1)
    client.gateway.settle()
    assert client.answers()[0].error_code == 0
    group = client.call(
        ConsumerGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False), 1
    ).groups[0]
    assert group.members[0].client_id == "\N{REPLACEMENT CHARACTER}" * (32_767 // 3)
    client.gateway.restart()
    other = client.gateway.client()
    client.gateway.advance(10)
    assert (
        other.call(ConsumerGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False), 1)
        .groups[0]
        .members
    )
