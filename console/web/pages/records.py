"""`/topics/T/records`: records, or a search over them, and one record for ever under its link.

from, until, p, order, at    the range (console/web/ranges.py)
where                        the condition of a view; with it the page is a search
cols                         members of JSON values that are columns of the table, such as carrier, delay
"""

from __future__ import annotations

import re
from typing import Final

from console.positions import Extent
from console.web.errors import PageError
from console.web.fields import path_to
from console.web.kept_bars import KeptBars, TimeBar
from console.web.looks import Look
from console.web.masks import Masks, TopicMask
from console.web.message_ids import id_at
from console.web.pages.searching import search_view
from console.web.pages.topic import TOPICS
from console.web.ranges import Asked, Range, asked_of, positions_text, range_of
from console.web.record_rows import Budget, Found, Place, newest, oldest, whole_record
from console.web.record_table import alias_link, bar_links, bars_of, look_of, rows_of
from console.web.sources import Source, source_of
from console.web.topic_facts import partition_extents
from console.web.values import value_text
from console.web.visit import ROWS_MAX, Answer, Crumb, Download, Rows, View, Visit, get
from protocol.record_reader import Record

MASKED: Final = "this is masked in this console"


async def records(visit: Visit) -> Answer:
    """Show records, 200 on a page, the newest first unless a place to begin is named."""
    asked = asked_of(visit)
    source = await visit.kafka.run(source_of, visit.kafka.bootstrap, asked.topic, visit.settings.masks)
    if visit.query.one("where").strip():
        return await search_view(visit, asked, source)
    look = look_of(visit, source)
    found, span, bars = await visit.kafka.run(find_records, visit.kafka.bootstrap, asked, look, visit.bars)
    return View(
        title=f"Records of {asked.topic}",
        template="records.html",
        context={
            "topic": asked.topic,
            "source": source,
            "look": look,
            "found": found,
            "asked": asked,
            "where": "",
            "cols": visit.query.one("cols"),
            "left_out": span.left_out,
            "bars": bar_links(visit, bars),
            "alias": alias_link(path_to("topics", asked.topic, "alias"), bars),
            "further": visit.here(at=positions_text(found.next)) if found.more else "",
        },
        rows=rows_of(found.rows, look.columns),
        crumbs=(TOPICS, Crumb(asked.topic, path_to("topics", asked.topic))),
    )


def find_records(
    bootstrap: str, asked: Asked, look: Look, kept: KeptBars
) -> tuple[Found, Range, list[TimeBar]]:
    """Return the records, where they were looked for, and a histogram on the first page.

    Raises: CommandError, PageError.
    """
    span = range_of(bootstrap, asked)
    if asked.order == "newest":
        found = newest(bootstrap, span.starts, span.at, ROWS_MAX, Budget(), look)
    else:
        found = oldest(bootstrap, span.at, span.ends, ROWS_MAX, Budget(), look)
    return found, span, [] if asked.at else bars_of(span, kept)


async def record(visit: Visit) -> Answer:
    """Show one record, whole up to 256 KiB of its value."""
    topic, place, offset = _named(visit)
    source, extent, found = await visit.kafka.run(
        find_record, visit.kafka.bootstrap, place, offset, visit.settings.masks
    )
    crumbs = (
        TOPICS,
        Crumb(topic, path_to("topics", topic)),
        Crumb("Records", path_to("topics", topic, "records")),
    )
    context = {"topic": topic, "place": place, "offset": offset, "extent": extent, "found": found}
    if found is None or found.offset != offset:
        return View(
            title="No such record", template="no_record.html", context=context, crumbs=crumbs, status=404
        )
    message_id = ""
    if source.has_ids:
        message_id = await visit.kafka.run(id_at, visit.kafka.bootstrap, place, offset)
    headers = [(name, value_text(value)) for name, value in found.headers]
    return View(
        title=f"{place.partition}:{offset}",
        template="record.html",
        context={
            **context,
            "source": source,
            "message_id": message_id,
            "key": value_text(found.key),
            "value": value_text(found.value),
            "headers": headers,
        },
        rows=Rows(
            ("topic", "partition", "offset", "timestamp_ms", "key", "value", "headers"),
            [(topic, place.partition, offset, found.timestamp_ms, found.key, found.value, found.headers)],
        ),
        crumbs=crumbs,
    )


async def part(visit: Visit) -> Answer:
    """Give a record's key or value as a file."""
    topic, place, offset = _named(visit)
    which = visit.names["part"]
    if which not in ("key", "value"):
        raise PageError(404, "a record has a key and a value")
    source, _, found = await visit.kafka.run(
        find_record, visit.kafka.bootstrap, place, offset, visit.settings.masks
    )
    if hides_part(source.mask, which):
        raise PageError(403, MASKED)
    if found is None or found.offset != offset:
        raise PageError(404, f"partition {place.partition} of {topic!r} has no record {offset}")
    data = found.key if which == "key" else found.value
    if data is None:
        raise PageError(404, f"the {which} of this record is null")
    return Download(bytes(data), f"{topic}-{place.partition}-{offset}.{which}")


def hides_part(mask: TopicMask, which: str) -> bool:
    """Whether a key or value is masked as a whole, or in a part of it."""
    return mask.key if which == "key" else mask.value or bool(mask.columns)


def find_record(
    bootstrap: str, place: Place, offset: int, masks: Masks
) -> tuple[Source, Extent, Record | None]:
    """Return a record, or the next one after it, as far as it is not masked, and what its partition holds.

    Raises: CommandError, PageError.
    """
    extents = partition_extents(bootstrap, place.topic)
    if place.partition not in extents:
        raise PageError(404, f"topic {place.topic!r} has no partition {place.partition} with a leader")
    source, extent = source_of(bootstrap, place.topic, masks), extents[place.partition]
    if not extent.start <= offset < extent.end:
        return source, extent, None
    return source, extent, whole_record(bootstrap, place, offset, extent.end, Budget(), source.mask)


def _named(visit: Visit) -> tuple[str, Place, int]:
    topic, partition, offset = (visit.names[name] for name in ("topic", "partition", "offset"))
    if not re.fullmatch(r"[0-9]{1,9}", partition) or not re.fullmatch(r"[0-9]{1,18}", offset):
        raise PageError(404, "a record is named by the numbers of its partition and its offset")
    return topic, Place(topic, int(partition)), int(offset)


ROUTES = (
    get("/topics/{topic}/records", records),
    get("/topics/{topic}/records/{partition}/{offset}", record),
    get("/topics/{topic}/records/{partition}/{offset}/{part}", part),
)
