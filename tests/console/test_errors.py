"""The exit codes, which are a contract."""

from console.errors import FAILED, INTERRUPTED, OK, USAGE, CommandError, Refused, UsageError


def test_the_codes_are_those_of_the_contract() -> None:
    assert (OK, FAILED, USAGE, INTERRUPTED) == (0, 1, 2, 130)
    assert (CommandError("x").exit_code, UsageError("x").exit_code) == (1, 2)


def test_a_refusal_has_the_servers_code() -> None:
    refused = Refused(3, "topic 'a': unknown")
    assert (refused.code, refused.exit_code, str(refused)) == (3, 1, "topic 'a': unknown")
