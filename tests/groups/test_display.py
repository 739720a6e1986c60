"""The state of groups for those that only read it."""

from __future__ import annotations

from tests.groups.share.coordinated import Coordinated


def test_without_share_groups_their_service_is_not_made() -> None:
    driver = Coordinated("t")
    driver.commit("g", {("t", 0): 5})
    assert driver.coordinator._shares == ()
    assert driver.coordinator.take_share_orders() == []
    assert driver.coordinator.group_ids() == ["g"]


def test_a_heartbeat_makes_the_service_of_share_groups() -> None:
    driver = Coordinated("t")
    driver.beat_share("s", "m1", 0, "t")
    assert list(driver.coordinator.share(driver.now_ms).groups) == ["s"]
