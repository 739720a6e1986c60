"""The demo's query."""

from __future__ import annotations

from pipeline.demo.queries import COLUMNS, DERIVED, QUERY, VIEW
from pipeline.derivation import plan_of


def test_the_query_can_be_evaluated_over_flights_into_a_topic_of_its_own() -> None:
    assert plan_of(QUERY, COLUMNS).statement.source == "flights"
    assert len({VIEW, DERIVED, "flights"}) == 3
