"""Tests of groups/offset_fetch.py."""

from __future__ import annotations

from uuid import UUID

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from tests.groups.consumers import epoch_of, two_members
from tests.groups.driver import Answer, Driver, client


@pytest.fixture
def driver() -> Driver:
    driver = Driver("t", "u")
    driver.commit("g", {("t", 0): 5, ("t", 2): 6, ("u", 1): 7}, metadata="m", leader_epoch=3)
    return driver


def found(answer: Answer[OffsetFetchResponse]) -> dict[tuple[str, int], int]:
    [group] = answer.value.groups
    assert group.error_code == ErrorCode.NONE
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in group.topics
        for partition in topic.partitions
    }


def test_the_offsets_asked_for_are_answered(driver: Driver) -> None:
    assert found(driver.fetch("g", "t", 0, 2)) == {("t", 0): 5, ("t", 2): 6}
    [topic] = driver.fetch("g", "t", 0).value.groups[0].topics
    [one] = topic.partitions
    assert (one.metadata, one.committed_leader_epoch, one.error_code) == ("m", 3, ErrorCode.NONE)


def test_what_is_not_there_is_minus_one_without_an_error(driver: Driver) -> None:
    for group_id, topic in (("g", "t"), ("g", "nothing"), ("nobody", "t"), ("", "t")):
        [answered] = driver.fetch(group_id, topic, 1).value.groups[0].topics
        [one] = answered.partitions
        assert (one.committed_offset, one.committed_leader_epoch) == (-1, -1)
        assert (one.metadata, one.error_code) == ("", ErrorCode.NONE)


def test_null_topics_are_all_of_them(driver: Driver) -> None:
    assert found(driver.fetch("g")) == {("t", 0): 5, ("t", 2): 6, ("u", 1): 7}
    assert found(driver.fetch("nobody")) == {}


def test_several_groups_are_answered_at_once(driver: Driver) -> None:
    driver.commit("h", {("t", 0): 9})
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=name, topics=topics) for name in ("g", "h", "nobody")]
    )
    answer = driver.call(driver.offset_fetch, request, client(8))
    offsets = [group.topics[0].partitions[0].committed_offset for group in answer.value.groups]
    assert offsets == [5, 9, -1]


# --- topic ids ----------------------------------------------------------------------------------------------


def test_version_10_names_topics_by_id(driver: Driver) -> None:
    known, unknown = driver.topics.by_name["t"].topic_id, UUID(int=99)
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id="g",
                topics=[
                    OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0])
                    for topic_id in (known, unknown)
                ],
            )
        ]
    )
    answer = driver.call(driver.offset_fetch, request, client(10))
    first, second = answer.value.groups[0].topics
    assert (first.topic_id, first.partitions[0].committed_offset) == (known, 5)
    assert second.topic_id == unknown
    assert second.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert second.partitions[0].committed_offset == -1


def test_all_topics_are_answered_with_their_ids(driver: Driver) -> None:
    answer = driver.fetch("g", version=10)
    ids = {topic.topic_id for topic in answer.value.groups[0].topics}
    assert ids == {driver.topics.by_name[name].topic_id for name in ("t", "u")}


# --- one group, as up to version 7 --------------------------------------------------------------------------


def one_group(driver: Driver, version: int, topics: dict[str, list[int]] | None) -> OffsetFetchResponse:
    request = OffsetFetchRequest(
        group_id="g",
        topics=None
        if topics is None
        else [
            OffsetFetchRequestTopic(name=name, partition_indexes=indexes) for name, indexes in topics.items()
        ],
    )
    answer: Answer[OffsetFetchResponse] = driver.call(driver.offset_fetch, request, client(version))
    return answer.value


@pytest.mark.parametrize("version", [1, 5, 7])
def test_old_versions_have_one_group(driver: Driver, version: int) -> None:
    response = one_group(driver, version, {"t": [0, 1]})
    offsets = [item.committed_offset for topic in response.topics for item in topic.partitions]
    assert (response.error_code, offsets) == (ErrorCode.NONE, [5, -1])


def test_they_may_ask_for_all_topics_too(driver: Driver) -> None:
    response = one_group(driver, 2, None)
    assert {topic.name: len(topic.partitions) for topic in response.topics} == {"t": 2, "u": 1}


@pytest.mark.parametrize(("version", "of_the_group"), [(1, 0), (2, 14), (3, 14), (7, 14)])
def test_a_group_that_loads_is_an_error_of_each_partition_and_where_there_is_a_place_of_the_group(
    driver: Driver, version: int, of_the_group: int
) -> None:
    """Bug: aiokafka asks in v3 and looks at partitions only, so it began anew while its group was loading."""
    driver.coordinator.unload(range(5), driver.now_ms)
    response = one_group(driver, version, {"t": [0, 1]})
    errors = [item.error_code for topic in response.topics for item in topic.partitions]
    assert (response.error_code, errors) == (of_the_group, [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2)


def test_a_group_that_loads_has_no_partitions_to_name_if_all_were_asked_for(driver: Driver) -> None:
    driver.coordinator.unload(range(5), driver.now_ms)
    response = one_group(driver, 2, None)
    assert (response.error_code, response.topics) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [])


# --- members ------------------------------------------------------------------------------------------------


def test_members_of_the_consumer_protocol_must_know_their_epoch() -> None:
    driver = Driver()
    two_members(driver)
    epoch = epoch_of(driver, "a")
    cases = {
        ("a", epoch): ErrorCode.NONE,
        ("a", epoch + 1): ErrorCode.STALE_MEMBER_EPOCH,
        ("a", epoch - 1): ErrorCode.STALE_MEMBER_EPOCH,
        ("nobody", epoch): ErrorCode.UNKNOWN_MEMBER_ID,
        (None, -1): ErrorCode.NONE,
    }
    for (member_id, asked), error in cases.items():
        answer = driver.fetch("g", "t", 0, member_id=member_id, epoch=asked)
        assert answer.value.groups[0].error_code == error, (member_id, asked)


def test_classic_members_in_a_consumer_group_must_know_their_generation() -> None:
    driver = Driver()
    two_members(driver)
    old = driver.join("g", version=3).value.member_id
    answer = driver.fetch("g", "t", 0, member_id=old, epoch=1)
    assert answer.value.groups[0].error_code == ErrorCode.ILLEGAL_GENERATION


def test_to_others_a_member_does_not_matter(driver: Driver) -> None:
    assert found(driver.fetch("g", "t", 0, member_id="whoever", epoch=7)) == {("t", 0): 5}


# --- commits in flight --------------------------------------------------------------------------------------


def test_a_commit_on_its_way_is_not_seen(driver: Driver) -> None:
    driver.hold = True
    driver.commit("g", {("t", 0): 100})
    assert found(driver.fetch("g", "t", 0)) == {("t", 0): 5}


def test_require_stable_waits_for_it(driver: Driver) -> None:
    driver.hold = True
    driver.commit("g", {("t", 0): 100})
    answer = driver.fetch("g", "t", 0, require_stable=True)
    assert answer.waits
    driver.sync()
    assert found(answer) == {("t", 0): 100}


def test_require_stable_does_not_wait_for_what_is_lost(driver: Driver) -> None:
    driver.hold = True
    driver.commit("g", {("t", 0): 100})
    answer = driver.fetch("g", "t", 0, require_stable=True)
    driver.fail()
    assert found(answer) == {("t", 0): 5}


def test_require_stable_without_groups_is_answered(driver: Driver) -> None:
    request = OffsetFetchRequest(groups=[], require_stable=True)
    assert driver.call(driver.offset_fetch, request, client(9)).value.groups == []
