"""The transaction coordinator at work: its topic, its ids, and what is left to do after a crash."""

from __future__ import annotations

from typing import Any

import pytest

from broker.coordinators.transactions import AT_ONCE_MAX, shown
from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.broker.gateway import Gateway
from tests.broker.kit import create, fetch
from tests.broker.txn import Producer, committed


def test_the_topic_is_made_with_the_first_id_and_as_configured() -> None:
    gateway = Gateway(transaction_state_log_num_partitions=7)
    assert "__transaction_state" not in gateway.broker.catalogue.by_name
    Producer(gateway)
    topic = gateway.broker.find_topic("__transaction_state")
    assert (topic.partition_count, topic.internal) == (7, True)
    assert topic.configs["cleanup.policy"] == "compact"


def test_changed_settings_apply_to_the_next_request() -> None:
    gateway = Gateway(transaction_max_timeout_ms=50_000)
    with pytest.raises(AssertionError):
        Producer(gateway, timeout_ms=50_001)
    assert Producer(gateway, timeout_ms=50_000).producer_id >= 0


def test_producer_ids_are_unique_over_idempotent_and_transactional_producers() -> None:
    gateway = Gateway()
    first = [Producer(gateway, str(number)).producer_id for number in range(5)]
    gateway.restart()
    gateway.settle()
    later = [Producer(gateway, f"later {number}").producer_id for number in range(5)]
    assert len({*first, *later}) == 10


def test_a_transaction_in_very_many_partitions_is_ended_in_slices() -> None:
    gateway = Gateway(kawal_vnodes=2)
    count = 2 * AT_ONCE_MAX + 3
    create(gateway.client(), "t", partitions=count)
    producer = Producer(gateway)
    producer.client.call(producer.producing(*(("t", i) for i in range(count)), value=b"a"), 12)
    assert producer.commit() == 0
    gateway.settle()
    reader = gateway.client()
    assert all(committed(reader, "t", index) == [b"a"] for index in range(count))


def test_a_partition_that_was_deleted_needs_no_marker() -> None:
    gateway = Gateway(kawal_vnodes=2)
    create(gateway.client(), "t")
    create(gateway.client(), "u")
    producer = Producer(gateway)
    producer.write("t", 0, b"a")
    producer.write("u", 0, b"a")
    gateway.client().call(DeleteTopicsRequest(topics=[DeleteTopicState(name="u")], timeout_ms=1_000), 6)
    assert producer.commit() == 0
    gateway.settle()
    assert committed(gateway.client(), "t") == [b"a"]
    assert producer.write("t", 0, b"b") == 0, "the transaction is complete"


def test_a_decision_whose_markers_a_crash_has_lost_is_carried_out_at_the_start() -> None:
    gateway = Gateway(kawal_vnodes=3)
    create(gateway.client(), "t", partitions=4)
    producer = Producer(gateway)
    for index in range(4):
        producer.write("t", index, b"a")
    producer.client.send(producer.ending(commit=True), 5)
    while not (answers := producer.client.answers()):
        gateway.run_jobs()
    assert answers[0].error_code == 0
    gateway.crash()
    gateway.settle()
    gateway.advance(1)
    gateway.settle()
    reader = gateway.client()
    assert [committed(reader, "t", index) for index in range(4)] == [[b"a"]] * 4


def test_a_log_of_the_coordinator_that_has_grown_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    from broker.coordinators import copier

    monkeypatch.setattr(copier, "COPY_FORWARD_BYTES_MIN", 2_000)
    gateway = Gateway()
    create(gateway.client(), "t")
    producer = Producer(gateway)
    for _ in range(20):
        producer.write("t", 0, b"a")
        producer.commit()
    producer.write("t", 0, b"open")
    gateway.advance(30_000)
    gateway.settle()
    index = gateway.broker.transactions._machine.partition_of("tx")
    assert gateway.partition("__transaction_state", index).log_start > 0
    gateway.crash()
    gateway.settle()
    producer.client = gateway.client()
    assert producer.commit() == 0
    gateway.settle()
    assert committed(gateway.client(), "t")[-1] == b"open"


def test_deleting_the_topic_forgets_all_ids() -> None:
    gateway = Gateway()
    create(gateway.client(), "t")
    producer = Producer(gateway)
    answer = gateway.client().call(
        DeleteTopicsRequest(topics=[DeleteTopicState(name="__transaction_state")], timeout_ms=1_000), 6
    )
    expected = ErrorCode.INVALID_PRODUCER_ID_MAPPING if answer.responses[0].error_code == 0 else 0
    assert producer.write("t", 0, b"a") == expected


def test_fenced_producers_are_told_in_codes_that_the_version_knows() -> None:
    assert shown(ErrorCode.PRODUCER_FENCED, 1, 2) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert shown(ErrorCode.PRODUCER_FENCED, 2, 2) == ErrorCode.PRODUCER_FENCED
    assert shown(ErrorCode.INVALID_TXN_STATE, 0, 2) == ErrorCode.INVALID_TXN_STATE


def test_a_parked_fetch_of_committed_data_is_answered_by_the_marker_and_not_by_the_records() -> None:
    from tests.broker.kit import fetched, fetching

    gateway = Gateway()
    create(gateway.client(), "t")
    producer, reader = Producer(gateway), gateway.client()
    reader.send(fetching({("t", 0): 0}, max_wait_ms=5_000, isolation_level=1), 12)
    producer.write("t", 0, b"a")
    gateway.settle()
    assert reader.answers() == [], "an open transaction is nothing to read"
    producer.commit()
    gateway.settle()
    (answer,) = reader.answers()
    assert fetched(answer)["t", 0].last_stable_offset == 2
    assert fetch(reader, "t").last_stable_offset == 2


@pytest.mark.parametrize(
    ("vnodes", "producing", "ending"),
    # In another log: the markers of the transaction before; the record that ends it with the one that begins
    # this; the batch. In one log all of them are one frame.
    [(1, 1, 1), (3, 3, 1)],
    ids=["in one log", "in another log"],
)
def test_commits_that_one_transaction_after_another_waits_for(
    vnodes: int, producing: int, ending: int
) -> None:
    gateway = Gateway(kawal_vnodes=vnodes)
    create(gateway.client(), "t", partitions=4)
    producer = Producer(gateway)
    home = gateway.broker.transactions.state_vnode("tx")
    index = next((i for i in range(4) if gateway.partition("t", i).vnode is not home), 0)
    producer.write("t", index, b"a")
    for _ in range(3):
        producer.client.send(producer.ending(commit=True), 5)
        commits, answer = _waited(gateway, producer)
        assert commits == ending
        producer._begin(answer.producer_id, answer.producer_epoch)
        producer.client.send(producer.producing(("t", index), value=b"a"), 12)
        commits, answer = _waited(gateway, producer)
        assert commits == producing
        assert answer.responses[0].partition_responses[0].error_code == 0


def _waited(gateway: Gateway, producer: Producer) -> tuple[int, Any]:
    """Return how often all logs commit until the producer has its answer, and the answer."""
    commits = 0
    while not (answers := producer.client.answers()):
        commits += gateway.run_jobs()
        gateway.broker.scheduler.run()
    return commits, answers[0]
