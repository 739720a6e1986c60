"""First requests of an API and wide ones wait for a thread, which imports or decodes; others are served."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from broker.connections.message_codecs import NARROW_ELEMENTS
from broker.handlers import APIS, Api
from broker.loop.stats import Cause
from broker.requests.dispatcher import COPIED_FRAME_BYTES
from broker.start import open_broker
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.headers import encode_request_header
from protocol.messages.describe_cluster import DescribeClusterRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.gateway import Gateway, request_frame, take_outgoing
from tests.broker.kit import batch, create, producing, read


class ThreadedGateway(Gateway):
    """A broker whose threads work when the test says so."""

    def _open(self) -> Any:
        self.tasks: list[tuple[Callable[[], object], Callable[[Exception | None], None]]] = []
        return open_broker(
            self.disk,
            self.config,
            random=Random(1),
            now_ms=self.now_ms,
            wall_ms=self.now_ms,
            offload=lambda work, done: self.tasks.append((work, done)),
        )

    def work(self, error: Exception | None = None) -> None:
        """Do one task, or let it fail."""
        work, done = self.tasks.pop(0)
        if error is None:
            work()
        done(error)


@pytest.fixture
def gateway() -> ThreadedGateway:
    return ThreadedGateway()


@pytest.fixture
def unloaded() -> Iterator[Callable[[ApiKey], Api]]:
    """Return a function that makes an API as new as at the start."""
    before = {key: (api._handler, set(api.ready)) for key, api in APIS.items()}
    for api in APIS.values():
        api.load()

    def forget(key: ApiKey) -> Api:
        api = APIS[key]
        api._handler = None
        api.ready.clear()
        return api

    yield forget
    for key, (handler, ready) in before.items():
        APIS[key]._handler, APIS[key].ready = handler, ready


DESCRIBE = DescribeClusterRequest(include_cluster_authorized_operations=False)
FIND = FindCoordinatorRequest(key="g")


def test_it_is_answered_once_a_thread_has_imported_its_handler(
    gateway: ThreadedGateway, unloaded: Callable[[ApiKey], Api]
) -> None:
    api = unloaded(ApiKey.DESCRIBE_CLUSTER)
    client, other = gateway.client(), gateway.client()
    client.send(DESCRIBE, 1)
    client.send(MetadataRequest(topics=[]), 12)
    other.send(MetadataRequest(topics=[]), 12)
    assert (client.answers(), len(other.answers())) == ([], 1)
    gateway.work()
    assert api.ready == {1}
    described, metadata = client.answers()
    assert described.cluster_id == metadata.cluster_id
    client.send(DESCRIBE, 1)
    assert len(client.answers()) == 1
    assert gateway.tasks == []


def test_a_version_that_comes_later_waits_for_a_thread_too_which_makes_its_codecs(
    gateway: ThreadedGateway, unloaded: Callable[[ApiKey], Api]
) -> None:
    """Bug: only the first version's were made there, those of others on the event loop."""
    api = unloaded(ApiKey.DESCRIBE_CLUSTER)
    client = gateway.client()
    client.send(DESCRIBE, 1)
    gateway.work()
    client.send(DESCRIBE, 0)
    assert (len(client.answers()), len(gateway.tasks)) == (1, 1)
    gateway.work()
    assert len(client.answers()) == 1
    assert api.ready == {0, 1}


def test_the_list_of_versions_for_a_client_that_is_too_new_waits_for_a_thread(
    gateway: ThreadedGateway, unloaded: Callable[[ApiKey], Api]
) -> None:
    api = unloaded(ApiKey.API_VERSIONS)
    client = gateway.client()
    header = encode_request_header(
        api_key=ApiKey.API_VERSIONS, api_version=99, correlation_id=1, client_id="new"
    )
    for length in range(1, 3):
        client.send_bytes(len(header).to_bytes(4, "big") + header)
        assert len(gateway.tasks) == length % 2
        while gateway.tasks:
            gateway.work()
            gateway.broker.scheduler.run()
        code, count = struct.unpack_from(">hi", take_outgoing(client.connection), 8)
        assert (code, count > 50) == (ErrorCode.UNSUPPORTED_VERSION, True)
    assert api.ready == {0}


def test_batches_in_the_receive_buffer_are_kept_meanwhile(
    gateway: ThreadedGateway, unloaded: Callable[[ApiKey], Api]
) -> None:
    client, other = gateway.client(), gateway.client()
    unloaded(ApiKey.CREATE_TOPICS)
    APIS[ApiKey.CREATE_TOPICS].load()
    create(client, "t")
    unloaded(ApiKey.PRODUCE)
    client.send(producing(("t", 0, batch(b"mine"))), 9)
    client.connection.reader.release_buffer()
    other.send(MetadataRequest(topics=[]), 12)
    gateway.work()
    gateway.settle()
    assert len(client.answers()) == 1
    assert read(client, "t") == [b"mine"]


