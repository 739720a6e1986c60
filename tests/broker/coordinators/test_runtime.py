"""The runtime serves any coordinator: a toy beside the groups, each on its own topic, through crashes."""

from __future__ import annotations

import errno
import sys
from contextlib import suppress
from types import ModuleType

import pytest

from broker.coordinators import copier, loader
from broker.coordinators.records import append_records
from broker.coordinators.runtime import APPENDED_AT_ONCE, CoordinatorRuntime
from broker.loop.internal_errors import ErrorPlace
from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.broker.coordinators.toy import TOPIC, Counters, add, toy_of, values_of
from tests.broker.gateway import Gateway
from tests.broker.groups import commit, committed
from tests.broker.kit import create
from tests.broker.wide_requests import Threads
from tests.wal.crash import RandomFates
from wal.memory_faults import failing


@pytest.fixture
def gateway() -> Gateway:
    gateway = Gateway(kawal_vnodes=2)
    create(gateway.client(), "t")
    return gateway


def crash(gateway: Gateway, seed: int) -> None:
    """Lose the power; any part of the data not yet synced may be on the disk."""
    gateway.disk = gateway.disk.crash(RandomFates(seed))
    gateway.open_again()


def test_an_operation_is_answered_when_all_of_its_records_are_durable(gateway: Gateway) -> None:
    toy = toy_of(gateway)
    answers = add(gateway, toy, "a1", "a2", 1)
    assert answers == []
    gateway.settle()
    assert answers == [None]
    assert values_of(gateway, toy) == {"a1": 1, "a2": 1}


def test_the_topic_is_made_with_the_first_record_and_not_before(gateway: Gateway) -> None:
    toy = toy_of(gateway)
    assert values_of(gateway, toy) == {}
    gateway.settle()
    assert TOPIC not in gateway.broker.catalogue.by_name
    add(gateway, toy, "a1", "a2", 1)
    gateway.settle()
    topic = gateway.broker.find_topic(TOPIC)
    assert (topic.partition_count, topic.configs) == (2, {"cleanup.policy": "compact"})


def test_state_is_there_again_after_a_restart(gateway: Gateway) -> None:
    toy = toy_of(gateway)
    add(gateway, toy, "a1", "a2", 1)
    add(gateway, toy, "b1", "b2", 5)
    gateway.settle()
    gateway.restart()
    again = toy_of(gateway)
    gateway.settle()
    assert values_of(gateway, again) == {"a1": 1, "a2": 1, "b1": 5, "b2": 5}


@pytest.mark.parametrize("steps", range(12))
@pytest.mark.parametrize("seed", range(4))
def test_a_crash_between_any_two_records_leaves_operations_whole(
    gateway: Gateway, steps: int, seed: int
) -> None:
    """The power fails after so many steps: toy operations, commits, and pieces of disk work."""
    toy, client = toy_of(gateway), gateway.client()
    commit(client, "g", ("t", 0, 0))
    answers: list[list[ErrorCode | None]] = []
    for step in range(steps):
        match step % 3:
            case 0:
                answers.append(add(gateway, toy, "a1", "a2", 1))
            case 1:
                answers.append(add(gateway, toy, "a1", "a2", 1))
                commit(client, "g", ("t", 0, step)) if step > 6 else gateway.run_jobs()
            case 2:
                gateway.run_jobs()
    acknowledged = answers.count([None])
    offset = committed(client, "g")["t", 0]
    crash(gateway, seed)
    again = toy_of(gateway)
    gateway.settle()
    found = values_of(gateway, again)
    assert found.get("a1", 0) == found.get("a2", 0), "one record of an operation without the other"
    assert acknowledged <= found.get("a1", 0) <= len(answers)
    assert committed(gateway.client(), "g")["t", 0] >= offset


def test_a_failed_sync_undoes_the_operations_that_it_lost(gateway: Gateway) -> None:
    toy = toy_of(gateway)
    add(gateway, toy, "a1", "a2", 1)
    gateway.settle()
    lost = [add(gateway, toy, "a1", "a2", amount) for amount in (2, 3)]
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-"))
    gateway.run_jobs()
    assert lost == [[ErrorCode.COORDINATOR_NOT_AVAILABLE]] * 2
    assert values_of(gateway, toy) == {"a1": 1, "a2": 1}
    gateway.settle()
    answers = add(gateway, toy, "a1", "a2", 1)
    gateway.settle()
    assert (answers, values_of(gateway, toy)) == ([None], {"a1": 2, "a2": 2})


