"""One line per event, which no client can forge, as text or JSON; repeated events do not flood the log."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from broker.server.logs import (
    BURST,
    KINDS_MAX,
    TEXT_LENGTH_MAX,
    WINDOW_SECONDS,
    EventFormatter,
    HumanFormatter,
    JsonFormatter,
    Repeats,
    escaped,
    log_with_stack,
    set_up,
)

AT = 1_700_000_000.25


def event(text: str, *arguments: object, created: float = AT, **fields: Any) -> logging.LogRecord:
    record = logging.LogRecord("kawal.test", logging.INFO, "", 0, text, arguments, None)
    vars(record).update(fields)
    record.created, record.msecs = created, created % 1 * 1000
    return record


def line(text: str, *arguments: object, **fields: Any) -> str:
    return HumanFormatter().format(event(text, *arguments, **fields))


def tree(text: str, *arguments: object, **fields: Any) -> dict[str, Any]:
    formatted = JsonFormatter().format(event(text, *arguments, **fields))
    assert "\n" not in formatted
    found: dict[str, Any] = json.loads(formatted)
    return found


def test_a_line_has_time_level_logger_message_and_fields() -> None:
    assert line("%d came from %s", 3, "there", connection=7) == (
        "2023-11-14T22:13:20.250Z INFO kawal.test: 3 came from there connection=7"
    )


def test_json_has_the_same() -> None:
    assert tree("%d came", 3, connection=7) == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "INFO",
        "logger": "kawal.test",
        "message": "3 came",
        "connection": 7,
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Zürich \N{SNOWMAN}", "Zürich \N{SNOWMAN}"),
        ("a\nINFO kawal: all is well", r"a\nINFO kawal: all is well"),
        ("\x1b[2J\r\t\0", r"\x1b[2J\r\t\x00"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}\N{LINE SEPARATOR}", r"\u202e\u2028"),
        ("\udcff", r"\udcff"),
    ],
)
def test_what_cannot_be_printed_is_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown
    assert line("client %s", text).endswith(f"client {shown}")
    assert tree("client %s", text)["message"] == f"client {text}"


def test_long_texts_of_clients_are_cut() -> None:
    shown = line("topic %s", "x" * 10_000)
    assert len(shown) < TEXT_LENGTH_MAX + 100
    assert shown.endswith("(10000 characters)")
    assert len(line("failed: %s", ValueError("y" * 10_000))) < TEXT_LENGTH_MAX + 100
    assert len(line("odd", client="z" * 10_000)) < TEXT_LENGTH_MAX + 100


def test_arguments_by_name_work_too() -> None:
    assert line("%(what)s is %(count)d", {"what": "it", "count": 3}).endswith("it is 3")


def test_a_message_without_arguments_may_hold_percents() -> None:
    assert line("100 % done").endswith("100 % done")


def failure() -> Any:
    try:
        raise ValueError("odd\nvalue")
    except ValueError as error:
        return type(error), error, error.__traceback__


def test_a_traceback_stays_on_the_line() -> None:
    shown = line("failed", exc_info=failure())
    assert "\n" not in shown
    assert r"Traceback (most recent call last):\n" in shown
    assert tree("failed", exc_info=failure())["traceback"].endswith("ValueError: odd\nvalue")


def test_events_of_one_kind_are_logged_a_few_times_and_then_counted() -> None:
    repeats = Repeats()
    passed = [repeats.filter(event("from %s", host, created=AT)) for host in range(BURST + 5)]
    assert passed == [True] * BURST + [False] * 5
    assert repeats.filter(event("something else"))
    later = event("from %s", "there", created=AT + WINDOW_SECONDS)
    assert repeats.filter(later)
    assert EventFormatter().text(later) == "from there (5 more like it were left out)"


def test_kinds_are_not_remembered_for_ever() -> None:
    repeats = Repeats()
    for number in range(3 * KINDS_MAX):
        assert repeats.filter(event(f"put together {number}"))
    assert len(repeats._kinds) <= KINDS_MAX


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """Yield the root logger, and restore it afterwards."""
    logger = logging.getLogger()
    before = logger.handlers[:], logger.level
    yield logger
    logger.handlers[:], level = before
    logger.setLevel(level)


@pytest.mark.parametrize(("json_lines", "begin"), [(True, "{"), (False, "20")])
def test_setting_up_chooses_form_and_level(root: logging.Logger, json_lines: bool, begin: str) -> None:
    stream = io.StringIO()
    set_up(json_lines=json_lines, level="warning", stream=stream)
    logging.getLogger("kawal.test").info("quiet")
    logging.getLogger("kawal.test").warning("loud")
    (shown,) = stream.getvalue().splitlines()
    assert shown.startswith(begin)
    assert "loud" in shown


def test_a_stack_is_not_cut_and_stands_at_the_end_of_the_line(caplog: pytest.LogCaptureFixture) -> None:
    stack = " > ".join(f"file.py:{number} f" for number in range(100))
    log_with_stack(logging.getLogger("kawal.test"), logging.WARNING, "100% slow", stack, turn_ms=7)
    (record,) = caplog.records
    assert HumanFormatter().format(record).endswith(f"kawal.test: 100% slow turn_ms=7 stack={stack}")
    assert json.loads(JsonFormatter().format(record))["stack"] == stack


def test_a_stack_below_the_level_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    log_with_stack(logging.getLogger("kawal.test"), logging.DEBUG, "quiet", "f")
    assert caplog.records == []
