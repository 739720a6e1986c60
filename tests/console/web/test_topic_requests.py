"""Topics created, deleted and emptied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from console.errors import CommandError
from console.positions import LATEST, Position, PositionKind
from console.record_deletion import Cut
from console.web.topic_requests import THE_BROKERS, create, cuts_before, delete
from tests.broker.kit import batch, send
from tests.console.web.kit import ADDRESS, Web


def done(web: Web, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    async def main() -> Any:
        return await web.console._everyone.run(function, ADDRESS, *args, **options)

    return trio.run(main)


def test_a_dry_run_creates_nothing() -> None:
    web = Web()
    done(web, create, "t", THE_BROKERS, {}, dry_run=True)
    with pytest.raises(CommandError, match="topic 't': "):
        done(web, delete, "t")
    done(web, create, "t", THE_BROKERS, {}, dry_run=False)
    with pytest.raises(CommandError, match="topic 't': "):
        done(web, create, "t", THE_BROKERS, {}, dry_run=True)
    done(web, delete, "t")


def test_cuts_lie_between_start_and_end() -> None:
    web = Web()
    done(web, create, "t", 2, {}, dry_run=False)
    send(web.broker.client(), "t", batch(b"a", b"b", b"c"), 1)
    assert done(web, cuts_before, "t", LATEST) == [Cut(0, 0, 0), Cut(1, 0, 3)]
    assert done(web, cuts_before, "t", Position(PositionKind.OFFSET, 2)) == [Cut(0, 0, 0), Cut(1, 0, 2)]
