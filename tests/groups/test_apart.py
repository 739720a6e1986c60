"""Tests of groups/apart.py: a wide record is encoded apart, and is that of its value at the end."""

from __future__ import annotations

from groups.apart import TRIES, Apart, encoded_apart
from groups.effects import EncodedRecord


class Wide:
    """Values one after the other, and how often each was encoded."""

    def __init__(self, *values: object) -> None:
        self.values = list(values)
        self.encoded: list[object] = []

    def find(self) -> object | None:
        return self.values[0]

    def encode(self, value: object) -> EncodedRecord:
        self.encoded.append(value)
        return b"k", repr(value).encode()

    def run(self, *, in_thread: bool = True) -> EncodedRecord | None:
        steps = encoded_apart(self.find, self.encode)
        while True:
            try:
                apart = next(steps)
            except StopIteration as end:
                found: EncodedRecord | None = end.value
                return found
            assert isinstance(apart, Apart)
            assert apart == []
            if in_thread:
                apart.encode()
            if len(self.values) > 1:
                self.values.pop(0)


def test_a_record_is_encoded_once_whether_there_is_a_thread_or_not() -> None:
    for in_thread in (True, False):
        wide = Wide("a")
        assert wide.run(in_thread=in_thread) == (b"k", b"'a'")
        assert wide.encoded == ["a"]


def test_a_value_that_was_replaced_meanwhile_is_encoded_again() -> None:
    assert Wide("a", "b").run() == (b"k", b"'b'")


def test_a_value_that_was_deleted_meanwhile_has_no_record() -> None:
    assert Wide("a", None).run() is None


def test_a_value_that_is_always_replaced_is_encoded_on_the_spot_at_last() -> None:
    wide = Wide(*range(1_000))
    assert wide.run() == (b"k", str(TRIES).encode())
    assert wide.encoded == list(range(TRIES + 1))
