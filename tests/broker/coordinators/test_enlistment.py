"""Producing in transactions: the coordinator is asked once, and what its answer misses is caught."""

from __future__ import annotations

import pytest

from broker.coordinators.enlistment import BATCHES_PER_STEP, ENLISTS_SINCE, shown
from protocol.error_codes import ErrorCode
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.broker.gateway import Gateway
from tests.broker.kit import create, outcomes
from tests.broker.txn import TV1, Producer, committed


@pytest.fixture(params=[1, 3], ids=["one vnode", "three vnodes"])
def gateway(request: pytest.FixtureRequest) -> Gateway:
    gateway = Gateway(kawal_vnodes=request.param)
    create(gateway.client(), "t", partitions=4)
    return gateway


def other_vnode(gateway: Gateway) -> int:
    """Return a partition that is not on the vnode of the transaction's state, if there is one."""
    home = gateway.broker.transactions.state_vnode("tx")
    return next((index for index in range(4) if gateway.partition("t", index).vnode is not home), 0)


def test_one_request_begins_a_transaction_in_many_partitions(gateway: Gateway) -> None:
    producer = Producer(gateway)
    request = producer.producing(*(("t", index) for index in range(4)), value=b"a")
    assert [outcome.error_code for outcome in outcomes(producer.client.call(request, 12))] == [0] * 4
    known = gateway.broker.transactions._machine.described("tx")
    assert len(getattr(known, "partitions", ())) == 4
    assert len(gateway.broker.coordinators.guards) == 0


def test_an_end_between_the_question_and_the_answer_refuses_the_batch() -> None:
    """The coordinator's record is on its way to another log when a new instance aborts the transaction."""
    gateway = Gateway(kawal_vnodes=3)
    create(gateway.client(), "t", partitions=4)
    producer = Producer(gateway)
    index = other_vnode(gateway)
    producer.client.send(producer.producing(("t", index), value=b"a"), 12)
    partition = gateway.partition("t", index)
    request = InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=60_000)
    gateway.client().send(request, 5)
    gateway.broker.coordinators.guards.marked(partition.stream_id, producer.producer_id)
    gateway.settle()
    (answer,) = producer.client.answers()
    assert [outcome.error_code for outcome in outcomes(answer)] == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert partition.log_end == 1, "the marker of the abort alone"
    assert len(gateway.broker.coordinators.guards) == 0


def test_a_batch_that_waits_for_the_markers_of_the_transaction_before_is_stored() -> None:
    gateway = Gateway(kawal_vnodes=3)
    create(gateway.client(), "t", partitions=4)
    producer = Producer(gateway)
    index = other_vnode(gateway)
    producer.write("t", index, b"a")
    request, version = producer.ending(commit=True), 5
    other = gateway.client()
    other.send(request, version)
    while not other.answers():
        gateway.run_jobs()
    # Decided; the scheduler has not written the marker yet.
    producer._begin(producer.producer_id, producer.epoch + 1)
    producer.client.send(producer.producing(("t", index), value=b"b"), 12)
    gateway.settle()
    (answer,) = producer.client.answers()
    assert [outcome.error_code for outcome in outcomes(answer)] == [0]
    assert producer.commit() == 0
    gateway.settle()
    assert committed(gateway.client(), "t", index) == [b"a", b"b"]


def test_a_first_batch_waits_for_the_coordinator_only_if_its_log_is_another(gateway: Gateway) -> None:
    producer = Producer(gateway)
    index = other_vnode(gateway)
    producer.client.send(producer.producing(("t", index), value=b"a"), 12)
    in_one_log = len(gateway.broker.vnodes.every) == 2
    assert (gateway.partition("t", index).log_end == 1) == in_one_log
    gateway.settle()
    assert gateway.partition("t", index).high_watermark == 1


def test_a_client_that_leaves_while_its_batch_waits_leaves_no_guard() -> None:
    gateway = Gateway(kawal_vnodes=3)
    create(gateway.client(), "t", partitions=4)
    producer = Producer(gateway)
    producer.client.send(producer.producing(("t", other_vnode(gateway)), value=b"a"), 12)
    gateway.broker.disconnect(producer.client.connection)
    gateway.settle()
    assert len(gateway.broker.coordinators.guards) == 0


def test_every_batch_after_the_first_asks_nothing(gateway: Gateway) -> None:
    producer = Producer(gateway, protocol=TV1)
    producer.write("t", 0, b"a")
    gateway.settle()
    gateway.broker.transactions._machine.unload(range(50), gateway.now_ms)
    assert producer.write("t", 0, b"b", version=9) == 0


