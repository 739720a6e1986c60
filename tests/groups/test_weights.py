"""The weight of a member is about the memory that it takes."""

from __future__ import annotations

import tracemalloc

from groups.classic_group import ClassicGroup
from groups.classic_member import ClassicMember
from groups.consumer_group import ConsumerGroup
from groups.consumer_member import MemberMetadata
from groups.memory import GroupMemory
from groups.record_keys import MemberKey, RegexKey, ResolvedRegex, TargetEpochKey
from groups.weights import count_group, count_member, count_record, regex_bytes, slot_of
from tests.groups.driver import Driver

COUNT = 300


def member(number: int, metadata: bytes = b"") -> ClassicMember:
    return ClassicMember(
        f"member-{number}",
        instance_id=None,
        client_id="app",
        client_host="/10.0.0.9",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocols=(("range", metadata),),
    )


def test_members_take_about_the_memory_that_they_count_for() -> None:
    driver = Driver("t")
    driver.join(version=3)
    tracemalloc.start()
    counted_before = driver.coordinator.memory.size_bytes
    for number in range(COUNT):
        driver.join(version=3, client_id=f"app-{number}", topics=[f"topic-{number}" for _ in range(20)])
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    counted = driver.coordinator.memory.size_bytes - counted_before
    assert 0.5 < counted / taken < 1.6, f"{counted / taken:.2f}: {counted / COUNT}, {taken / COUNT}"


def test_a_member_counts_with_its_assignment() -> None:
    memory, group, counted = GroupMemory(), ClassicGroup("g"), member(1, b"m" * 100)
    count_member(memory, group, counted)
    before = memory.size_bytes
    counted.assignment = bytes(1_000)
    count_member(memory, group, counted)
    assert memory.size_bytes == before + 1_000


def test_a_group_that_takes_its_place_is_counted_whole() -> None:
    memory, group = GroupMemory(), ClassicGroup("g")
    for number in range(3):
        group.add(member(number))
    group.pending.add("given out")
    memory.count("g", "of a former group", "h", 77)
    count_group(memory, group)
    assert set(memory.entries("g")) == {"member-0", "member-1", "member-2", "given out"}


def test_records_are_counted_as_they_are_applied() -> None:
    memory, group = GroupMemory(), ConsumerGroup("g")
    key = MemberKey("g", "m")
    undo = group.replay(key, MemberMetadata(client_id="c", client_host="h", topics=("t",) * 100))
    count_record(memory, group, key)
    assert memory.group_bytes("g") > 6_000
    undo()
    count_record(memory, group, key)
    assert memory.size_bytes == 0


def test_an_expression_counts_its_topics() -> None:
    memory, group, key = GroupMemory(), ConsumerGroup("g"), RegexKey("g", "a.*")
    topics = frozenset(f"a{number}" for number in range(100))
    group.replay(key, ResolvedRegex(topics, 0))
    count_record(memory, group, key)
    assert memory.size_bytes == regex_bytes("a.*", topics) > 100 * 100


def test_epochs_take_no_memory_worth_counting() -> None:
    assert slot_of(TargetEpochKey("g")) is None
