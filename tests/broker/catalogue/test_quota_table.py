"""The quotas that exist are what their records say, the last of each entity, unless one was lost."""

from __future__ import annotations

import math

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from broker.catalogue.catalogue_records import ClientQuotas
from broker.catalogue.quota_table import Entity, QuotaTable, record_of

USER: Entity = (("user", "u/é \x00"),)
DEFAULT: Entity = (("client-id", None), ("user", None))


@given(st.dictionaries(st.text(max_size=5), st.floats(min_value=0, exclude_min=True), max_size=4))
def test_a_record_gives_back_every_value_that_can_be_set(values: dict[str, float]) -> None:
    for entity in (USER, DEFAULT):
        stored = msgspec.json.encode(record_of(entity, values))
        table = QuotaTable()
        table.plan(msgspec.json.decode(stored, type=ClientQuotas))
        assert table.of(entity) == values


def test_infinity_outlives_a_record_as_json_has_none() -> None:
    table = QuotaTable()
    table.plan(msgspec.json.decode(msgspec.json.encode(record_of(USER, {"k": math.inf})), type=ClientQuotas))
    assert table.values == {USER: {"k": math.inf}}


def test_an_entity_without_quotas_is_gone() -> None:
    table = QuotaTable()
    table.plan(record_of(USER, {"k": 1}))
    table.plan(record_of(USER, {}))
    assert table.values == {}


def test_a_record_that_is_lost_takes_its_quotas_with_it() -> None:
    table = QuotaTable()
    table.plan(record_of(USER, {"k": 1}))
    _, undo = table.plan(record_of(USER, {"k": 2}))
    seen = table.changes
    undo()
    assert table.values == {USER: {"k": 1}}
    assert table.changes > seen, "what was derived from the lost record is derived again"
