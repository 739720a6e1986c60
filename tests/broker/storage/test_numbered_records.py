"""Names and numbers in headers: runs that ascend, and everything else a repetition or an error."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker.storage.numbered_records import Numbering
from tests.broker.numbered import headers

ROWS = st.lists(st.tuples(st.sampled_from([b"a", b"b"]), st.integers(0, 9)))


@given(ROWS, st.integers(-1, 9), st.integers(-1, 9))
def test_what_is_left_after_the_stored_numbers_is_what_a_look_at_each_record_leaves(
    rows: list[tuple[bytes, int]], last_of_a: int, last_of_b: int
) -> None:
    numbering = Numbering()
    for index, (name, seqno) in enumerate(rows):
        numbering.add(index, headers(name, seqno))
    numbered = numbering.result()
    stored = {b"a": last_of_a, b"b": last_of_b}
    dropped = set(numbered.repeated)
    for name, run in numbered.runs.items():
        dropped.update(run.repeated(stored[name]))
    expected = set()
    for index, (name, seqno) in enumerate(rows):
        if seqno <= stored[name]:
            expected.add(index)
        else:
            stored[name] = seqno
    assert dropped == expected
    assert numbered.errors == ()


def test_records_with_wrong_headers_are_in_no_run() -> None:
    numbering = Numbering()
    numbering.add(0, ())
    numbering.add(1, headers(b"a", -1))
    numbering.add(2, headers(b"a", 1))
    numbered = numbering.result()
    assert [index for index, _ in numbered.errors] == [0, 1]
    assert numbered.runs[b"a"].indexes == [2]
