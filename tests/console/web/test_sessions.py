"""Logins of people."""

from __future__ import annotations

from typing import Any

from console.web.sessions import IDLE_SECONDS, SESSIONS_MAX, Sessions, cookies_of


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class FakeKafka:
    closed = False

    def close(self) -> None:
        self.closed = True


def opened(sessions: Sessions, user: str = "ada") -> tuple[str, FakeKafka]:
    kafka: Any = FakeKafka()
    cookie = sessions.open(user, kafka)
    return cookie.partition(";")[0].partition("=")[2], kafka


def test_a_cookie_is_for_this_site_and_no_script() -> None:
    cookie = Sessions(https=False, clock=Clock()).open("ada", FakeKafka())  # type: ignore[arg-type]
    assert cookie.startswith("kawal-")
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
    secure = Sessions(https=True, clock=Clock()).open("ada", FakeKafka())  # type: ignore[arg-type]
    assert secure.startswith("__Host-kawal-")
    assert secure.endswith("; Secure")
    assert "Max-Age" not in cookie + secure


def test_names_and_secrets_are_random() -> None:
    first, second = Sessions(https=False, clock=Clock()), Sessions(https=False, clock=Clock())
    assert first.cookie_name != second.cookie_name
    assert opened(first)[0] != opened(first)[0]
    assert second.find(opened(first)[0]) is None


def test_a_login_ends_half_an_hour_after_its_last_use() -> None:
    clock = Clock()
    sessions = Sessions(https=False, clock=clock)
    secret, kafka = opened(sessions)
    for _ in range(3):
        clock.now += IDLE_SECONDS - 1
        assert sessions.find(secret) is not None
    clock.now += IDLE_SECONDS
    assert sessions.find(secret) is None
    assert kafka.closed


def test_a_login_that_is_ended_is_unknown() -> None:
    sessions = Sessions(https=False, clock=Clock())
    secret, kafka = opened(sessions)
    assert "Max-Age=0" in sessions.close(secret)
    assert (sessions.find(secret), kafka.closed) == (None, True)
    assert "Max-Age=0" in sessions.close("unknown")


def test_the_login_that_is_idle_longest_makes_room() -> None:
    sessions = Sessions(https=False, clock=Clock())
    secrets = [opened(sessions)[0] for _ in range(SESSIONS_MAX)]
    sessions.find(secrets[0])
    opened(sessions)
    assert sessions.find(secrets[0]) is not None
    assert sessions.find(secrets[1]) is None


def test_cookies_are_read_and_the_first_of_a_name_counts() -> None:
    assert cookies_of("a=1; b=2=3;a=4, c=5;junk") == {"a": "1", "b": "2=3", "c": "5"}
    assert cookies_of("") == {}
