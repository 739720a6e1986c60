"""docs/compatibility.clients.json: every client has an outcome for every operation, with its reasons."""

from __future__ import annotations

import json

from compat_tests.clients.matrix import MATRIX, OPERATIONS, read_matrix
from compat_tests.clients.registry import COMMANDS


def test_every_cell_is_filled() -> None:
    matrix = read_matrix()
    assert list(matrix) == list(COMMANDS)
    rows = {client: tuple(column["operations"]) for client, column in matrix.items()}
    assert rows == dict.fromkeys(matrix, OPERATIONS)


def test_a_gap_has_its_reason() -> None:
    outcomes = [outcome for column in read_matrix().values() for outcome in column["operations"].values()]
    assert all(outcome == "ok" or len(outcome.removeprefix("cannot: ")) > 20 for outcome in outcomes)
    assert all(outcome == "ok" or outcome.startswith("cannot: ") for outcome in outcomes)


def test_the_file_is_as_it_is_written() -> None:
    assert MATRIX.read_text() == json.dumps(read_matrix(), indent=1) + "\n"
