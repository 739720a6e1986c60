"""The partitions of a client, and by whose settings it reads each of them, as members change."""

from __future__ import annotations

import logging
from collections.abc import Callable
from random import Random
from uuid import UUID

import pytest

from broker.coordinators import client_places
from broker.coordinators.client_places import CLIENT_BYTES, ClientPlaces, Part, Place
from broker.coordinators.read_settings import PLAIN, ReadSettings
from broker.loop.slices import Pace, at_once

KEY = "/10.0.0.9", "app"
T, U = UUID(int=1), UUID(int=2)
EXCLUDES, SNAPSHOT = ReadSettings(excludes=True), ReadSettings(begins_with_snapshot=True)


def note(
    places: ClientPlaces,
    group_id: str,
    settings: ReadSettings,
    member: object,
    *parts: Part,
    per_step: int = 500,
) -> None:
    at_once(places.note(group_id, settings, member, parts, Pace(per_step)))


def reader(places: ClientPlaces, index: int, topic_id: UUID = T, name: str = "t") -> str | None:
    """Return the group by whose settings a partition is read."""
    read = places.read_of(topic_id, name, index)
    return None if read is None else read.group_id


def test_a_partition_is_read_by_the_settings_of_the_group_that_has_it() -> None:
    places = ClientPlaces(KEY)
    note(places, "g", EXCLUDES, "a", {T: {0, 1}}, {T: {2}})
    note(places, "plain", PLAIN, "b", {T: {3}})
    assert [reader(places, index) for index in range(5)] == ["g", "g", "g", None, None]
    assert [places.has(T, "t", index) for index in range(5)] == [True] * 4 + [False]
    assert reader(places, 0, U, "u") is None
    assert places.has_settings == 3
    read = places.read_of(T, "t", 0)
    assert read is not None
    assert read.settings == EXCLUDES


def test_a_classic_member_has_the_partition_of_whatever_topic_has_the_name() -> None:
    places = ClientPlaces(KEY)
    note(places, "g", EXCLUDES, "a", {"t": {0}})
    assert reader(places, 0) == reader(places, 0, UUID(int=9)) == "g"
    assert reader(places, 0, T, "u") is None
    note(places, "plain", PLAIN, "b", {T: {0}})
    assert reader(places, 0) is None, "there is no telling whose the fetch is"
    assert reader(places, 0, UUID(int=9)) == "g"


def test_what_a_member_has_replaces_what_it_had() -> None:
    places = ClientPlaces(KEY)
    note(places, "g", EXCLUDES, "a", {T: {0, 1}}, {})
    note(places, "g", EXCLUDES, "a", {T: {1}, U: {7}}, {T: {2}})
    assert [reader(places, index) for index in range(3)] == [None, "g", "g"]
    assert reader(places, 7, U) == "g"
    note(places, "g", EXCLUDES, "a")
    assert not places.has_settings
    assert not places.has_group("g")
    assert places.size_bytes == CLIENT_BYTES + len("app")


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (EXCLUDES, EXCLUDES, "g"),
        (EXCLUDES, PLAIN, None),
        (EXCLUDES, ReadSettings(min_rows=5), None),
        (SNAPSHOT, SNAPSHOT, None),
        (PLAIN, PLAIN, None),
    ],
)
def test_settings_apply_if_all_groups_that_have_a_partition_have_them_and_need_no_progress_of_their_own(
    first: ReadSettings, second: ReadSettings, found: str | None
) -> None:
    places = ClientPlaces(KEY)
    note(places, "g", first, "a", {T: {0}})
    note(places, "h", second, "b", {T: {0}})
    assert reader(places, 0) == found
    note(places, "h", second, "b", {T: {1}})
    assert reader(places, 0) == (None if first == PLAIN else "g")


def test_members_of_one_group_that_have_the_same_partition_are_of_one_mind() -> None:
    places = ClientPlaces(KEY)
    note(places, "g", SNAPSHOT, "a", {T: {0}})
    note(places, "g", SNAPSHOT, "b", {T: {0}})
    assert reader(places, 0) == "g"
    note(places, "g", SNAPSHOT, "a")
    assert reader(places, 0) == "g"


