"""ShareFetch and ShareAcknowledge with topics that the client may not read."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from protocol.error_codes import ErrorCode
from protocol.messages.share_fetch import ShareFetchResponse
from tests.broker.guarded import ALICE
from tests.broker.guarded_shares import GuardedShares
from tests.broker.kit import create
from tests.broker.share_requests import acknowledging, describing, fetching
from tests.broker.shares import ACCEPT, RENEW, Member, acquired, outcome, values

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def by_place(answer: Any) -> dict[tuple[UUID, int], tuple[int, int]]:
    """Return the error and the acknowledgement's error of each partition."""
    return {
        (UUID(int=topic.topic_id.int), data.partition_index): (data.error_code, data.acknowledge_error_code)
        for topic in answer.responses
        for data in topic.partitions
    }


def test_a_denied_partition_is_refused_beside_one_that_is_read() -> None:
    guarded = GuardedShares()
    guarded.produce("open", b"a")
    guarded.produce("shut", b"b")
    answer = guarded.alice().fetch(guarded.open, guarded.shut)
    assert by_place(answer) == {guarded.open: (0, 0), guarded.shut: (DENIED, 0)}
    assert values(answer) == [b"a"]


def test_a_denied_partition_of_the_session_is_refused_by_every_fetch_that_does_not_name_it() -> None:
    guarded = GuardedShares()
    alice = guarded.alice()
    alice.fetch(guarded.open, guarded.shut)
    for _ in range(2):
        guarded.produce("open", b"a")
        answer = alice.fetch()
        assert by_place(answer)[guarded.shut] == (DENIED, 0)
        assert values(answer) == [b"a"]


def test_it_is_read_by_the_same_session_as_soon_as_a_rule_allows_it_and_no_longer() -> None:
    guarded = GuardedShares()
    guarded.produce("shut", b"a")
    alice = guarded.alice()
    alice.fetch(guarded.shut)
    acl = guarded.unlock()
    assert values(alice.fetch()) == [b"a"]
    guarded.take(acl)
    guarded.produce("shut", b"b")
    answer = alice.fetch()
    assert by_place(answer) == {guarded.shut: (DENIED, 0)}
    assert acquired(answer) == []


def test_a_forgotten_partition_is_refused_no_more() -> None:
    guarded = GuardedShares()
    alice = guarded.alice()
    alice.fetch(guarded.open, guarded.shut)
    assert guarded.shut not in by_place(alice.fetch(forgotten=[guarded.shut]))


def holding_shut(guarded: GuardedShares) -> Any:
    """Return Alice with the first record of `shut`, which she may not read any more."""
    guarded.produce("shut", b"a")
    alice = guarded.alice()
    acl = guarded.unlock()
    assert acquired(alice.fetch(guarded.open, guarded.shut)) == [(0, 0, 1)]
    guarded.take(acl)
    return alice


def test_an_acknowledgement_in_a_denied_partition_is_refused_and_not_applied() -> None:
    guarded = GuardedShares()
    alice = holding_shut(guarded)
    assert outcome(alice.acknowledge(guarded.shut, (0, 0, [ACCEPT]))) == [DENIED]
    guarded.unlock()
    assert outcome(alice.acknowledge(guarded.shut, (0, 0, [ACCEPT]))) == [0]


def test_so_is_one_that_comes_with_a_fetch_beside_one_that_is_applied() -> None:
    guarded = GuardedShares()
    alice = holding_shut(guarded)
    guarded.produce("open", b"b")
    assert acquired(alice.fetch()) == [(0, 0, 1)]
    answer = alice.fetch(said={guarded.open: [(0, 0, [ACCEPT])], guarded.shut: [(0, 0, [ACCEPT])]})
    assert by_place(answer) == {guarded.open: (0, 0), guarded.shut: (DENIED, DENIED)}
    (group,) = guarded.admin.call(describing("open", "shut"), 1).groups
    assert [topic.partitions[0].start_offset for topic in group.topics] == [1, 0]


