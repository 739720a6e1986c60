"""The counters of a share group."""

from __future__ import annotations

from groups.share.counts import GroupCounts
from groups.share.table import no_answer
from tests.groups.share.driver import KEY, Driver

ACCEPT, RELEASE, REJECT = 1, 2, 3


def counts(driver: Driver) -> dict[str, int]:
    """Return the counters that are not zero."""
    return {name: value for name, value in driver.machine.counts_of("g").as_dict().items() if value}


def started() -> Driver:
    driver = Driver()
    driver.initialize()
    return driver


def test_records_are_counted_by_what_became_of_them() -> None:
    driver = started()
    driver.acquire("m1", 10)
    assert counts(driver) == {"acquired": 10}
    driver.say("m1", 0, 3, ACCEPT)
    driver.say("m1", 4, 5, RELEASE)
    driver.say("m1", 6, 6, REJECT)
    assert counts(driver) == {"acquired": 10, "accepted": 4, "released": 2, "rejected": 1, "archived": 1}
    driver.advance(1_000)
    assert counts(driver)["lock_timeouts"] == 3
    driver.acquire("m2", 10)
    assert counts(driver)["redeliveries"] == 5


def test_what_was_not_stored_does_not_count() -> None:
    driver = started()
    driver.acquire("m1", 10)
    driver.hold = True
    driver.say("m1", 0, 9, ACCEPT)
    driver.lose()
    assert counts(driver) == {"acquired": 10}


def test_a_session_that_closes_releases_what_its_member_has() -> None:
    driver = started()
    driver.acquire("m1", 10)
    assert driver.machine.release(KEY, "m1", no_answer, 0) == (10, False)
    driver.pump()
    assert counts(driver) == {"acquired": 10, "released": 10}


def test_records_taken_over_are_counted_by_themselves() -> None:
    driver = started()
    driver.acquire("m1", 10)
    assert driver.machine.take_over(KEY, ["m1"], 4, no_answer, 0) == 4
    driver.pump()
    assert counts(driver) == {"acquired": 10, "taken_over": 4}


def test_a_group_without_share_partitions_has_no_counters() -> None:
    driver = started()
    driver.acquire("m1", 10)
    driver.machine.delete(KEY, no_answer, 0)
    driver.pump()
    assert counts(driver) == {}
    assert GroupCounts().as_dict() == dict.fromkeys(GroupCounts.__slots__, 0)


def test_a_purge_archives_what_is_not_finished_and_late_words_are_ignored() -> None:
    driver = started()
    driver.acquire("m1", 10)
    driver.say("m1", 2, 4, ACCEPT)
    answers: list[int] = []
    assert driver.machine.purge(KEY, 50, answers.append, 0) == 47
    assert answers == []
    driver.pump()
    assert (answers, driver.shown()) == ([0], [])
    assert counts(driver)["archived"] == 47
    assert driver.say("m1", 0, 9, ACCEPT) == [0]
    assert driver.machine.purge(KEY, 50, answers.append, 0) == 0
    driver.restart()
    found = driver.machine.find(KEY)
    assert found is not None
    assert (found.start, found.end, found.state_epoch) == (50, 50, 1)


def test_a_purge_that_cannot_be_stored_changes_nothing() -> None:
    driver = started()
    driver.acquire("m1", 10)
    driver.hold = True
    answers: list[int] = []
    driver.machine.purge(KEY, 50, answers.append, 0)
    driver.pump()
    driver.lose()
    assert len(answers) == 1
    assert answers[0] != 0
    assert driver.shown() == [(0, 9, "acquired", 1)]
    assert counts(driver) == {"acquired": 10}