def test_that_there_is_no_telling_is_told_once_until_something_changes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    places = ClientPlaces(KEY)
    for number in range(100):
        note(places, f"h{number:03}", PLAIN, "a", {T: {0}})
    note(places, "g", EXCLUDES, "a", {T: {0, 1}})
    with caplog.at_level(logging.WARNING, "kawal.groups"):
        assert [reader(places, 0) for _ in range(9)] == [None] * 9
        assert len(caplog.records) == 1
        names = "'g', 'h000', 'h001', 'h002', 'h003', 'h004'"
        assert f"members of {names} are all client 'app' on 10.0.0.9" in caplog.text
        note(places, "g", EXCLUDES, "a", {T: {0}})
        reader(places, 0)
    assert len(caplog.records) == 2


def test_of_very_many_partitions_some_are_noted_at_a_time_and_what_stays_is_always_there() -> None:
    places = ClientPlaces(KEY)
    note(places, "g", EXCLUDES, "a", {T: range(1_000)})
    steps = places.note("g", EXCLUDES, "a", ({T: range(500, 1_500)},), Pace(100))
    count = 0
    for count, _ in enumerate(steps, start=1):  # noqa: B007
        assert all(reader(places, index) == "g" for index in range(500, 1_000))
    assert count == 20
    assert [reader(places, index) for index in (499, 500, 1_499, 1_500)] == [None, "g", "g", None]


def test_topics_of_which_a_member_has_what_it_had_are_passed_over() -> None:
    places = ClientPlaces(KEY)
    topics = {UUID(int=number): frozenset(range(100)) for number in range(20)}
    note(places, "g", EXCLUDES, "a", topics)
    steps = places.note("g", EXCLUDES, "a", (topics | {T: frozenset({5})},), Pace(10))
    assert len(list(steps)) <= 30, "one step for ten topics, forth and back, or for ten partitions of one"
    assert (reader(places, 5), reader(places, 6)) == ("g", None)


Held = dict[tuple[str, int], set[Place]]


def expected(held: Held, settings: dict[str, ReadSettings], index: int) -> str | None:
    """Return by whose settings a partition is read, by a look at all members."""
    groups = {group_id for (group_id, _), places in held.items() if places & {(T, index), ("t", index)}}
    kinds = {settings[group_id] for group_id in groups}
    if len(kinds) != 1 or kinds == {PLAIN} or (SNAPSHOT in kinds and len(groups) > 1):
        return None
    return min(groups) if len(groups) == 1 else "one of several"


@pytest.mark.parametrize("seed", range(10))
def test_whatever_changes_it_is_as_a_look_at_all_members_says(seed: int) -> None:
    random, places, held = Random(seed), ClientPlaces(KEY), Held()
    settings = {f"g{number}": random.choice((PLAIN, EXCLUDES, SNAPSHOT)) for number in range(4)}
    choose: Callable[[], set[int]] = lambda: set(random.sample(range(6), random.randrange(4)))  # noqa: E731
    for _ in range(300):
        member = random.choice(list(settings)), random.randrange(3)
        parts: tuple[Part, ...] = ({T: choose()}, {T: choose()}) if member[1] else ({"t": choose()},)
        if random.random() < 0.2:
            parts = ()
        note(places, member[0], settings[member[0]], member[1], *parts, per_step=random.randrange(1, 9))
        held[member] = {(topic, index) for part in parts for topic, some in part.items() for index in some}
        for index in range(6):
            right, found = expected(held, settings, index), reader(places, index)
            assert found in settings if right == "one of several" else found == right
            every = set[Place]().union(*held.values())
            assert places.has(T, "t", index) == bool(every & {(T, index), ("t", index)})
    for group_id, number in list(held):
        note(places, group_id, settings[group_id], number)
    assert places.size_bytes == CLIENT_BYTES + len("app")
    assert (places._sole, places._several, places._groups) == ({}, {}, {})
    assert not places.has_settings


def test_all_is_forgotten_in_steps() -> None:
    places = ClientPlaces(KEY)
    note(places, "g", EXCLUDES, "a", {T: range(2_000)})
    note(places, "h", PLAIN, "a", {T: range(1_000)})
    assert len(list(places.emptied())) >= 4
    assert (reader(places, 5), places.has(T, "t", 5), places.has_settings) == (None, False, 0)
    assert places.size_bytes == CLIENT_BYTES + len("app")


def test_the_warning_names_few_of_many_kinds_of_settings(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_places, "NAMED_MAX", 2)
    places = ClientPlaces(KEY)
    for number in range(9):
        note(places, f"g{number}", ReadSettings(min_rows=1 + number), "a", {T: {0}})
    assert reader(places, 0) is None
    assert "members of 'g0', 'g1' are all" in caplog.text