def test_a_body_that_cannot_be_decoded_ends_its_connection(
    gateway: ThreadedGateway, unloaded: Callable[[ApiKey], Api]
) -> None:
    unloaded(ApiKey.FIND_COORDINATOR)
    client = gateway.client()
    frame = request_frame(FIND, 3, 1)[4:-3]
    client.send_bytes(len(frame).to_bytes(4, "big") + frame)
    assert client.connection.close_reason is None
    gateway.work()
    assert client.connection.close_cause == Cause.PROTOCOL


def test_a_client_that_has_left_meanwhile_is_not_served(
    gateway: ThreadedGateway, unloaded: Callable[[ApiKey], Api]
) -> None:
    api = unloaded(ApiKey.DESCRIBE_CLUSTER)
    client = gateway.client()
    client.send(DESCRIBE, 1)
    client.close()
    gateway.work()
    assert api.ready == {1}
    other = gateway.client()
    other.send(DESCRIBE, 1)
    assert len(other.answers()) == 1


@pytest.mark.usefixtures("unloaded")
def test_a_wide_request_is_decoded_in_a_thread(gateway: ThreadedGateway) -> None:
    client, other = gateway.client(), gateway.client()
    names = [MetadataRequestTopic(name=f"t{number}") for number in range(NARROW_ELEMENTS + 1)]
    client.send(MetadataRequest(topics=names, allow_auto_topic_creation=False), 12)
    client.send(DESCRIBE, 1)
    other.send(MetadataRequest(topics=names[1:], allow_auto_topic_creation=False), 12)
    assert len(gateway.tasks) == 1
    assert client.answers() == []
    gateway.work()
    while gateway.tasks or gateway.broker.scheduler.pending:
        gateway.settle()
        if gateway.tasks:
            gateway.work()
    wide, described = client.answers()
    assert len(wide.topics) == NARROW_ELEMENTS + 1
    assert described.error_code == 0
    assert len(other.answers()[0].topics) == NARROW_ELEMENTS


@pytest.fixture
def narrow() -> ThreadedGateway:
    """Return a broker that lets a connection hold little."""
    return ThreadedGateway(kawal_connection_in_flight_bytes=200 << 10)


def heavy() -> MetadataRequest:
    """Return a request of more than 256 KiB, which decodes to more than a connection may hold."""
    names = [MetadataRequestTopic(name=f"{number:0>30}") for number in range(9_000)]
    return MetadataRequest(topics=names, allow_auto_topic_creation=False)


def finish(gateway: ThreadedGateway) -> None:
    while gateway.tasks or gateway.broker.scheduler.pending:
        gateway.settle()
        if gateway.tasks:
            gateway.work()


@pytest.mark.usefixtures("unloaded")
def test_heavy_requests_are_decoded_one_after_the_other_each_when_the_one_before_is_answered(
    narrow: ThreadedGateway,
) -> None:
    first, second = narrow.client(), narrow.client()
    first.send(heavy(), 12)
    second.send(heavy(), 12)
    memory = narrow.broker.memory
    assert memory.heavy is first.connection
    assert len(narrow.tasks) == 1
    narrow.work()
    assert memory.heavy is first.connection
    assert narrow.tasks == []
    finish(narrow)
    assert len(first.answers()[0].topics) == 9_000
    narrow.broker.take_unsent()
    second.answers()
    finish(narrow)
    assert len(second.answers()[0].topics) == 9_000
    assert not memory.heavy_decoding
    assert memory.requests_bytes == 0


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize("filling_bytes", [0, 128 << 20], ids=["there is room", "memory is full"])
def test_while_memory_is_full_the_next_large_request_is_decoded_when_the_one_before_is_answered(
    gateway: ThreadedGateway, filling_bytes: int
) -> None:
    first, second = gateway.client("10.0.0.1"), gateway.client("10.0.0.2")
    first.send(heavy(), 12)
    second.send(heavy(), 12)
    memory = gateway.broker.memory
    memory.requests_bytes += filling_bytes
    gateway.work()
    assert (memory.heavy is first.connection) == bool(filling_bytes)
    memory.requests_bytes -= filling_bytes
    finish(gateway)
    assert len(first.answers()[0].topics) == 9_000
    gateway.broker.take_unsent()
    answered = second.answers()
    finish(gateway)
    answered += second.answers()
    assert [len(answer.topics) for answer in answered] == [9_000]
    assert memory.heavy is None
    assert memory.requests_bytes == 0


@pytest.mark.usefixtures("unloaded")
def test_a_wide_produce_request_is_decoded_when_no_other_heavy_one_is_in_work(
    narrow: ThreadedGateway,
) -> None:
    first, second = narrow.client(), narrow.client()
    first.send(heavy(), 12)
    second.send(producing(*((f"{number:0>20}", 0, batch(b"v")) for number in range(4_000))), 9)
    assert len(narrow.tasks) == 1
    finish(narrow)
    assert len(first.answers()[0].topics) == 9_000
    assert len(second.answers()[0].responses) == 4_000
    assert narrow.broker.memory.heavy is None


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize("leaves", ["while its request is decoded", "while it waits for another's"])
def test_a_client_that_leaves_before_its_request_is_decoded_lets_the_others_go_on(
    narrow: ThreadedGateway, leaves: str
) -> None:
    first, second = narrow.client(), narrow.client()
    first.send(heavy(), 12)
    second.send(producing(*((f"{number:0>20}", 0, batch(b"v")) for number in range(4_000))), 9)
    (first if leaves == "while its request is decoded" else second).close()
    finish(narrow)
    stays = second if leaves == "while its request is decoded" else first
    assert len(stays.answers()) == 1
    memory = narrow.broker.memory
    assert (memory.heavy, memory.heavy_decoding, memory.heavy_waiting) == (None, False, {})
    assert memory.requests_bytes == 0