@pytest.mark.parametrize(
    ("code", "version", "expected"),
    [
        (ErrorCode.PRODUCER_FENCED, 12, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, 10, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, 11, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 11, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 12, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 12, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, 3, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
    ],
)
def test_refusals_are_told_in_codes_that_the_version_knows(
    code: ErrorCode, version: int, expected: ErrorCode
) -> None:
    assert shown(code, version) == expected


WIDE = 3 * BATCHES_PER_STEP


@pytest.fixture
def wide() -> Gateway:
    gateway = Gateway(kawal_transaction_max_partitions=WIDE)
    create(gateway.client(), "w", partitions=WIDE + 1)
    return gateway


def places(count: int) -> list[tuple[str, int]]:
    return [("w", index) for index in range(count)]


@pytest.mark.parametrize("version", [9, 12])
def test_the_batches_of_a_wide_request_are_asked_about_in_slices(wide: Gateway, version: int) -> None:
    producer = Producer(wide, protocol=TV1)
    if version < ENLISTS_SINCE:
        assert set(producer.add(*places(WIDE))) == {0}
    producer.client.send(producer.producing(*places(WIDE), value=b"a"), version)
    steps, asked = 0, 0
    while wide.broker.scheduler.pending:
        asked = max(asked, len(wide.broker.coordinators.guards))
        wide.broker.scheduler.run()
        steps += 1
    assert asked
    assert steps > 3, "with a look at other clients after each part"
    wide.settle()
    (answer,) = producer.client.answers()
    assert [outcome.error_code for outcome in outcomes(answer)] == [0] * WIDE
    assert len(wide.broker.coordinators.guards) == 0


@pytest.mark.parametrize("version", [9, 12])
def test_more_batches_than_a_transaction_may_have_are_all_refused_unasked(
    wide: Gateway, version: int
) -> None:
    producer = Producer(wide, protocol=TV1)
    answer = producer.client.call(producer.producing(*places(WIDE + 1), value=b"a"), version)
    codes = {outcome.error_code for outcome in outcomes(answer)}
    assert codes == {ErrorCode.POLICY_VIOLATION}
    assert wide.partition("w", 0).log_end == 0
    assert len(wide.broker.coordinators.guards) == 0


def test_where_there_is_no_memory_for_aborted_transactions_none_begins_and_open_ones_go_on() -> None:
    gateway = Gateway(kawal_vnodes=1, kawal_aborted_transactions_max_bytes=1_024)
    create(gateway.client(), "t", partitions=2)
    producer = Producer(gateway)
    for _ in range(1_024 // 32):
        assert producer.write("t", 0, b"a") == 0
        assert producer.abort() == 0
        gateway.settle()
    other = Producer(gateway, "other")
    assert producer.write("t", 1, b"a") == ErrorCode.POLICY_VIOLATION
    assert producer.abort() == 0
    partition = DeleteRecordsPartition(partition_index=0, offset=-1)
    topic = DeleteRecordsTopic(name="t", partitions=[partition])
    gateway.client().call(DeleteRecordsRequest(topics=[topic], timeout_ms=1_000), 2)
    assert other.write("t", 0, b"a") == 0, "what was aborted is forgotten with its records"


def test_a_producer_that_does_not_exist_is_told_for_every_batch_of_a_wide_request(wide: Gateway) -> None:
    producer = Producer(wide, protocol=TV1)
    producer.producer_id += 1
    answer = producer.client.call(producer.producing(*places(WIDE), value=b"a"), 12)
    codes = {outcome.error_code for outcome in outcomes(answer)}
    assert codes == {ErrorCode.INVALID_PRODUCER_ID_MAPPING}


def test_an_end_between_two_slices_refuses_the_batches_of_a_wide_request(wide: Gateway) -> None:
    producer = Producer(wide, protocol=TV1)
    producer.add(*places(WIDE))
    producer.client.send(producer.producing(*places(WIDE), value=b"a"), 9)
    while len(wide.broker.coordinators.guards) < WIDE:
        wide.broker.scheduler.run()
    other = wide.client()
    other.send(producer.ending(commit=False), 4)
    wide.settle()
    (answer,) = producer.client.answers()
    codes = {outcome.error_code for outcome in outcomes(answer)}
    ends = {wide.partition("w", index).log_end for index in range(WIDE)}
    assert codes <= {0, ErrorCode.INVALID_TXN_STATE, ErrorCode.NOT_ENOUGH_REPLICAS}
    assert 0 not in ends, "each has its marker"
    stable = {
        wide.partition("w", index).last_stable_offset == wide.partition("w", index).log_end
        for index in range(WIDE)
    }
    assert stable == {True}, "no batch came after its marker and is open for ever"
