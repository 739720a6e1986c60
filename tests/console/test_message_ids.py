"""Ids of messages, read and written."""

from __future__ import annotations

import pytest

from console.errors import UsageError
from console.message_ids import id_text, parsed
from protocol.messages.kawal_messages import LocatedMessage, MessageId, MessageOffset


def test_two_numbers_are_a_place_and_four_an_id() -> None:
    assert parsed("0:4711") == MessageOffset(partition=0, offset=4711)
    assert parsed("3:120:-1:-1") == MessageId(ledger=3, entry=120, partition=-1, batch_index=-1)


@pytest.mark.parametrize("text", ["", "1", "1:2:3", "\u0661:\u0662", "0:-1", "0:0:-2:0", "0:" + "9" * 30])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is neither"):
        parsed(text)


def test_an_id_is_written_as_it_is_read() -> None:
    text = id_text(LocatedMessage(ledger=3, entry=120, partition=0, batch_index=-1))
    assert text == "3:120:0:-1"
    assert isinstance(parsed(text), MessageId)