def test_an_operation_that_raises_still_has_its_records_stored(gateway: Gateway) -> None:
    toy = toy_of(gateway)
    answers: list[ErrorCode | None] = []
    with suppress(ZeroDivisionError), toy.step(gateway.now_ms) as counters:
        counters.add("a1", "a2", 1, answers.append)
        _ = 1 // 0
    gateway.settle()
    assert answers == [None]


def test_a_thread_imports_the_module_of_a_record_before_the_record_is_replayed(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(gateway, toy_of(gateway), "a1", "a2", 1)
    gateway.settle()
    gateway.restart()
    imported: list[str] = []

    def import_late(name: str) -> None:
        imported.append(name)
        monkeypatch.setitem(sys.modules, name, ModuleType(name))

    monkeypatch.setattr(loader, "import_module", import_late)
    monkeypatch.setattr(Counters, "modules", {"a2": "late", "a1": ""})
    threads = Threads()
    gateway.broker.scheduler.offload = threads.offload
    again = toy_of(gateway)
    gateway.settle()
    assert values_of(gateway, again) == {"a1": 1}
    assert imported == []
    for done in threads.take():
        done()
    gateway.settle()
    assert imported == ["late"]
    assert values_of(gateway, again) == {"a1": 1, "a2": 1}


def test_requests_are_refused_until_their_partition_is_loaded(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "LOAD_BYTES_PER_SLICE", 100)
    toy = toy_of(gateway)
    for _ in range(20):
        add(gateway, toy, "a1", "a2", 1)
        gateway.settle()
    gateway.restart()
    again = toy_of(gateway)
    assert add(gateway, again, "a1", "a2", 1) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    gateway.settle()
    answers = add(gateway, again, "a1", "a2", 1)
    gateway.settle()
    assert (answers, values_of(gateway, again)) == ([None], {"a1": 21, "a2": 21})


def test_every_coordinator_learns_of_topics(gateway: Gateway) -> None:
    """Two coordinators listen: neither takes the other's place."""
    commit(gateway.client(), "g", ("t", 0, 1))
    toy = toy_of(gateway)
    client = gateway.client()
    create(client, "new")
    grown = CreatePartitionsTopic(name="new", count=3, assignments=None)
    client.call(CreatePartitionsRequest(topics=[grown], timeout_ms=1_000, validate_only=False), 3)
    for name in ("new", "t"):
        client.call(DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=1_000), 6)
    with toy.step(gateway.now_ms) as counters:
        assert counters.seen_topics == [
            ("created", "new"),
            ("grown", "new"),
            ("deleted", "new"),
            ("deleted", "t"),
        ]
    gateway.settle()
    assert committed(client, "g") == {}


def test_a_machine_is_ticked_when_it_is_due(gateway: Gateway) -> None:
    toy = toy_of(gateway)
    with toy.step(gateway.now_ms) as counters:
        counters.due_ms = gateway.now_ms + 10
    assert toy.next_deadline() == gateway.now_ms + 10
    toy.tick(gateway.now_ms + 9)
    toy.tick(gateway.now_ms + 10)
    toy.tick(gateway.now_ms + 11)
    with toy.step(gateway.now_ms) as counters:
        assert counters.ticks == [gateway.now_ms + 10]
    assert toy.next_deadline() is None


def test_a_stop_lets_records_arrive_and_refuses_what_comes_later(gateway: Gateway) -> None:
    toy = toy_of(gateway)
    answers = add(gateway, toy, "a1", "a2", 1)
    toy.begin_stop(gateway.now_ms)
    gateway.settle()
    assert answers == [None]
    assert add(gateway, toy, "a1", "a2", 1) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]


def have_wait(gateway: Gateway, toy: CoordinatorRuntime[Counters], count: int) -> None:
    """Have so many operations wait for the topic, which is durable when this returns."""
    for _ in range(count):
        add(gateway, toy, "a1", "a2", 1)
    assert toy.has_backlog
    gateway.run_jobs()


