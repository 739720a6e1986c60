"""Declarations: version ranges, and the classes made from them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from uuid import UUID

import pytest

from protocol.api_keys import ApiKey
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.schema import (
    ELEMENTS_MAX,
    NO_TAGS,
    RESPONSE_ELEMENTS_MAX,
    ZERO_UUID,
    ArrayOf,
    Int16,
    Int32,
    String,
    declaration,
    message,
    parse_versions,
    struct,
    wire,
)


@struct
class Seat:
    """A seat in a row."""

    row: int = wire(Int32)
    name: str = wire(String, default="window")


@message(api=ApiKey.FETCH, versions="1-3", flexible="2+")
class BookRequest:
    """A request to book seats."""

    seats: list[Seat] = wire(ArrayOf(Seat))
    note: str | None = wire(String, "2+", nullable="2+", default=None)
    tags: list[int] = wire(ArrayOf(Int32), default=[])


@message(versions="0", elements_max=7)
class BookResponse:
    """The outcome."""

    error_code: int = wire(Int16, default=0)


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("0+", range(32_768)),
        ("3-9", range(3, 10)),
        ("7", range(7, 8)),
        ("none", range(0)),
        ("12+", range(12, 32_768)),
    ],
)
def test_version_ranges_are_written_as_kafka_writes_them(text: str, versions: range) -> None:
    assert parse_versions(text) == versions


def test_declaration_keeps_what_was_said() -> None:
    found = declaration(BookRequest)
    assert (found.api, found.versions, found.hot) == (ApiKey.FETCH, range(1, 4), False)
    assert [field.name for field in found.fields] == ["seats", "note", "tags"]
    assert 2 in found.flexible
    assert 1 not in found.flexible


def test_requests_have_a_lower_limit_of_elements_than_answers() -> None:
    assert declaration(BookRequest).elements_max == ELEMENTS_MAX
    assert declaration(Seat).elements_max == RESPONSE_ELEMENTS_MAX
    assert declaration(BookResponse).elements_max == 7


def test_constructor_takes_keywords_and_fills_in_defaults() -> None:
    booking = BookRequest(seats=[Seat(row=3)])
    assert booking.seats[0].name == "window"
    assert (booking.note, booking.tags) == (None, [])


def test_constructor_requires_fields_without_a_default() -> None:
    with pytest.raises(TypeError, match="row"):
        Seat(name="aisle")  # type: ignore[call-arg]


def test_constructor_refuses_positions_and_unknown_names() -> None:
    with pytest.raises(TypeError):
        Seat(3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="colour"):
        Seat(row=3, colour="red")  # type: ignore[call-arg]


def test_lists_are_not_shared_between_objects() -> None:
    one, other = BookRequest(seats=[]), BookRequest(seats=[])
    one.tags.append(5)
    assert other.tags == []


def test_objects_are_equal_by_value_and_not_hashable() -> None:
    assert Seat(row=3) == Seat(row=3)
    assert Seat(row=3) != Seat(row=4)
    assert Seat(row=3) != object()
    with pytest.raises(TypeError):
        hash(Seat(row=3))


def test_objects_have_slots_only() -> None:
    with pytest.raises(AttributeError):
        Seat(row=3).colour = "red"  # type: ignore[attr-defined]


def test_unknown_tags_begin_as_one_shared_empty_mapping() -> None:
    assert getattr(Seat(row=3), "unknown_tags") is NO_TAGS  # noqa: B009  (not declared, so that mypy does not know it)
    with pytest.raises(TypeError):
        NO_TAGS[1] = b""
    assert (list(NO_TAGS), len(NO_TAGS), repr(NO_TAGS), NO_TAGS) == ([], 0, "{}", {})
    with pytest.raises(KeyError):
        NO_TAGS[1]


def test_repr_shows_values_and_hides_secrets() -> None:
    assert repr(Seat(row=3)) == "Seat(row=3, name='window')"
    assert repr(SaslAuthenticateRequest(auth_bytes=b"hunter2")) == "SaslAuthenticateRequest(auth_bytes=***)"


def test_repr_shows_unknown_tags_when_there_are_some() -> None:
    seat = Seat(row=3)
    setattr(seat, "unknown_tags", {9: b"x"})  # noqa: B010
    assert repr(seat) == "Seat(row=3, name='window', unknown_tags={9: b'x'})"


def test_messages_are_dataclasses_to_the_standard_library() -> None:
    assert dataclasses.is_dataclass(Seat)
    assert [field.name for field in dataclasses.fields(BookRequest)] == [
        "seats",
        "note",
        "tags",
        "unknown_tags",
    ]
    changed = dataclasses.replace(BookRequest(seats=[], note="x"), note="y")
    assert changed.note == "y"


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda booking: pickle.loads(pickle.dumps(booking))]
)
def test_messages_can_be_copied_and_pickled(duplicate: Callable[[BookRequest], BookRequest]) -> None:
    booking = BookRequest(seats=[Seat(row=3)])
    other = duplicate(booking)
    assert other == booking
    assert other is not booking
    assert getattr(other, "unknown_tags") is NO_TAGS  # noqa: B009


def test_zero_uuid_is_all_zeros() -> None:
    assert UUID(bytes=bytes(16)) == ZERO_UUID
