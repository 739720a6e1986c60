"""The rate of new clients: of all together, and of addresses with a quota."""

from __future__ import annotations

from broker.connections.arrivals import DELAY_MS_MAX, HOSTS_MAX, Arrivals
from broker.security.quota_rates import Windows
from broker.security.quotas import Entity

WINDOWS = Windows(11, 1_000)


def quotas(**of: float) -> dict[Entity, dict[str, float]]:
    return {
        (("ip", None if host == "default" else host),): {"connection_creation_rate": rate}
        for host, rate in of.items()
    }


def test_above_the_rate_there_is_a_pause_and_after_it_there_is_none() -> None:
    arrivals = Arrivals(WINDOWS)
    taken, now_ms = 0, 0
    while now_ms < 60_000:
        wait_ms = arrivals.pause_ms(5, now_ms)
        if wait_ms:
            now_ms += wait_ms
            continue
        arrivals.accepted(now_ms)
        taken += 1
    assert 5 * 50 <= taken <= 5 * 71


def test_a_listener_above_its_own_rate_pauses_and_another_does_not() -> None:
    arrivals = Arrivals(WINDOWS)
    for _ in range(11):
        arrivals.accepted_at("A", 0)
    assert arrivals.listener_pause_ms("A", 1, 0) > 0
    assert arrivals.listener_pause_ms("B", 1, 0) == 0


def test_an_address_without_a_quota_never_waits() -> None:
    arrivals = Arrivals(WINDOWS)
    assert {arrivals.host_wait_ms("a", quotas(b=1), 0) for _ in range(1_000)} == {0}


def test_an_address_above_its_quota_waits_and_others_do_not() -> None:
    arrivals = Arrivals(WINDOWS)
    found = quotas(a=1)
    waits = [arrivals.host_wait_ms("a", found, 0) for _ in range(20)]
    assert waits[:10] == [0] * 10
    assert all(0 < wait_ms <= DELAY_MS_MAX for wait_ms in waits[10:])
    assert arrivals.host_wait_ms("b", found, 0) == 0


def test_who_was_turned_away_does_not_count() -> None:
    arrivals = Arrivals(WINDOWS)
    found = quotas(a=1)
    for _ in range(1_000):
        arrivals.host_wait_ms("a", found, 0)
    assert arrivals.host_wait_ms("a", found, 11_000) == 0


def test_the_default_counts_each_address_by_itself_and_its_own_quota_goes_first() -> None:
    arrivals = Arrivals(WINDOWS)
    found = quotas(default=1, a=100)
    assert {arrivals.host_wait_ms("a", found, 0) for _ in range(500)} == {0}
    assert [arrivals.host_wait_ms(host, found, 0) for host in "bc"] == [0, 0]
    assert any(arrivals.host_wait_ms("b", found, 0) for _ in range(20))
    assert arrivals.host_wait_ms("c", found, 0) == 0


def test_many_addresses_take_bounded_memory() -> None:
    arrivals = Arrivals(WINDOWS)
    found = quotas(default=1)
    for number in range(HOSTS_MAX + 100):
        arrivals.host_wait_ms(str(number), found, 0)
    assert len(arrivals._hosts) == HOSTS_MAX


def test_a_quota_of_an_ipv6_address_may_be_written_as_java_does() -> None:
    found = quotas(**{"0:0:0:0:0:0:0:1": 1})
    arrivals = Arrivals(WINDOWS)
    assert any(arrivals.host_wait_ms("::1", found, 0) for _ in range(30))
    assert arrivals.host_wait_ms("::2", found, 0) == 0
