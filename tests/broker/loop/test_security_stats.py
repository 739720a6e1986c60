"""The counts of logins and handshakes."""

from broker.loop.security_stats import FAILED, NO_MECHANISM, OK, SecurityStats


def test_logins_are_counted_by_listener_mechanism_and_outcome_and_tokens_beside_them() -> None:
    stats = SecurityStats()
    stats.login("IN", "PLAIN", OK, by_token=False)
    stats.login("IN", "SCRAM-SHA-256", FAILED, by_token=True)
    stats.login("IN", "", FAILED, by_token=False)
    assert stats.logins == {
        ("IN", "PLAIN", OK): 1,
        ("IN", "SCRAM-SHA-256", FAILED): 1,
        ("IN", NO_MECHANISM, FAILED): 1,
    }
    assert stats.token_logins == {FAILED: 1}


def test_a_copy_stays_as_it_was() -> None:
    stats = SecurityStats()
    stats.handshakes["IN", OK] += 1
    copied = stats.copy()
    stats.handshakes["IN", OK] += 1
    stats.login("IN", "PLAIN", OK, by_token=True)
    assert (copied.handshakes, copied.logins, copied.token_logins) == ({("IN", OK): 1}, {}, {})
