"""The separate log of each broker."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from broker.server.testing import lines


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    lines.set_up()
    yield logging.getLogger("kawal.testing.example")
    root.handlers[:], level = before
    root.setLevel(level)


def test_a_line_goes_to_the_broker_that_is_at_work(logger: logging.Logger) -> None:
    kept = lines.new_log()
    token = lines.SPEAKER.set(kept)
    logger.warning("hello %s", "you")
    lines.SPEAKER.reset(token)
    assert [line.partition(" ")[2] for line in kept] == ["WARNING kawal.testing.example: hello you"]


def test_what_no_broker_says_goes_to_standard_error(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    lines.set_up()
    logger.warning("the host itself")
    assert "the host itself" in capsys.readouterr().err


def test_old_lines_make_room_for_new_ones() -> None:
    kept = lines.new_log()
    kept.extend(str(number) for number in range(lines.LINES_MAX + 5))
    assert kept[0] == "5"
