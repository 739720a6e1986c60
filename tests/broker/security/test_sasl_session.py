"""The order of requests in a login: its table, later logins, and every sequence of requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.sasl_exchange import LoginRefused
from broker.security.sasl_session import TABLE, SaslSession, State, Verdict
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

VERSIONS, HANDSHAKE, AUTHENTICATE, METADATA = (
    ApiKey.API_VERSIONS,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.METADATA,
)
ILLEGAL, UNSUPPORTED = ErrorCode.ILLEGAL_SASL_STATE, ErrorCode.UNSUPPORTED_SASL_MECHANISM


def session(lifetime_ms: int = 0) -> SaslSession:
    return SaslSession(("A", "B"), {"A": lifetime_ms})


def logged_in(lifetime_ms: int = 0, left_ms: int | None = None) -> SaslSession:
    made = session(lifetime_ms)
    assert made.choose("A", 1, 0) == ErrorCode.NONE
    made.accept("User:a", 0, left_ms)
    return made


def test_a_login_passes_its_requests_in_order() -> None:
    made = session()
    assert made.verdict(VERSIONS, 0) is Verdict.PASS
    assert made.verdict(HANDSHAKE, 0) is Verdict.PASS
    assert made.choose("A", 1, 0) == ErrorCode.NONE
    assert made.verdict(AUTHENTICATE, 0) is Verdict.PASS
    assert made.accept("User:a", 0) == 0
    assert made.verdict(METADATA, 10**9) is Verdict.PASS


def test_nothing_else_passes_before_the_handshake() -> None:
    assert session().verdict(METADATA, 0) is Verdict.CLOSE
    assert session().verdict(AUTHENTICATE, 0) is Verdict.CLOSE
    assert session().verdict(-7, 0) is Verdict.CLOSE


def test_api_versions_passes_once_and_again_after_an_error() -> None:
    made = session()
    assert made.verdict(VERSIONS, 0) is Verdict.PASS
    made.versions_refused()
    assert made.verdict(VERSIONS, 0) is Verdict.PASS
    assert made.verdict(VERSIONS, 0) is Verdict.CLOSE


@pytest.mark.parametrize("key", [VERSIONS, HANDSHAKE, METADATA])
def test_a_request_between_tokens_is_illegal(key: ApiKey) -> None:
    made = session()
    made.choose("A", 1, 0)
    assert made.verdict(key, 0) is Verdict.ILLEGAL


def test_bare_tokens_follow_a_handshake_of_version_0_until_the_end() -> None:
    made = session()
    made.choose("A", 0, 0)
    assert made.expects_raw
    made.accept("User:a", 0)
    assert not made.expects_raw


def test_an_unknown_mechanism_ends_the_login() -> None:
    made = session()
    assert made.choose("C", 1, 0) == UNSUPPORTED
    assert made.verdict(HANDSHAKE, 0) is Verdict.CLOSE


@pytest.mark.parametrize(
    ("lifetime_ms", "left_ms", "told_ms"),
    [(0, None, 0), (500, None, 500), (0, 300, 300), (500, 300, 300), (500, 900, 500), (500, -5, 0)],
)
def test_a_session_ends_with_the_shorter_of_limit_and_credentials(
    lifetime_ms: int, left_ms: int | None, told_ms: int
) -> None:
    made = session(lifetime_ms)
    made.choose("A", 1, 0)
    assert made.accept("User:a", 0, left_ms) == told_ms
    endless = not lifetime_ms and left_ms is None
    assert made.has_ended(told_ms + 1) is not endless
    assert not made.has_ended(told_ms)


def test_after_its_end_a_handshake_alone_passes() -> None:
    made = logged_in(500)
    assert made.verdict(METADATA, 500) is Verdict.PASS
    assert made.verdict(METADATA, 501) is Verdict.CLOSE
    assert made.verdict(HANDSHAKE, 501) is Verdict.PASS
    assert made.choose("A", 1, 501) == ErrorCode.NONE


def test_a_session_without_end_is_not_renewed() -> None:
    made = logged_in()
    assert made.choose("A", 1, 5_000) == ILLEGAL
    assert made.verdict(METADATA, 5_000) is Verdict.PASS


def test_a_session_is_renewed_once_in_a_second() -> None:
    made = logged_in(60_000)
    assert made.choose("A", 1, 10) == ErrorCode.NONE
    made.accept("User:a", 10)
    assert made.choose("A", 1, 1_009) == ILLEGAL
    assert made.choose("A", 1, 1_010) == ErrorCode.NONE


def test_a_later_login_is_by_the_same_user_and_mechanism() -> None:
    made = logged_in(60_000)
    made.choose("A", 1, 0)
    with pytest.raises(LoginRefused, match=r"from User.a: User.b"):
        made.accept("User:b", 0)
    other = logged_in(60_000)
    assert other.choose("B", 1, 0) == ErrorCode.NONE
    with pytest.raises(LoginRefused, match=r"'B' requested.*'A'") as refused:
        other.check_mechanism()
    assert not refused.value.answered


@given(st.lists(st.tuples(st.sampled_from([VERSIONS, HANDSHAKE, AUTHENTICATE, METADATA]), st.booleans())))
def test_no_sequence_of_requests_gets_past_the_login(requests: list[tuple[ApiKey, bool]]) -> None:
    made = session(60_000)
    accepted = False
    for now_ms, (key, good) in enumerate(requests):
        verdict = made.verdict(key, now_ms)
        if key == METADATA:
            assert (verdict is Verdict.PASS) == (made.state is State.READY)
            assert accepted or verdict is not Verdict.PASS
        if verdict is not Verdict.PASS:
            return
        if key == HANDSHAKE:
            made.choose("A" if good else "C", 1, now_ms)
        elif key == AUTHENTICATE and made.state is State.TOKENS:
            if good:
                made.accept("User:a", now_ms)
                accepted = True
            else:
                made.fail()


def test_the_table_has_a_verdict_for_every_state_and_request() -> None:
    assert set(TABLE) == set(State)
    assert {len(row) for row in TABLE.values()} == {5}
