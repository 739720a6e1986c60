"""Searches on their way to another process, and what comes back."""

from __future__ import annotations

import pickle

import pytest

from console.errors import CommandError, Refused, UsageError
from console.link import LinkLost
from console.login import LoginRefused
from console.outgoing import NotAllowed
from console.web.errors import PageError
from console.web.search_job import Outcome, SearchFailed, packed, result_of, unpacked
from console.wire import NotKawal


@pytest.mark.parametrize("kind", [CommandError, UsageError, LinkLost, NotAllowed, LoginRefused, NotKawal])
def test_an_error_comes_back_as_what_it_was(kind: type[CommandError]) -> None:
    with pytest.raises(CommandError, match=r"^the broker is away$") as caught:
        result_of(unpacked(packed(Outcome(error=kind("the broker is away")))))
    assert type(caught.value) is kind


def test_the_status_of_a_page_and_the_code_of_a_refusal_come_along() -> None:
    page = unpacked(packed(Outcome(error=PageError(403, "masked")))).error
    assert (page.status, str(page)) == (403, "masked")
    refused = unpacked(packed(Outcome(error=Refused(29, "not authorised")))).error
    assert (refused.code, str(refused)) == (29, "not authorised")


class Unsendable(CommandError):
    """An error that pickle cannot make again."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


def test_an_error_that_cannot_be_sent_keeps_its_sentence() -> None:
    with pytest.raises(CommandError, match=r"^a and b$"):
        result_of(unpacked(packed(Outcome(error=Unsendable("a", "b")))))


def test_an_error_of_ours_comes_back_as_its_traceback() -> None:
    with pytest.raises(SearchFailed, match="line 7"):
        result_of(pickle.loads(pickle.dumps(Outcome(traceback="line 7"))))


def test_a_result_is_the_result() -> None:
    assert result_of(unpacked(packed(Outcome([1, 2])))) == [1, 2]
