"""Levels of loggers in Kafka's words, on Python's loggers."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from broker.config.loggers import Loggers, check_change
from broker.errors import RequestError

NAME = "kawal.test-of-loggers"


@pytest.fixture
def loggers() -> Iterator[Loggers]:
    root_level = logging.getLogger().level
    logging.getLogger(NAME)
    yield Loggers()
    logging.getLogger().setLevel(root_level)
    logging.getLogger(NAME).setLevel(logging.NOTSET)


def test_own_loggers_and_the_root_are_listed(loggers: Loggers) -> None:
    logging.getLogger("another.library")
    levels = loggers.levels()
    assert {"root", NAME} <= levels.keys()
    assert "another.library" not in levels


@pytest.mark.parametrize("level", ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"])
def test_a_level_is_told_as_it_was_set(loggers: Loggers, level: str) -> None:
    check_change(loggers, NAME, level)
    loggers.set_level(NAME, level)
    assert loggers.levels()[NAME] == level


def test_a_level_taken_away_is_the_roots(loggers: Loggers) -> None:
    loggers.set_level("root", "ERROR")
    loggers.set_level(NAME, "DEBUG")
    check_change(loggers, NAME, None)
    loggers.set_level(NAME, None)
    assert loggers.levels()[NAME] == "ERROR"
    assert not logging.getLogger(NAME).isEnabledFor(logging.WARNING)


@pytest.mark.parametrize(
    ("name", "level", "message"),
    [
        ("kawal.no-such", "INFO", "INVALID_CONFIG: Logger kawal.no-such does not exist!"),
        ("kawal.no-such", None, "INVALID_CONFIG: Logger kawal.no-such does not exist!"),
        ("root", None, "INVALID_REQUEST: Removing the log level of the root logger is not allowed"),
        (NAME, "debug", "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"),
        (NAME, "", "INVALID_CONFIG: Cannot set the log level"),
    ],
)
def test_what_cannot_be_set_is_refused_in_kafkas_words(
    loggers: Loggers, name: str, level: str | None, message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        check_change(loggers, name, level)
