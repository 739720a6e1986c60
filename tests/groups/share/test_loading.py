"""Records of share groups that are loaded: those that cannot be read, and the groups they belong to."""

from __future__ import annotations

import pytest

from groups.apart import Apart
from groups.record_keys import is_share_record
from groups.share import loading
from protocol.error_codes import ErrorCode
from tests.groups.share.coordinated import Coordinated


def test_the_records_of_share_groups_are_known_by_the_type_of_their_keys() -> None:
    assert [kind for kind in range(20) if is_share_record(bytes([0, kind]))] == list(range(10, 16))
    assert not is_share_record(b"")
    assert not is_share_record(b"\x0a")


def test_a_group_with_a_record_that_cannot_be_read_is_not_served() -> None:
    driver = Coordinated("t")
    driver.beat_share("g", "m1", 0, "t")
    partition = driver.coordinator.partition_of("g")
    key, value = next(record for record in driver.log[partition] if record[0][:2] == b"\x00\x0b")
    assert value is not None
    driver.log[partition].append((key, b"\x00\x63" + value[2:]))
    driver.restart()
    assert not driver.coordinator.is_whole(partition)
    answer = driver.beat_share("g", "m1", 2)
    assert answer.value.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_later_record_of_the_same_key_heals_the_group() -> None:
    driver = Coordinated("t")
    driver.beat_share("g", "m1", 0, "t")
    partition = driver.coordinator.partition_of("g")
    key, value = next(record for record in driver.log[partition] if record[0][:2] == b"\x00\x0b")
    driver.log[partition] += [(key, b"\x00\x63"), (key, value)]
    driver.restart()
    assert driver.coordinator.is_whole(partition)


def test_a_record_whose_key_cannot_be_read_is_left_out() -> None:
    driver = Coordinated("t")
    driver.log[0].append((b"\x00\x0a\x00", b""))
    driver.restart()
    assert driver.coordinator.counts()["left_out"] == 1


@pytest.mark.parametrize("wide", [1, 1_000])
def test_a_copy_shows_some_members_of_a_group_at_a_time_as_they_are_then(
    monkeypatch: pytest.MonkeyPatch, wide: int
) -> None:
    monkeypatch.setattr(loading, "GROUP_RECORDS_AT_ONCE", 2)
    monkeypatch.setattr(loading, "WIDE_TOPICS", wide)
    apart = 0
    driver = Coordinated("t")
    for number in range(4):
        driver.beat_share("g", f"m{number}", 0, "t")
    partition = driver.coordinator.partition_of("g")
    group = driver.coordinator.share(driver.now_ms).membership.table.groups["g"]
    written, sizes = len(driver.log[partition]), list[int]()
    for number, part in enumerate(driver.coordinator.snapshot(partition)):
        sizes.append(len(part))
        if isinstance(part, Apart):
            part.encode()
            apart += 1
        driver.log[partition].extend(part)
        if number == 2:
            driver.beat_share("g", "m3", -1)
            driver.beat_share("g", "new", 0, "t")
    before = sorted(map(repr, group.records()))
    assert max(sizes) <= 2
    assert (apart >= 5) == (wide == 1)
    assert sum(sizes) >= 11
    # The copy, and what was written meanwhile, say all.
    driver.log[partition] = driver.log[partition][written:]
    driver.restart()
    after = driver.coordinator.share(driver.now_ms).membership.table.groups["g"]
    assert sorted(map(repr, after.records())) == before