def test_what_has_waited_for_the_topic_is_appended_some_at_a_time(gateway: Gateway) -> None:
    toy = toy_of(gateway)
    have_wait(gateway, toy, 2 * APPENDED_AT_ONCE + 1)
    left: list[int] = []
    while toy._backlog:
        left.append(len(toy._backlog))
        gateway.broker.scheduler.run_some(lambda: 0, 0)
        if len(left) == 1:
            # What comes now waits its turn.
            add(gateway, toy, "a1", "a2", 1)
    assert left == [2 * APPENDED_AT_ONCE + 1, APPENDED_AT_ONCE + 2, 2]
    gateway.settle()
    assert values_of(gateway, toy) == dict.fromkeys(["a1", "a2"], 2 * APPENDED_AT_ONCE + 2)
    gateway.restart()
    assert values_of(gateway, toy_of(gateway)) == dict.fromkeys(["a1", "a2"], 2 * APPENDED_AT_ONCE + 2)


def test_what_waits_for_a_topic_that_a_client_deletes_is_not_waited_for_again(gateway: Gateway) -> None:
    toy = toy_of(gateway)
    have_wait(gateway, toy, APPENDED_AT_ONCE + 1)
    client = gateway.client()
    client.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC)], timeout_ms=1_000), 6)
    gateway.settle()
    answers = add(gateway, toy, "b1", "b2", 7)
    gateway.settle()
    assert (answers, values_of(gateway, toy)["b1"], toy.has_backlog) == ([None], 7, False)


def test_state_starts_anew_when_a_client_deletes_the_topic(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    toy = toy_of(gateway)
    add(gateway, toy, "a1", "a2", 1)
    gateway.settle()
    client = gateway.client()
    client.call(DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC)], timeout_ms=1_000), 6)
    gateway.settle()
    assert values_of(gateway, toy) == {}
    assert f"{TOPIC} was created or deleted by a client" in caplog.text
    answers = add(gateway, toy, "a1", "a2", 7)
    gateway.settle()
    assert (answers, values_of(gateway, toy)) == ([None], {"a1": 7, "a2": 7})


def test_a_partition_is_copied_forward_and_replays_to_the_same_state(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copier, "COPY_FORWARD_BYTES_MIN", 2_000)
    monkeypatch.setattr(copier, "COPY_RECORDS_PER_SLICE", 2)
    toy = toy_of(gateway)
    for number in range(40):
        add(gateway, toy, f"a{number % 5}", f"a{(number + 1) % 5}", 1)
        gateway.settle()
    before = values_of(gateway, toy)
    partition = gateway.partition(TOPIC, ord("a") % 2)
    assert partition.size_bytes > 2_000
    gateway.advance(11_000)
    assert partition.log_start > 0
    assert partition.size_bytes < 2_000
    gateway.crash()
    again = toy_of(gateway)
    gateway.settle()
    assert values_of(gateway, again) == before


def test_a_partition_whose_timer_has_raised_is_loaded_again(gateway: Gateway) -> None:
    gateway.break_things()
    toy = toy_of(gateway)
    add(gateway, toy, "a1", "a2", 1)
    add(gateway, toy, "b1", "b2", 5)
    gateway.settle()
    with toy.step(gateway.now_ms) as counters:
        counters.breaks, counters.due_ms = "a1", gateway.now_ms
    toy.tick(gateway.now_ms)
    assert gateway.broker.internal_errors.counts[ErrorPlace.COORDINATOR] == 1
    assert add(gateway, toy, "a1", "a2", 1) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    answers = add(gateway, toy, "b1", "b2", 1)
    gateway.advance(1_001)
    assert (answers, values_of(gateway, toy)) == ([None], {"a1": 1, "a2": 1, "b1": 6, "b2": 6})
    answers = add(gateway, toy, "a1", "a2", 1)
    gateway.settle()
    assert answers == [None]


def test_a_record_that_breaks_the_replay_leaves_its_partition_refused_and_the_others_served(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    toy = toy_of(gateway)
    add(gateway, toy, "a1", "a2", 1)
    add(gateway, toy, "b1", "b2", 5)
    gateway.settle()
    poisoned = gateway.partition(TOPIC, ord("a") % 2)
    append_records(poisoned, [(b"a1", b"no number")], gateway.now_ms)
    gateway.restart()
    gateway.break_things()
    again = toy_of(gateway)
    gateway.settle()
    assert "is not served" in caplog.text
    assert add(gateway, again, "a1", "a2", 1) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    answers = add(gateway, again, "b1", "b2", 1)
    gateway.settle()
    assert answers == [None]
