"""The phases of a request add up to its total."""

from __future__ import annotations

from typing import Any

import pytest

from broker.handlers import APIS
from broker.loop.request_stats import PHASES, ApiStats, RequestStats, phases_ns
from broker.loop.slices import WaitingSteps
from protocol.api_keys import ApiKey
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.broker.gateway import Gateway, request_frame
from tests.broker.kit import batch, create, producing


class Finished:
    """A call that came at 100, was begun at 110, worked for 15 until 150, and was ready at 153."""

    api_key, version = 1, 12
    size_bytes, response_bytes = 40, 900
    count = 1
    logged = False
    received_ns, began_ns, handled_ns, answered_ns, released_ns = 100, 110, 15, 150, 153


def test_the_phases_are_what_lies_between_the_moments() -> None:
    assert dict(zip(PHASES, phases_ns(Finished(), 160), strict=True)) == {
        "queue": 10, "local": 15, "remote": 25, "response": 3, "send": 7,
    }  # fmt: skip


def test_the_phases_add_up_to_the_total() -> None:
    stats = ApiStats()
    requests = RequestStats(stats)
    for sent_ns in (160, 153, 1_000_000):
        requests.add([Finished()], sent_ns)
    phases = stats.phases()
    assert tuple(phases) == PHASES
    assert sum(histogram.total for histogram in phases.values()) == stats.total_ns.total == 60 + 53 + 999_900
    assert all(histogram.count == 3 for histogram in [*phases.values(), stats.total_ns])
    assert (stats.request_bytes, stats.response_bytes) == (120, 2700)


def test_calls_that_leave_together_count_as_if_they_left_one_by_one() -> None:
    later = Finished()
    later.received_ns, later.began_ns, later.handled_ns = 90, 120, 20
    one_by_one, together = ApiStats(), ApiStats()
    for call in (Finished(), later):
        RequestStats(one_by_one).add([call], 170)
    RequestStats(together).add([Finished(), later], 170)
    for found, expected in zip(together.phases().values(), one_by_one.phases().values(), strict=True):
        assert (found.counts, found.total) == (expected.counts, expected.total)
    assert together.total_ns.total == one_by_one.total_ns.total == 70 + 80


def test_a_call_that_stands_for_several_requests_counts_as_so_many_that_share_its_time() -> None:
    run, single = Finished(), Finished()
    run.count, run.handled_ns, run.size_bytes, run.response_bytes = 3, 45, 120, 2700
    as_one, one_by_one = ApiStats(), ApiStats()
    counts = RequestStats(as_one)
    counts.add([run], 170)
    RequestStats(one_by_one).add([single] * 3, 170)
    assert counts.count == 3
    for found, expected in zip(as_one.phases().values(), one_by_one.phases().values(), strict=True):
        assert (found.counts, found.total) == (expected.counts, expected.total)
    assert as_one.total_ns.total == one_by_one.total_ns.total == 3 * 70
    assert (as_one.request_bytes, as_one.response_bytes) == (120, 2700)
    assert phases_ns(run, 170) == phases_ns(single, 170)


def totals(gateway: Gateway, api: ApiKey) -> dict[str, int]:
    return {phase: found.total for phase, found in gateway.broker.stats.apis[api].phases().items()}


class Hands:
    """A clock that the test moves."""

    def __init__(self, gateway: Gateway) -> None:
        self.now_ns = 0
        gateway.broker.stats.turns.clock_ns = lambda: self.now_ns


def test_the_time_until_a_produce_is_on_the_disk_is_remote(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t")
    hands = Hands(gateway)
    client.send(producing(("t", 0, batch(b"a"))), 9)
    hands.now_ns += 700
    gateway.settle()
    hands.now_ns += 30
    client.answers()
    assert totals(gateway, ApiKey.PRODUCE) == {
        "queue": 0, "local": 0, "remote": 700, "response": 0, "send": 30,
    }  # fmt: skip


def test_the_time_behind_another_request_of_the_connection_is_queue_and_slices_are_local(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands = Hands(gateway)

    def long(_broker: Any, _call: Any) -> WaitingSteps:
        hands.now_ns += 10
        yield None
        hands.now_ns += 20
        return HeartbeatResponse()

    monkeypatch.setattr(APIS[ApiKey.HEARTBEAT], "_handler", long)
    client = gateway.client()
    client.send(HeartbeatRequest(group_id="g", member_id="m", generation_id=1), 4)
    client.send(FindCoordinatorRequest(key="g"), 3)
    hands.now_ns += 500
    gateway.settle()
    client.answers()
    assert totals(gateway, ApiKey.HEARTBEAT) == {
        "queue": 0, "local": 30, "remote": 500, "response": 0, "send": 0,
    }  # fmt: skip
    assert totals(gateway, ApiKey.FIND_COORDINATOR)["queue"] == 530


def test_the_time_until_earlier_answers_are_ready_is_response(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t")
    hands = Hands(gateway)
    client.send(producing(("t", 0, batch(b"a"))), 9)
    client.send(FindCoordinatorRequest(key="g"), 3)
    hands.now_ns += 250
    gateway.settle()
    client.answers()
    assert totals(gateway, ApiKey.FIND_COORDINATOR)["response"] == 250


def test_bytes_count_by_api_with_their_headers(gateway: Gateway) -> None:
    client = gateway.client()
    client.call(FindCoordinatorRequest(key="g"), 3)
    stats = gateway.broker.stats
    api = stats.apis[ApiKey.FIND_COORDINATOR]
    assert (api.request_bytes + 4, api.response_bytes) == (stats.received_bytes, stats.sent_bytes)


def test_requests_of_many_wrong_versions_leave_nothing_behind(gateway: Gateway) -> None:
    gateway.break_things()
    frame = request_frame(FindCoordinatorRequest(key="g"), 3, 1)
    for version in range(100, 200):
        gateway.client().send_bytes(frame[:6] + version.to_bytes(2) + frame[8:])
    assert gateway.broker.stats.requests == {}
