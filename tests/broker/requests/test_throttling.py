"""A client above its quota is told to wait, and is not read until then; others do not notice."""

from __future__ import annotations

from typing import Any

import pytest

from broker.requests.throttling import LIMITS_MAX, RATES_MAX, Limits, Throttling
from broker.security.quota_rates import Windows
from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.metadata import MetadataRequest
from tests.broker.client_quotas import alter
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, creation, fetching, producing

RATE = 1_000


@pytest.fixture
def gateway() -> Gateway:
    return Gateway(kawal_vnodes=1)


def quota(client: Client, key: str, value: float | None, **entity: str | None) -> int:
    """Set or remove a quota; return the error code."""
    (result,) = alter(client, {kind.replace("_", "-"): name for kind, name in entity.items()}, (key, value))
    code: int = result.error_code
    return code


def produce(client: Client, size_bytes: int = 100, acks: int = -1) -> Any:
    client.send(producing(("t", 0, batch(bytes(size_bytes))), acks=acks), 9)


def waits(client: Client) -> list[int]:
    """Return the waits that the client's answers tell it."""
    return [answer.throttle_time_ms for answer in client.answers()]


def test_a_producer_within_its_quota_does_not_wait(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t")
    assert quota(client, "producer_byte_rate", RATE, client_id="test") == 0
    for _ in range(10):
        produce(client, 500)
        gateway.settle()
    assert waits(client) == [0] * 10


def test_a_producer_above_its_quota_is_answered_at_once_and_then_not_read(gateway: Gateway) -> None:
    client, other = gateway.client(), gateway.client()
    create(client, "t")
    quota(client, "producer_byte_rate", RATE, client_id="test")
    produce(client, 12 * RATE)
    gateway.settle()
    (wait_ms,) = waits(client)
    assert 1_000 < wait_ms < 3_000, "a rate of 1.2 to 1.3 times the quota, over ten seconds"
    client.send(MetadataRequest(topics=[]), 12)
    other.send(MetadataRequest(topics=[]), 12)
    assert (client.answers(), len(other.answers())) == ([], 1)
    gateway.advance(wait_ms - 1)
    assert client.answers() == []
    gateway.advance(1)
    assert len(client.answers()) == 1


def test_requests_that_were_sent_without_waiting_are_served_one_after_the_other(gateway: Gateway) -> None:
    """Kafka serves the next request of a connection when the wait for the one before is over."""
    client = gateway.client()
    create(client, "t")
    quota(client, "producer_byte_rate", RATE, client_id="test")
    for _ in range(10):
        produce(client, 11 * RATE)
    gateway.settle()
    (wait_ms,) = waits(client)
    assert 0 < wait_ms < 3_000
    served = 1
    for _ in range(9):
        gateway.advance(wait_ms)
        assert waits(client) == []
        gateway.advance(100)
        gateway.settle()
        (wait_ms,) = waits(client)
        assert 1_000 < wait_ms < 13_000
        served += 1
    assert served == 10


def test_a_producer_that_wants_no_answer_waits_too(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t")
    quota(client, "producer_byte_rate", RATE, client_id="test")
    client.send_unanswered(producing(("t", 0, batch(bytes(20 * RATE))), acks=0), 9)
    client.send(MetadataRequest(topics=[]), 12)
    gateway.settle()
    assert client.answers() == []
    gateway.advance(15_000)
    assert len(client.answers()) == 1


def test_a_reader_above_its_quota_gets_nothing_until_it_has_waited(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t")
    for _ in range(3):
        produce(client, 5 * RATE)
        gateway.settle()
    client.answers()
    quota(client, "consumer_byte_rate", RATE, client_id=None)
    found, waited_ms = 0, 0
    for _ in range(10):
        answer = client.call(fetching({("t", 0): found}), 12)
        if answer.responses:
            found += 1
            assert answer.throttle_time_ms == 0
            if found == 3:
                break
            continue
        assert answer.throttle_time_ms > 0
        assert answer.session_id == 0
        waited_ms += answer.throttle_time_ms
        gateway.advance(answer.throttle_time_ms)
    assert found == 3
    assert 3_000 < waited_ms < 16_000


def test_a_fetch_is_given_no_more_than_the_quota_allows_in_all_windows(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t")
    for _ in range(30):
        produce(client, RATE)
    gateway.settle()
    client.answers()
    quota(client, "consumer_byte_rate", RATE, client_id="test")
    (topic,) = client.call(fetching({("t", 0): 0}), 12).responses
    assert 9 * RATE < len(bytes(topic.partitions[0].records)) <= 10 * RATE


def test_what_the_server_works_for_a_client_is_counted_as_well(gateway: Gateway) -> None:
    client = gateway.client()
    gateway.broker.stats.turns.clock_ns = _ticking()
    quota(client, "request_percentage", 0.001, client_id="test")
    answer = client.call(MetadataRequest(topics=[]), 12)
    assert answer.throttle_time_ms == 1_000, "at most a window"


def _ticking() -> Any:
    ticks = iter(range(0, 10**15, 1_000_000))
    return lambda: next(ticks)


def creating(name: str, partitions: int) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[creation(name, partitions)])


def test_changes_of_topics_take_tokens_and_may_go_below_zero_once(gateway: Gateway) -> None:
    """Kafka 4.3.1 with a rate of 1: 10 and 10 partitions pass, the third request is refused."""
    client = gateway.client()
    quota(client, "controller_mutation_rate", 1, client_id="test")
    assert client.call(creating("a", 10), 7).topics[0].error_code == 0
    assert client.call(creating("b", 10), 7).topics[0].error_code == 0
    answer = client.call(creating("c", 10), 7)
    assert answer.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert answer.throttle_time_ms == 9_000
    gateway.advance(9_000)
    assert client.call(creating("c", 1), 7).topics[0].error_code == 0


def test_deletions_and_growth_are_changes_too(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t", 12)
    create(client, "u", 1)
    quota(client, "controller_mutation_rate", 1, client_id="test")
    deleting = DeleteTopicsRequest(topics=[], topic_names=["t"], timeout_ms=1_000)
    assert client.call(deleting, 5).responses[0].error_code == 0
    gateway.advance(0)
    growth = CreatePartitionsTopic(name="u", count=2, assignments=None)
    request = CreatePartitionsRequest(topics=[growth], timeout_ms=1_000, validate_only=False)
    answer = client.call(request, 3)
    assert answer.results[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert answer.throttle_time_ms == 1_000


def test_clients_that_do_not_know_the_error_wait_instead(gateway: Gateway) -> None:
    client = gateway.client()
    quota(client, "controller_mutation_rate", 1, client_id="test")
    answer = client.call(creating("a", 20), 5)
    assert (answer.topics[0].error_code, answer.throttle_time_ms) == (0, 9_000)


def test_a_batch_that_is_larger_than_all_windows_is_given_to_a_reader_that_has_had_nothing(
    gateway: Gateway,
) -> None:
    """Kafka answers such a fetch empty for ever."""
    client = gateway.client()
    create(client, "t")
    produce(client, 100 * RATE)
    gateway.settle()
    client.answers()
    quota(client, "consumer_byte_rate", RATE, client_id="test")
    answer = client.call(fetching({("t", 0): 0}), 12)
    assert len(bytes(answer.responses[0].partitions[0].records)) > 100 * RATE
    assert answer.throttle_time_ms > 80_000
    client.send(fetching({("t", 0): 0}), 12)
    gateway.advance(80_000)
    assert client.answers() == []


def test_a_quota_that_is_removed_holds_nobody_back_any_more(gateway: Gateway) -> None:
    client, admin = gateway.client(), gateway.client()
    create(client, "t")
    quota(client, "producer_byte_rate", RATE, client_id="test")
    quota(client, "producer_byte_rate", None, client_id="test")
    produce(client, 50 * RATE)
    gateway.settle()
    assert waits(client) == [0]
    assert gateway.broker.catalogue.quotas.values == {}
    assert admin.call(MetadataRequest(topics=[]), 12).throttle_time_ms == 0


def test_quotas_are_in_effect_after_a_restart(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t")
    quota(client, "producer_byte_rate", RATE, client_id="test")
    gateway.restart()
    client = gateway.client()
    produce(client, 20 * RATE)
    gateway.settle()
    assert waits(client)[0] > 0


def test_a_client_that_leaves_while_it_waits_is_forgotten(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t")
    quota(client, "producer_byte_rate", RATE, client_id="test")
    produce(client, 50 * RATE)
    gateway.settle()
    client.close()
    gateway.advance(60_000)
    assert client.connection.closed


def test_a_million_client_ids_take_bounded_memory(gateway: Gateway) -> None:
    table = gateway.broker.catalogue.quotas
    client = gateway.client()
    quota(client, "producer_byte_rate", RATE, client_id=None)
    throttling = Throttling(table, gateway.broker, Windows(), Windows())
    limits = Limits(table)
    for number in range(RATES_MAX + LIMITS_MAX):
        limit = limits.find("ANONYMOUS", str(number), "producer_byte_rate")
        assert limit is not None
        throttling._rate("producer_byte_rate", limit)
    assert len(throttling._rates) == RATES_MAX
    assert len(limits._known) <= LIMITS_MAX + 1


def test_long_names_are_told_apart_and_not_kept(gateway: Gateway) -> None:
    client, table = gateway.client(), gateway.broker.catalogue.quotas
    names = ["x" * 32_000 + str(number) for number in range(2)]
    quota(client, "producer_byte_rate", RATE, client_id=None)
    quota(client, "producer_byte_rate", 2 * RATE, client_id=names[1])
    limits = Limits(table)
    found = [limits.find("u" * 32_000, name, "producer_byte_rate") for name in names]
    assert [limit.value for limit in found if limit is not None] == [RATE, 2 * RATE]
    assert len({limit.counted for limit in found if limit is not None}) == 2
    assert max(len(part) for place in limits._known for part in place) < 300
    assert max(len(part) for limit in found if limit is not None for part in limit.counted) < 300
