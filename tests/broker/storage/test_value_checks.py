"""kawal.schema.validation: values that do not fit are refused, each by its place in the batch."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from broker.storage.value_checks import (
    LEARNED_AT_ONCE_MAX,
    MISFITS_MAX,
    ROWS_PER_LOOK,
    ColumnsCheck,
    RegistryCheck,
)
from protocol.record_reader import Record

COLUMNS = "ts timestamp, delay int, carrier varchar(3), city string tag"


def of(*values: bytes | None) -> list[Record]:
    return [Record(at, 0, None, value) for at, value in enumerate(values)]


def misfits(check: Any, records: list[Record]) -> list[tuple[int, str]]:
    for index, record in enumerate(records):
        check.add(index, record)
    check.finish()
    found: list[tuple[int, str]] = check.misfits
    return found


def test_what_does_not_fit_the_columns_is_named_by_its_place() -> None:
    found = misfits(
        ColumnsCheck(COLUMNS),
        of(
            b'{"delay":1}', b'{"delay":"x"}', None, b"{}", b"no", b'{"delay":NaN}', b'{"ts":1,"carrier":"UA"}'
        ),
    )
    assert found[0] == (1, "delay: expected int, got a string")
    assert [at for at, _ in found] == [1, 4, 5]


def test_tags_are_checked_in_headers_too() -> None:
    records = [
        Record(0, 0, b"k", b"{}", (("kawal.tag.city", b"Wien"),)),
        Record(1, 0, b"k", b'{"city":5}'),
        Record(2, 0, b"k", b"{}", (("kawal.tag.city", b"\xff"),)),
    ]
    assert [at for at, _ in misfits(ColumnsCheck(COLUMNS), records)] == [1, 2]


def test_places_count_on_over_several_looks_and_the_list_has_an_end() -> None:
    values = [b"{}"] * ROWS_PER_LOOK + [b"no"] * (2 * MISFITS_MAX)
    found = misfits(ColumnsCheck(COLUMNS), of(*values))
    assert [at for at, _ in found] == list(range(ROWS_PER_LOOK, ROWS_PER_LOOK + MISFITS_MAX))


class Known:
    """Schemas by id: JSON for 1, none for 2; others are not known yet."""

    def find(self, identity: int) -> Any:
        return {1: json_only, 2: "the schema registry has no schema 2"}.get(identity)


def json_only(payload: bytes) -> bytes:
    from registry.errors import NotOfSchema

    try:
        json.loads(payload)
    except ValueError:
        raise NotOfSchema("not JSON") from None
    return payload


def framed(identity: int, payload: bytes = b"{}") -> bytes:
    return struct.pack(">bi", 0, identity) + payload


def registry_check(*, trusting: bool = False) -> RegistryCheck:
    return RegistryCheck(Known(), trusting=trusting)  # type: ignore[arg-type]


def test_a_value_must_be_framed_with_a_schema_that_exists_and_be_of_it() -> None:
    check = registry_check()
    found = misfits(check, of(framed(1), b"{}", framed(2), framed(1, b"{"), None, b"1{...}"))
    assert found == [
        (1, "a framed value has at least 5 bytes, and this one has 2"),
        (2, "the schema registry has no schema 2"),
        (3, "not of schema 1: not JSON"),
        (5, "a framed value begins with the byte 0, and this one with 49"),
    ]
    assert check.missing == frozenset()


def test_schemas_that_are_not_known_are_named_some_at_a_time() -> None:
    check = registry_check()
    assert misfits(check, of(*(framed(number) for number in range(10, 100)))) == []
    assert check.missing == set(range(10, 10 + LEARNED_AT_ONCE_MAX))


def test_trust_lets_them_pass_and_nothing_else() -> None:
    check = registry_check(trusting=True)
    assert misfits(check, of(framed(99), framed(2))) == [(1, "the schema registry has no schema 2")]
    assert check.missing == frozenset()


@pytest.mark.parametrize("columns", ["a int", "a json, `b c` double"])
def test_a_judge_is_compiled_once(columns: str) -> None:
    assert ColumnsCheck(columns)._judge is ColumnsCheck(columns)._judge