def test_the_form_of_acknowledgements_is_judged_first() -> None:
    guarded = GuardedShares()
    alice = holding_shut(guarded)
    answer = alice.acknowledge(guarded.shut, (5, 6, [ACCEPT]), (0, 0, [ACCEPT]))
    assert outcome(answer) == [ErrorCode.INVALID_REQUEST]
    assert outcome(alice.acknowledge(guarded.shut, (0, 0, [RENEW]))) == [ErrorCode.INVALID_REQUEST]
    assert outcome(alice.acknowledge(guarded.shut, (0, 0, [RENEW]), renews=True)) == [DENIED]


def test_a_session_that_closes_gives_back_what_it_has_of_denied_partitions_too() -> None:
    guarded = GuardedShares()
    alice = holding_shut(guarded)
    answer = alice.fetch(epoch=-1)
    assert by_place(answer) == {}
    guarded.unlock()
    assert acquired(guarded.alice("second").fetch(guarded.shut)) == [(0, 0, 2)]


def fetched_after(guarded: GuardedShares, alice: Any, duration_ms: int) -> list[ShareFetchResponse]:
    guarded.advance(duration_ms)
    guarded.settle()
    found: list[ShareFetchResponse] = alice.client.answers()
    return found


def test_a_fetch_waits_for_what_it_may_read_and_is_not_woken_by_the_rest() -> None:
    guarded = GuardedShares()
    guarded.produce("shut", b"a")
    alice = guarded.alice()
    alice.send_fetch(guarded.open, guarded.shut, max_wait_ms=500)
    assert fetched_after(guarded, alice, 100) == []
    guarded.produce("shut", b"b")
    assert fetched_after(guarded, alice, 100) == []
    guarded.produce("open", b"c")
    (answer,) = fetched_after(guarded, alice, 0)
    assert values(answer) == [b"c"]
    assert by_place(answer) == {guarded.open: (0, 0), guarded.shut: (DENIED, 0)}


def test_records_that_may_not_be_read_are_not_counted_as_enough() -> None:
    guarded = GuardedShares()
    guarded.produce("shut", b"a" * 1000)
    guarded.produce("open", b"b")
    alice = guarded.alice()
    alice.send_fetch(guarded.open, guarded.shut, max_wait_ms=500, min_bytes=500)
    assert fetched_after(guarded, alice, 100) == []
    (answer,) = fetched_after(guarded, alice, 500)
    assert values(answer) == [b"b"]


def test_a_fetch_of_denied_partitions_alone_is_answered_at_once() -> None:
    guarded = GuardedShares()
    alice = guarded.alice()
    alice.send_fetch(guarded.shut, max_wait_ms=500)
    (answer,) = fetched_after(guarded, alice, 0)
    assert by_place(answer) == {guarded.shut: (DENIED, 0)}


def test_a_denied_topic_does_not_tell_how_many_partitions_it_has_and_an_unknown_one_is_unknown() -> None:
    guarded = GuardedShares()
    missing, unknown = (guarded.shut[0], 7), (UUID(int=99), 0)
    assert by_place(guarded.alice().fetch(guarded.shut, missing, unknown)) == {
        guarded.shut: (DENIED, 0),
        missing: (DENIED, 0),
        unknown: (ErrorCode.UNKNOWN_TOPIC_ID, 0),
    }


def test_a_session_of_many_topics_is_decided_on_in_slices() -> None:
    guarded = GuardedShares()
    places = [(create(guarded.admin, f"t{number}"), 0) for number in range(250)]
    alice = guarded.alice()
    answer = alice.fetch(*places, guarded.open)
    found = by_place(answer)
    assert found.pop(guarded.open) == (0, 0)
    assert set(found.values()) == {(DENIED, 0)}
    assert len(found) == 250
    answer = alice.fetch(said={place: [(0, 0, [ACCEPT])] for place in places})
    assert set(by_place(answer).values()) >= {(DENIED, DENIED)}


def test_a_fetch_and_an_acknowledgement_need_a_group_and_a_member() -> None:
    guarded = GuardedShares()
    client = guarded.of(ALICE)
    alice = Member(guarded, "m" * 37, client=client)
    for request in (fetching(None), acknowledging(None), alice.fetching()):
        assert client.call(request, 2).error_code == ErrorCode.INVALID_REQUEST
    assert alice.acknowledge(guarded.open, epoch=1).error_code == ErrorCode.INVALID_REQUEST
