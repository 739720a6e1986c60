"""The named producers in a checkpoint."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wal.named_producers import STATE, NamedSnapshot
from wal.named_snapshot import decode, encode

STATES = st.binary(min_size=STATE.size, max_size=STATE.size)
SCOPES = st.dictionaries(
    st.integers(0, 2**64 - 1), st.dictionaries(st.binary(max_size=40), STATES, max_size=5), max_size=3
)


@given(SCOPES)
def test_a_snapshot_comes_back_as_it_was(scopes: dict[int, dict[bytes, bytes]]) -> None:
    named = any(scopes.values())
    snapshot = NamedSnapshot({scope: [states, {}] for scope, states in scopes.items()})
    expected = {scope: [states] for scope, states in scopes.items()}
    assert decode(encode(snapshot)) == NamedSnapshot(expected if named else {})


def test_the_order_of_names_is_kept_as_it_says_which_was_idle_longest() -> None:
    states = {name: bytes(STATE.size) for name in (b"c", b"a", b"b")}
    parts = [{name: state} for name, state in states.items()]
    assert list(decode(encode(NamedSnapshot({1: parts}))).scopes[1][0]) == [b"c", b"a", b"b"]


def test_no_names_take_no_bytes() -> None:
    assert encode(NamedSnapshot({})) == b""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data[:10], "10 bytes, less than"),
        (lambda data: data[:-1], "bytes, not"),
        (lambda data: b"\x09" + data[1:], "format 9"),
        (lambda data: data[:28] + b"\x02" + data[29:], "counts 1 names"),
    ],
    ids=["cut in its counts", "cut", "another format", "another count"],
)
def test_bytes_that_are_no_snapshot_are_refused(change: object, said: str) -> None:
    data = encode(NamedSnapshot({1: [{b"name": bytes(STATE.size)}]}))
    with pytest.raises(ValueError, match=said):
        decode(change(data))  # type: ignore[operator]
