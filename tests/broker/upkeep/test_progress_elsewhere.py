"""Retention keeps the records of groups that another node coordinates, known or not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.upkeep.progress_elsewhere import WAIT_MS
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.broker.cluster import UNANSWERED, UNSENT
from tests.broker.groups import beating
from tests.broker.kit import create
from tests.broker.upkeep.holding_nodes import RECORDS, Holding
from tests.broker.upkeep.holds import INTERVAL_MS


@pytest.fixture(params=[False, True], ids=["workers", "nodes"])
def nodes(request: pytest.FixtureRequest) -> Holding:
    """Return two nodes; when they are ready to delete, all records are too old."""
    return Holding(own_directories=request.param)


def test_a_group_holds_what_it_has_not_committed_at_its_coordinator(nodes: Holding) -> None:
    nodes.hold(important="true")
    nodes.commit(2)
    nodes.pass_time(60_000)
    assert nodes.start() == 2
    nodes.commit(5)
    nodes.pass_time()
    assert nodes.start() == 5
    nodes.commit(RECORDS)
    nodes.pass_time()
    assert nodes.start() == RECORDS


def test_without_a_hold_no_node_is_asked(nodes: Holding) -> None:
    nodes.commit(2)
    nodes.pass_time(60_000)
    assert nodes.start() == RECORDS
    assert nodes.questions == 0


def test_a_group_that_has_committed_nothing_holds_all_that_it_subscribes_to(nodes: Holding) -> None:
    nodes.hold(important="true")
    create(nodes[0].client(), "u", 2, retention_ms="20000", segment_ms="1")
    nodes.settle()
    nodes.fill("u")
    answer = nodes.client_of_group().call(beating(nodes.group, "m", topics=["t"]), 1)
    for _ in range(12):
        nodes.pass_time(5_000)
        answer = nodes.client_of_group().call(beating(nodes.group, "m", answer.member_epoch), 1)
        assert answer.error_code == 0
    assert [nodes.start(index) for index in nodes.indexes()] == [0] * 4
    assert [nodes.start(index, "u") for index in nodes.indexes("u")] == [RECORDS] * 2


def test_topics_that_are_named_are_held_before_the_group_has_run(nodes: Holding) -> None:
    nodes.hold(important="true", important_topics="t")
    nodes.pass_time(60_000)
    assert nodes.start() == 0


def test_availability_counts_from_what_the_group_has_committed(nodes: Holding) -> None:
    nodes.hold(availability_ms="3600000")
    nodes.commit(4)
    nodes.pass_time(60_000)
    assert nodes.start() == 4


def test_an_offset_that_is_set_back_counts_in_the_next_check(nodes: Holding) -> None:
    nodes.hold(important="true")
    nodes.commit(3)
    nodes.pass_time(10_000)
    nodes.commit(1)
    nodes.pass_time(60_000)
    assert nodes.start() == 1


def test_a_group_without_its_offset_holds_what_is_named_from_the_start(nodes: Holding) -> None:
    nodes.hold(important="true", important_topics="t")
    nodes.commit(3)
    nodes.pass_time(15_000)
    partition = OffsetDeleteRequestPartition(partition_index=nodes.index)
    topic = OffsetDeleteRequestTopic(name="t", partitions=[partition])
    answer = nodes.client_of_group().call(OffsetDeleteRequest(group_id=nodes.group, topics=[topic]), 0)
    assert answer.error_code == 0
    nodes.pass_time(60_000)
    assert nodes.start() == 0


def kill(nodes: Holding) -> Callable[[], None]:
    nodes.kill(nodes.coordinator)
    return lambda: nodes.revive(nodes.coordinator)


def hang(nodes: Holding) -> Callable[[], None]:
    nodes.hung.add(nodes.coordinator)
    return lambda: nodes.wake(nodes.coordinator)


def cut_off(nodes: Holding) -> Callable[[], None]:
    nodes.cut.add(frozenset({0, 1}))
    return nodes.cut.clear


MISHAPS = pytest.mark.parametrize("mishap", [kill, hang, cut_off])


@MISHAPS
def test_all_is_kept_while_the_coordinator_is_silent_also_what_the_group_did_not_read(
    nodes: Holding, mishap: Callable[[Holding], Callable[[], None]]
) -> None:
    nodes.hold(important="true")
    nodes.commit(2)
    create(nodes[0].client(), "u", 2, retention_ms="20000", segment_ms="1")
    nodes.settle()
    nodes.fill("u")
    nodes.pass_time(INTERVAL_MS)
    led = next(index for index in nodes.indexes("u") if nodes.leader_of(index, "u") == nodes.leader)
    end = mishap(nodes)
    nodes.pass_time(60_000)
    assert (nodes.start(), nodes.start(led, "u")) == (0, 0)
    end()
    nodes.pass_time(3 * INTERVAL_MS)
    assert (nodes.start(), nodes.start(led, "u")) == (2, RECORDS)


@MISHAPS
def test_a_leader_that_has_started_again_keeps_all_until_the_coordinator_has_told(
    mishap: Callable[[Holding], Callable[[], None]],
) -> None:
    nodes = Holding(3)
    nodes.hold(important="true")
    nodes.commit(2)
    nodes.pass_time(INTERVAL_MS)
    # A node that starts needs the controller.
    assert nodes.coordinator != 0
    nodes.cut.discard(frozenset({0, 1}))
    end = mishap(nodes)
    nodes.kill(nodes.leader)
    nodes.revive(nodes.leader)
    nodes.pass_time(60_000)
    if mishap is not cut_off:
        assert nodes.start() == 0
    end()
    nodes.pass_time(3 * INTERVAL_MS)
    assert nodes.start() == 2


def test_a_limit_of_size_holds_while_the_coordinator_is_silent(nodes: Holding) -> None:
    nodes.hold(important="true", important_max_bytes="2500")
    nodes.commit(1)
    nodes.pass_time(INTERVAL_MS)
    nodes.kill(nodes.coordinator)
    nodes.pass_time(60_000)
    assert nodes.start() == 4


def test_a_limit_of_age_holds_while_the_coordinator_is_silent(nodes: Holding) -> None:
    nodes.hold(availability_ms="30000")
    nodes.commit(1)
    nodes.pass_time(INTERVAL_MS)
    nodes.kill(nodes.coordinator)
    nodes.pass_time(15_000)
    assert nodes.start() == 0
    nodes.pass_time(60_000)
    assert nodes.start() == RECORDS


def test_a_hold_that_is_taken_back_ends_although_the_coordinator_is_away(nodes: Holding) -> None:
    nodes.hold(important="true")
    nodes.commit(2)
    nodes.pass_time(60_000)
    nodes.hold(important="false")
    nodes.pass_time()
    assert nodes.start() == RECORDS


@pytest.mark.parametrize("what", [UNSENT, UNANSWERED])
def test_a_question_that_fails_is_asked_again_by_the_next_check(what: str) -> None:
    nodes = Holding()
    nodes.hold(important="true")
    nodes.commit(2)
    nodes.pass_time(INTERVAL_MS)
    for _ in range(120):
        nodes.mishaps.extend([what] * 10)
        nodes.pass_time(500)
    assert nodes.start() == 0
    nodes.mishaps.clear()
    nodes.pass_time(3 * INTERVAL_MS)
    assert nodes.start() == 2


def test_an_answer_that_comes_too_late_counts_for_no_later_check(nodes: Holding) -> None:
    nodes.hold(important="true")
    nodes.commit(5)
    nodes.pass_time(INTERVAL_MS)
    progress = nodes[nodes.leader].broker.retention._elsewhere
    assert progress is not None
    nodes.hung.add(nodes.coordinator)
    nodes.pass_time(INTERVAL_MS + WAIT_MS)
    assert not progress.knows(nodes.group)
    nodes.wake(nodes.coordinator)
    nodes.commit(1)
    nodes.pass_time(60_000)
    assert nodes.start() == 1


def test_the_questions_of_a_check_do_not_grow_with_partitions(nodes: Holding) -> None:
    nodes.hold(important="true")
    create(nodes[0].client(), "wide", 200, retention_ms="20000", segment_ms="1")
    nodes.settle()
    for index in range(200):
        nodes.commit(0, index, "wide")
    nodes.pass_time(INTERVAL_MS)
    before = nodes.questions
    nodes.pass_time(10 * INTERVAL_MS)
    assert nodes.questions - before <= 11


def test_what_was_told_is_forgotten_with_the_last_hold(nodes: Holding) -> None:
    nodes.hold(important="true")
    nodes.commit(2)
    nodes.pass_time()
    progress = nodes[nodes.leader].broker.retention._elsewhere
    assert progress is not None
    assert progress._told
    nodes.hold(important="false")
    nodes.pass_time()
    assert not progress._told


def test_a_group_is_unknown_while_its_coordinator_loads_it(nodes: Holding) -> None:
    nodes.hold(important="true")
    nodes.commit(2)
    nodes.pass_time(INTERVAL_MS)
    groups = nodes[nodes.coordinator].broker.groups
    now_ms = nodes[nodes.coordinator].now_ms
    with groups.step(now_ms) as coordinator:
        partition = coordinator.partition_of(nodes.group)
        coordinator.unload([partition], now_ms)
    nodes.pass_time(60_000)
    assert nodes.start() == 0
    with groups.step(nodes[nodes.coordinator].now_ms) as coordinator:
        coordinator.loaded([partition], nodes[nodes.coordinator].now_ms)
    nodes.commit(4)
    nodes.pass_time(3 * INTERVAL_MS)
    assert nodes.start() == 4
