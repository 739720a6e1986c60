"""Tests of groups/errors.py."""

from __future__ import annotations

import pytest

from groups import errors
from groups.errors import GroupError, append_error
from protocol.error_codes import MESSAGE_CHARS_MAX, ErrorCode

CLASSES = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GroupError)]


def test_each_error_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in CLASSES if kind is not GroupError]
    assert len(set(codes)) == len(codes)
    assert ErrorCode.UNKNOWN_SERVER_ERROR not in codes


def test_the_tree_in_the_docstring_names_all_of_them() -> None:
    assert errors.__doc__ is not None
    for kind in CLASSES:
        assert kind.__name__ in errors.__doc__
        if kind is not GroupError:
            assert str(int(kind.code)) in errors.__doc__


def test_an_error_without_words_says_what_its_code_means() -> None:
    assert errors.UnknownMember().message == ErrorCode.UNKNOWN_MEMBER_ID.text
    assert errors.UnknownMember("m is unknown").message == "m is unknown"


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_failed_append_is_told_in_words_that_clients_understand(
    failure: ErrorCode, told: ErrorCode
) -> None:
    assert append_error(failure) == told


def test_a_sentence_with_a_very_long_group_in_it_is_cut() -> None:
    message = errors.GroupNotFound(f"Group {'g' * 32_767} not found.").message
    assert message.startswith("Group ggg")
    assert len(message) == MESSAGE_CHARS_MAX
