"""Nodes that have not told their part: named on standard error, and the exit code tells."""

from __future__ import annotations

import pytest

from console.errors import FAILED, OK, CommandError
from console.silence import check_whole, missing, told_of


@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        ([], ""),
        ([2], "node 2 has not answered: what it knows is missing"),
        ([3, 2, 3], "nodes 2 and 3 have not answered: what they know is missing"),
        ([4, 3, 2], "nodes 2, 3 and 4 have not answered: what they know is missing"),
    ],
)
def test_silent_nodes_are_named_once(nodes: list[int], sentence: str) -> None:
    assert missing(nodes) == sentence


def test_the_sentence_is_on_standard_error_and_the_command_has_failed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (told_of([]), told_of([2])) == (OK, FAILED)
    assert capsys.readouterr() == ("", "node 2 has not answered: what it knows is missing\n")


def test_a_part_is_not_taken_for_all() -> None:
    check_whole([])
    with pytest.raises(CommandError, match="node 2 has not answered"):
        check_whole([2])
