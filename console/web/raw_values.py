"""The newest values of a topic, whole but masked, for what looks at many of them at once."""

from __future__ import annotations

from collections.abc import Iterator

from console.fetcher import Fetcher
from console.web.masks import TopicMask
from console.web.ranges import Range
from console.web.record_rows import POLL_MS, Budget


def last_values(bootstrap: str, span: Range, count: int, mask: TopicMask) -> Iterator[bytes | None]:
    """Yield some of the last values of a range, within the bounds of a page.  Raises: CommandError."""
    each = max(1, count // max(1, len(span.ends)))
    begins = {place: max(span.starts[place], end - each) for place, end in span.ends.items()}
    fetcher, budget, left = Fetcher(bootstrap, begins, ends=span.ends), Budget(), count
    try:
        while left > 0 and not budget.spent:
            if all(fetcher.position(place) >= end for place, end in span.ends.items()):
                return
            for place, records in fetcher.poll(POLL_MS).items():
                budget.take(records)
                for record in records:
                    if left > 0 and record.offset < span.ends[place]:
                        left -= 1
                        yield mask.record(record).value
    finally:
        fetcher.close()
