"""The exit codes, which are a contract."""

from console.errors import FAILED, INTERRUPTED, OK, USAGE, CommandError, UsageError


def test_the_codes_are_those_of_the_contract() -> None:
    assert (OK, FAILED, USAGE, INTERRUPTED) == (0, 1, 2, 130)
    assert (CommandError("x").exit_code, UsageError("x").exit_code) == (1, 2)
