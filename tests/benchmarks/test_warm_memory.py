"""Memory is touched before a measurement, and given back."""

from benchmarks.warm_memory import CHUNK_BYTES, warm


def test_no_more_is_touched_than_asked() -> None:
    assert warm(0) == 0
    assert warm(CHUNK_BYTES + 1) == CHUNK_BYTES
