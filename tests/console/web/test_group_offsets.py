"""Offsets of a group, moved and forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from console.errors import CommandError
from console.group_reset import Move
from console.web import group_offsets
from console.web.group_offsets import members_problem, moves_to, state_of
from tests.broker.groups import commit, committed
from tests.broker.kit import batch, create, send
from tests.console.web.kit import ADDRESS, Web


def done(web: Web, function: Callable[..., Any], *args: Any) -> Any:
    async def main() -> Any:
        return await web.console._everyone.run(function, ADDRESS, *args)

    return trio.run(main)


@pytest.fixture
def web() -> Web:
    found = Web()
    create(found.broker.client(), "t", partitions=2)
    send(found.broker.client(), "t", batch(b"a", b"b", b"c"), 1)
    commit(found.broker.client(), "g", ("t", 1, 9))
    return found


def test_moves_stay_within_what_a_partition_holds(web: Web) -> None:
    assert done(web, moves_to, "g", "100", []) == [Move("t", 1, 9, 3)]
    assert done(web, moves_to, "g", "100", ["t"]) == [Move("t", 0, None, 0), Move("t", 1, 9, 3)]


def test_a_group_that_is_not_there_is_dead_and_one_without_members_can_be_changed(web: Web) -> None:
    assert (done(web, state_of, "x"), done(web, state_of, "g")) == ("Dead", "Empty")
    assert members_problem("g", "Empty") == members_problem("g", "Dead") == ""
    assert "is Stable" in members_problem("g", "Stable")


def test_offsets_of_several_topics_are_one_request(web: Web) -> None:
    create(web.broker.client(), "u")
    web.sent.clear()
    done(web, group_offsets.commit, "g", [Move("t", 0, None, 0), Move("t", 1, 9, 2), Move("u", 0, None, 0)])
    assert committed(web.broker.client(), "g") == {("t", 0): 0, ("t", 1): 2, ("u", 0): 0}
    assert len(web.sent) == 2


def test_a_group_that_is_not_there_cannot_be_deleted(web: Web) -> None:
    with pytest.raises(CommandError, match="group 'x': "):
        done(web, group_offsets.delete, "x")
