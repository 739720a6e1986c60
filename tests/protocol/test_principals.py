"""Names of clients in settings: User:NAME, with semicolons between several."""

from __future__ import annotations

import pytest

from protocol.principals import principal_problem, principals_problem, split_principals


@pytest.mark.parametrize("principal", ["User:alice", "User:CN=a:b,O=c", "Group:x"])
def test_a_principal_has_a_type_and_a_name(principal: str) -> None:
    assert principal_problem(principal) is None


@pytest.mark.parametrize("principal", ["", "alice", ":alice", "User:"])
def test_what_lacks_either_is_refused_in_kafkas_words(principal: str) -> None:
    assert principal_problem(principal) == (
        f"expected a string in format principalType:principalName but got {principal}"
    )


def test_commas_are_part_of_a_name() -> None:
    assert split_principals(" User:CN=a,O=b ; User:c;;") == ("User:CN=a,O=b", "User:c")


def test_names_with_commas_between_them_are_told_what_is_between_names() -> None:
    for text in ("User:a,User:b", "User:CN=a,O=b, User:c"):
        assert "separated by semicolons" in (principals_problem(text) or "")


def test_one_wrong_name_makes_the_list_wrong() -> None:
    assert principals_problem("User:a;bob") is not None
    assert principals_problem("") is None
    assert principals_problem("User:a;User:b") is None