@pytest.mark.usefixtures("unloaded")
def test_a_malformed_heavy_request_lets_the_next_one_begin(narrow: ThreadedGateway) -> None:
    client, other = narrow.client(), narrow.client()
    frame = request_frame(heavy(), 12, 1)[4:-4]
    client.send_bytes(len(frame).to_bytes(4, "big") + frame)
    narrow.work()
    assert client.connection.close_cause == Cause.PROTOCOL
    assert narrow.broker.memory.heavy is None
    other.send(heavy(), 12)
    finish(narrow)
    assert len(other.answers()) == 1


def test_a_wide_request_that_is_malformed_at_its_end_ends_its_connection(
    gateway: ThreadedGateway, unloaded: Callable[[ApiKey], Api]
) -> None:
    unloaded(ApiKey.METADATA)
    names = [MetadataRequestTopic(name=f"t{number}") for number in range(NARROW_ELEMENTS + 1)]
    frame = request_frame(MetadataRequest(topics=names), 12, 1)[4:-4]
    client = gateway.client()
    client.send_bytes(len(frame).to_bytes(4, "big") + frame)
    gateway.work()
    assert client.connection.close_cause == Cause.PROTOCOL


def test_an_import_that_fails_ends_its_connection_and_is_tried_again(
    gateway: ThreadedGateway, unloaded: Callable[[ApiKey], Api]
) -> None:
    api = unloaded(ApiKey.DESCRIBE_CLUSTER)
    gateway.break_things()
    client, other = gateway.client(), gateway.client()
    client.send(DESCRIBE, 1)
    gateway.work(MemoryError("no room for a module"))
    assert client.connection.close_cause == Cause.BUG
    assert not api.ready
    other.send(DESCRIBE, 1)
    gateway.work()
    assert len(other.answers()) == 1


def test_a_request_with_a_large_field_is_decoded_by_a_thread(gateway: ThreadedGateway) -> None:
    """Decoding copies the field: 15 MiB of metadata took the loop 40 ms."""
    APIS[ApiKey.JOIN_GROUP].load()
    client = gateway.client()
    protocol = JoinGroupRequestProtocol(name="range", metadata=bytes(COPIED_FRAME_BYTES))
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=[protocol],
    )
    client.send(request, 4)
    assert (client.answers(), len(gateway.tasks)) == ([], 1)
    gateway.work()
    assert len(client.answers()) == 1


def test_records_are_not_copied_so_that_large_requests_to_produce_need_no_thread(
    gateway: ThreadedGateway,
) -> None:
    for key in (ApiKey.CREATE_TOPICS, ApiKey.PRODUCE):
        APIS[key].load()
    client = gateway.client()
    create(client, "t", 1, **{"max.message.bytes": str(2 * COPIED_FRAME_BYTES)})
    client.send(producing(("t", 0, batch(bytes(COPIED_FRAME_BYTES)))), 9)
    gateway.run_jobs()
    assert gateway.tasks == []
    assert client.answers()[0].responses[0].partition_responses[0].error_code == 0


@pytest.mark.usefixtures("unloaded")
def test_of_many_heavy_requests_of_one_client_those_of_others_come_in_between(
    narrow: ThreadedGateway,
) -> None:
    """Bug: its next one began before the client whose turn it was had been served, again and again."""
    greedy, other, third = narrow.client(), narrow.client(), narrow.client()
    for client in (greedy, greedy, other, third):
        client.send(heavy(), 12)
    for client in (other, third, greedy):
        finish(narrow)
        assert narrow.broker.memory.heavy is None
        narrow.broker.take_unsent()
        # The greedy one is the first to be looked at.
        greedy.answers()
        third.answers()
        client.answers()
        assert narrow.broker.memory.heavy is client.connection
    finish(narrow)
    assert narrow.broker.memory.requests_bytes == 0


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize("ends", ["leaves", "is served"])
def test_a_client_that_does_not_use_its_turn_passes_it_on(narrow: ThreadedGateway, ends: str) -> None:
    first, second, third = narrow.client(), narrow.client(), narrow.client()
    for client in (first, second, third):
        client.send(heavy(), 12)
    finish(narrow)
    memory = narrow.broker.memory
    assert memory.heavy_next is second.connection
    if ends == "leaves":
        second.close()
    else:
        second.connection.close("it is to be closed", Cause.REFUSED)
        second.answers()
    assert memory.heavy_next is third.connection
    third.answers()
    finish(narrow)
    assert len(third.answers()) == 1
    assert memory.heavy is None
