"""The exit codes of all ways in which a job may stop, and the table of them at the top of the module."""

from __future__ import annotations

import inspect
import re

import pytest

from pipeline import errors
from pipeline.errors import (
    ALREADY_RUNNING,
    DONE,
    FAILED,
    STOPPED_BY_BAD_ROWS,
    UNUSABLE,
    BadRowsError,
    JobFileError,
    JobRunningError,
    LedgerError,
    PipelineError,
    SetupError,
    SourceError,
)


def kinds() -> dict[str, type[PipelineError]]:
    return {
        name: kind
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, PipelineError)
    }


@pytest.mark.parametrize(
    ("kind", "exit_code"),
    [
        (PipelineError, FAILED),
        (JobFileError, UNUSABLE),
        (SetupError, FAILED),
        (SourceError, FAILED),
        (LedgerError, FAILED),
        (BadRowsError, STOPPED_BY_BAD_ROWS),
        (JobRunningError, ALREADY_RUNNING),
    ],
)
def test_what_stops_a_job_has_its_exit_code(kind: type[PipelineError], exit_code: int) -> None:
    assert kind("why").exit_code == exit_code
    assert str(kind("why")) == "why"


def test_scripts_can_tell_the_exit_codes_apart() -> None:
    codes = (DONE, FAILED, UNUSABLE, STOPPED_BY_BAD_ROWS, ALREADY_RUNNING)

    assert codes == (0, 1, 2, 3, 4)
    assert DONE not in {kind.exit_code for kind in kinds().values()}


def test_the_table_at_the_top_names_every_error_with_its_exit_code() -> None:
    rows = re.findall(r"^\W*(\w+Error) +(\d)  ", errors.__doc__ or "", flags=re.MULTILINE)

    assert {name: int(code) for name, code in rows} == {
        name: kind.exit_code for name, kind in kinds().items()
    }
