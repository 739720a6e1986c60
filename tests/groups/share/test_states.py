"""The table of events and outcomes of an acquired record."""

from __future__ import annotations

from groups.share.states import ACKNOWLEDGEMENTS, FINISHED, OUTCOMES, Event, RecordState


def test_every_event_has_an_outcome_before_and_at_the_limit() -> None:
    assert set(OUTCOMES) == set(Event)
    assert all(set(row) == {False, True} for row in OUTCOMES.values())


def test_only_a_renewal_leaves_a_record_acquired() -> None:
    keeps = {event for event, row in OUTCOMES.items() if row[False].state == RecordState.ACQUIRED}
    assert keeps == {Event.RENEW}


def test_at_the_limit_a_record_given_back_is_finished() -> None:
    given_back = {event for event, row in OUTCOMES.items() if row[False].state == RecordState.AVAILABLE}
    assert given_back == {Event.RELEASE, Event.LOCK_EXPIRED, Event.SESSION_CLOSED}
    assert all(OUTCOMES[event][True].state in FINISHED for event in given_back)


def test_the_types_of_requests_are_kafkas() -> None:
    assert [ACKNOWLEDGEMENTS[kind] for kind in range(5)] == [
        Event.GAP, Event.ACCEPT, Event.RELEASE, Event.REJECT, Event.RENEW,
    ]  # fmt: skip
