"""Tests of broker/catalogue/view_drafts.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from broker.catalogue.topics import Topic
from broker.catalogue.view_drafts import LONG_STATEMENT_CHARS, Draft, Layout, layout_of, prepared
from broker.errors import RequestError
from broker.loop.slices import Until, run_here
from protocol.error_codes import ErrorCode
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from views import plan, statement
from views.errors import ViewError

LONG = "SELECT a FROM t WHERE " + " OR ".join(f"a = {number}" for number in range(80))
INTEGERS, TEXTS = Layout("a int", False), Layout("a string", False)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return what was done how often."""
    counts: Counter[str] = Counter()

    def counted(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def count(*arguments: Any, **named: Any) -> Any:
            counts[name] += 1
            return work(*arguments, **named)

        return count

    monkeypatch.setattr(statement, "parse_view", counted("read", statement.parse_view))
    monkeypatch.setattr(plan, "plan_view", counted("planned", plan.plan_view))
    return counts


@pytest.fixture
def source() -> Topic:
    gateway = Gateway()
    create(gateway.client(), "t", kawal_columns="a int", kawal_value_format="json")
    return gateway.broker.find_topic("t")


def threads_of(draft: Draft, source_of: Callable[[Any], Topic | None]) -> int:
    """Prepare a draft, and return how many times a thread worked on it."""
    steps = prepared(draft, source_of, run_here)
    count = 0
    for waits in steps:
        assert isinstance(waits, Until)
        waits.start(lambda: None)
        count += 1
    return count


def test_a_statement_is_read_and_planned_once(done: Counter[str]) -> None:
    draft = Draft(LONG, "v")
    assert draft.statement() is draft.statement()
    assert draft.plan(INTEGERS) is draft.plan(INTEGERS)
    assert done == {"read": 1, "planned": 1}


def test_columns_that_have_changed_get_another_plan(done: Counter[str]) -> None:
    draft = Draft("SELECT a FROM t", "v")
    assert [str(draft.plan(layout).uses[0].type) for layout in (INTEGERS, TEXTS)] == ["int", "string"]
    assert done["planned"] == 2
    assert draft.plan(Layout("a string", True)).framed


@pytest.mark.parametrize("text", ["SELECT FROM t", "SELECT b FROM t"])
def test_what_is_wrong_is_found_out_once_and_told_as_often_as_it_is_asked_for(
    text: str, done: Counter[str]
) -> None:
    draft = Draft(text, "v")
    for _ in range(3):
        with pytest.raises(ViewError):
            draft.plan(INTEGERS)
    assert done["read"] == 1
    assert done["planned"] <= 1


def test_threads_read_and_plan_a_long_statement(done: Counter[str], source: Topic) -> None:
    draft = Draft(LONG, "v")
    assert threads_of(draft, lambda _: source) == 2
    draft.plan(layout_of(source))
    assert done == {"read": 1, "planned": 1}


def test_a_short_statement_is_left_to_those_that_need_it(done: Counter[str], source: Topic) -> None:
    assert threads_of(Draft("SELECT a FROM t", "v"), lambda _: source) == 0
    assert not done


def test_a_statement_over_no_topic_is_only_read(done: Counter[str]) -> None:
    assert threads_of(Draft(LONG, "v"), lambda _: None) == 1
    assert done == {"read": 1}


def test_what_is_wrong_with_a_long_statement_is_not_told_before_the_view_is_made(source: Topic) -> None:
    def missing(_: Any) -> Topic:
        raise RequestError(ErrorCode.INVALID_CONFIG, "there is no such topic")

    assert threads_of(Draft(LONG, "v"), missing) == 1
    assert threads_of(Draft("SELECT FROM t" + " " * LONG_STATEMENT_CHARS, "v"), lambda _: source) == 1
    assert threads_of(Draft("SELECT b FROM t" + " " * LONG_STATEMENT_CHARS, "v"), lambda _: source) == 2
