"""Connections are counted by software; the labels are bounded, whatever clients call themselves."""

from __future__ import annotations

from broker.loop.software import LENGTH_MAX, OTHER, PAIRS_MAX, UNKNOWN, SoftwareCounts


def test_connections_are_counted_while_they_last() -> None:
    software = SoftwareCounts()
    java = ("apache-kafka-java", "4.3.1")
    assert [software.enter(java), software.enter(java), software.enter(UNKNOWN)] == [java, java, UNKNOWN]
    assert software.counts == {java: 2, UNKNOWN: 1}
    software.leave(java)
    software.leave(UNKNOWN)
    assert software.counts == {java: 1}


def test_names_beyond_the_limit_share_one_label_and_leave_it_again() -> None:
    software = SoftwareCounts()
    counted = [software.enter(("client", str(number))) for number in range(1000)]
    assert len(software.counts) == PAIRS_MAX + 1
    assert software.counts[OTHER] == 1000 - PAIRS_MAX
    assert software.enter(("client", "5")) == ("client", "5")
    software.leave(("client", "5"))
    for pair in counted:
        software.leave(pair)
    assert software.counts == {}


def test_a_long_name_is_no_label() -> None:
    software = SoftwareCounts()
    assert software.enter(("n" * (LENGTH_MAX + 1), "1")) == OTHER
    assert software.enter(("n", "1" * LENGTH_MAX)) == ("n", "1" * LENGTH_MAX)
