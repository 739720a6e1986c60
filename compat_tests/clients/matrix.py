"""The matrix client x operation in docs/compatibility.clients.json: what the tests saw, and nothing else.

A test marked `operation("…")` is one row; its `client` parameter is the column. A test that passes is "ok";
one in which the program says that its client has no such thing is "cannot: why". Without an option the
outcome must be the one in the file; `--write-client-matrix` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest

from compat_tests.clients.program import ROOT, CannotError
from compat_tests.clients.registry import COMMANDS

MATRIX = ROOT / "docs" / "compatibility.clients.json"
OPTION = "--write-client-matrix"

OPERATIONS = (
    "create a topic",
    "produce uncompressed",
    "produce with gzip",
    "produce with snappy",
    "produce with lz4",
    "produce with zstd",
    "produce with acks=0",
    "produce with acks=1",
    "produce idempotently",
    "produce a record of 900 KB",
    "produce over two restarts",
    "consume by assignment",
    "consume from an offset",
    "consume from a timestamp",
    "consume every codec",
    "consume in a group",
    "consume over a restart",
    "consume in a group over a restart",
    "list offsets",
    "describe a config",
    "alter a config",
    "delete records",
    "delete a topic",
    "commit and abort transactions",
    "be fenced in a transaction",
    "outlive a transaction's timeout",
    "copy in transactions",
)
"""The rows, in the order shown."""

Matrix = dict[str, Any]


def read_matrix() -> Matrix:
    """Return what the file has: client -> {"version": …, "operations": {operation: outcome}}."""
    matrix: Matrix = json.loads(MATRIX.read_text()) if MATRIX.exists() else {}
    return matrix


class MatrixPlugin:
    """A plugin that compares the outcome of each marked test with the matrix, or collects and writes it."""

    def __init__(self, *, write: bool) -> None:
        """Create the plugin; with `write` it writes the outcomes when the session ends."""
        self._write = write
        self._matrix = read_matrix()
        self._seen: Matrix = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Judge one test that is a cell of the matrix."""
        mark = pyfuncitem.get_closest_marker("operation")
        if mark is None:
            return (yield)
        params = pyfuncitem.callspec.params
        operation, client = mark.args[0].format(**params), str(params["client"])
        assert operation in OPERATIONS, f"{operation!r} is not a row of the matrix"
        try:
            yield
            outcome = "ok"
        except CannotError as refused:
            outcome = f"cannot: {refused}"
        self.saw(client, operation, outcome)
        return True

    def saw(self, client: str, operation: str, outcome: str) -> None:
        """Take an outcome: keep it for writing, or compare it with what the file has."""
        if self._write:
            self._seen.setdefault(client, {})[operation] = outcome
            return
        known = self._matrix.get(client, {}).get("operations", {}).get(operation)
        assert outcome == known, (
            f"{client}, {operation}: {outcome!r}, but {MATRIX.name} says {known!r}; if that is now right, "
            f"run pytest with {OPTION}"
        )

    def pytest_sessionfinish(self) -> None:
        """Write the matrix: rows and columns in order, those not seen in this session as they were."""
        if not self._seen:
            return
        merged = self._merged()
        MATRIX.write_text(json.dumps(merged, indent=1) + "\n")
        if all(tuple(column["operations"]) == OPERATIONS for column in merged.values()):
            # Not needed, and slow, when nothing is written.
            from compat_tests import compatibility

            compatibility.main()

    def saw_version(self, client: str, version: str, *, pinned: bool) -> None:
        """Take the version that a program says it has: keep it, or compare it with what the file has."""
        if self._write:
            self._seen.setdefault(client, {})["version"] = version
            return
        known = self._matrix.get(client, {}).get("version")
        assert version == known or (known and not pinned), (
            f"{client} is {version!r}, but {MATRIX.name} says {known!r}; run pytest with {OPTION}"
        )

    def _merged(self) -> Matrix:
        merged: Matrix = {}
        for client in COMMANDS:
            old = self._matrix.get(client, {"version": "", "operations": {}})
            seen = self._seen.get(client, {})
            outcomes = {**old["operations"], **seen}
            merged[client] = {
                "version": seen.get("version", old["version"]),
                "operations": {row: outcomes[row] for row in OPERATIONS if row in outcomes},
            }
        return merged
