"""The table of events and outcomes of an acquired record."""

from __future__ import annotations

from groups.share.states import (
    ACKNOWLEDGEMENTS,
    FINISHED,
    OUTCOMES,
    AtLimit,
    Cause,
    Event,
    Outcome,
    RecordState,
    outcome_of,
)


def test_every_event_has_an_outcome_before_and_at_the_limit() -> None:
    assert set(OUTCOMES) == set(Event)
    assert all(set(row) == {False, True} for row in OUTCOMES.values())


def test_only_a_renewal_leaves_a_record_acquired() -> None:
    keeps = {event for event, row in OUTCOMES.items() if row[False].state == RecordState.ACQUIRED}
    assert keeps == {Event.RENEW}


def test_at_the_limit_a_record_given_back_is_finished() -> None:
    given_back = {event for event, row in OUTCOMES.items() if row[False].state == RecordState.AVAILABLE}
    assert given_back == {Event.RELEASE, Event.LOCK_EXPIRED, Event.SESSION_CLOSED, Event.TAKEN_OVER}
    assert all(OUTCOMES[event][True].state in FINISHED for event in given_back)


def test_the_types_of_requests_are_kafkas() -> None:
    assert [ACKNOWLEDGEMENTS[kind] for kind in range(5)] == [
        Event.GAP, Event.ACCEPT, Event.RELEASE, Event.REJECT, Event.RENEW,
    ]  # fmt: skip


def outcomes(at_limit: AtLimit, *, is_last: bool) -> dict[Event, Outcome]:
    return {event: outcome_of(event, is_last=is_last, at_limit=at_limit) for event in Event}


def test_with_dead_letters_what_is_given_up_waits_for_them_but_no_gap_does() -> None:
    waiting = {
        event: outcome.cause
        for event, outcome in outcomes(AtLimit.TAIL, is_last=True).items()
        if outcome.state == RecordState.ARCHIVING
    }
    assert waiting == {
        Event.REJECT: Cause.REJECTED,
        Event.RELEASE: Cause.LIMIT,
        Event.LOCK_EXPIRED: Cause.LIMIT,
        Event.SESSION_CLOSED: Cause.LIMIT,
        Event.TAKEN_OVER: Cause.LIMIT,
    }
    before = outcomes(AtLimit.TAIL, is_last=False)
    assert [event for event in Event if before[event].state == RecordState.ARCHIVING] == [Event.REJECT]


def test_dropping_is_kafkas_table() -> None:
    for is_last in (False, True):
        assert outcomes(AtLimit.DROP, is_last=is_last) == {event: OUTCOMES[event][is_last] for event in Event}


def test_keeping_knows_no_last_delivery() -> None:
    assert outcomes(AtLimit.KEEP, is_last=True) == {event: OUTCOMES[event][False] for event in Event}


def test_what_waits_for_a_dead_letter_is_not_finished() -> None:
    assert frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED}) == FINISHED
    assert int(RecordState.ARCHIVING) == 3, "the number is stored"
