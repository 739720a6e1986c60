"""`/topics/T/produce?like=P:O`: records written by hand, shown as they will be sent, and sent.

The form leads to a preview, which carries the lines of JSON that `kawal produce --json` would take; what is
sent are those lines.
"""

from __future__ import annotations

import re
from typing import Final

from console.web.command_text import command
from console.web.errors import PageError
from console.web.fields import path_to
from console.web.masks import Masks
from console.web.pages.records import find_record
from console.web.pages.topic import TOPICS
from console.web.plan import Plan, plan_view
from console.web.produced import (
    FORMS,
    HEADERS_SPARE,
    Wrong,
    check_partitions,
    draft_of,
    line_of,
    read_lines,
    send,
)
from console.web.record_rows import Place
from console.web.sources import Source, source_of
from console.web.topic_facts import partition_extents
from console.web.visit import Answer, Crumb, Done, Route, View, Visit, change, get

COMMAND_CHARS_MAX: Final = 2_000
"""Longer lines are read from a file by the command that is shown."""
SHOWN_CHARS: Final = 200
WRONG_MAX: Final = 20
LARGE_BYTES: Final = 256 << 10


async def produce(visit: Visit) -> Answer:
    """Show the form, filled with the record of `like`."""
    topic, like = visit.names["topic"], visit.query.one("like").strip()
    draft, partition = draft_of(None), None
    source = await visit.kafka.run(_topic, visit.kafka.bootstrap, topic, visit.settings.masks)
    if like:
        found = re.fullmatch(r"([0-9]{1,9}):([0-9]{1,18})", like)
        if found is None:
            raise PageError(400, f"like is {like[:40]!r}; it must be a partition and an offset, as 0:1234")
        partition, offset = int(found[1]), int(found[2])
        source, _, record = await visit.kafka.run(
            find_record, visit.kafka.bootstrap, Place(topic, partition), offset, visit.settings.masks
        )
        if source.mask:
            raise PageError(403, f"records of {topic!r} are masked in this console, and cannot be copied")
        if record is None or record.offset != offset:
            raise PageError(404, f"partition {partition} of {topic!r} has no record {offset}")
        if len(record.value or b"") + len(record.key or b"") > LARGE_BYTES:
            raise PageError(400, "this record is too large for a form; send it by 'kawal produce'")
        draft = draft_of(record, partition)
    return View(
        title=f"Produce to {topic}",
        template="produce.html",
        context={
            "topic": topic,
            "source": source,
            "draft": draft,
            "headers": [*draft.headers, *[("", draft_of(None).value)] * HEADERS_SPARE],
            "forms": FORMS,
            "like": like,
        },
        crumbs=(TOPICS, Crumb(topic, path_to("topics", topic))),
    )


async def preview(visit: Visit) -> Answer:
    """Show what would be sent, with the mistakes of each line."""
    topic = visit.names["topic"]
    lines = visit.form.one("lines") if visit.form.one("kind") == "lines" else line_of(visit.form)
    lines = lines.replace("\r\n", "\n").strip("\n")
    count = await visit.kafka.run(partition_count, visit.kafka.bootstrap, topic)
    records, wrong = read_lines(lines)
    wrong += check_partitions(records, count)
    return plan_view(
        "Produce",
        Plan(
            command=_command(visit, topic, lines),
            action=path_to("topics", topic, "produce"),
            verb=f"Send {len(records):,} record{'' if len(records) == 1 else 's'}",
            differences=[("record", "", _cut(line)) for line in lines.split("\n")[:WRONG_MAX] if line],
            effects=_effects(len(records), lines),
            fields=(("lines", lines),),
            problem=_problem(wrong, len(records)),
        ),
        (
            TOPICS,
            Crumb(topic, path_to("topics", topic)),
            Crumb("Produce", path_to("topics", topic, "produce")),
        ),
    )


async def store(visit: Visit) -> Answer:
    """Send the records of the form: all are read before the first is sent."""
    topic = visit.names["topic"]
    count = await visit.kafka.run(partition_count, visit.kafka.bootstrap, topic)
    records, wrong = read_lines(visit.form.one("lines").replace("\r\n", "\n"))
    if problem := _problem([*wrong, *check_partitions(records, count)], len(records)):
        raise PageError(400, f"nothing was sent: {problem}")
    stored = await visit.kafka.run(send, visit.kafka.bootstrap, topic, records)
    places = ", ".join(f"partition {partition}: {number}" for partition, number in sorted(stored.items()))
    total = sum(stored.values())
    sentence = f"stored {total} record{'' if total == 1 else 's'} in {topic!r} ({places})"
    return Done(sentence, path_to("topics", topic, "records"))


def partition_count(bootstrap: str, topic: str) -> int:
    """Return a topic's number of partitions; sending must create no topic.  Raises: CommandError."""
    return max(partition_extents(bootstrap, topic), default=-1) + 1


def _topic(bootstrap: str, topic: str, masks: Masks) -> Source:
    partition_count(bootstrap, topic)
    return source_of(bootstrap, topic, masks)


def _problem(wrong: list[Wrong], records: int) -> str:
    if not wrong and not records:
        return "there is no record: write one on each line"
    sentences = [each.sentence for each in wrong[:WRONG_MAX]]
    more = f"; and {len(wrong) - WRONG_MAX:,} more" if len(wrong) > WRONG_MAX else ""
    return "; ".join(sentences) + more


def _effects(records: int, lines: str) -> list[str]:
    found = [f"{len(lines.encode('utf-8', 'replace')):,} bytes of JSON."]
    if records > WRONG_MAX:
        found.append(f"The first {WRONG_MAX} of {records:,} are shown.")
    return found


def _command(visit: Visit, topic: str, lines: str) -> str:
    text = command(visit.settings.bootstrap, "produce", topic, options="--json")
    if len(lines) > COMMAND_CHARS_MAX:
        return f"{text} < records.jsonl"
    return f"{text} <<'END'\n{lines}\nEND"


def _cut(line: str) -> str:
    return line if len(line) <= SHOWN_CHARS else line[: SHOWN_CHARS - 1] + "…"


ROUTES = (
    get("/topics/{topic}/produce", produce),
    Route("POST", "/topics/{topic}/produce/preview", preview),
    change("/topics/{topic}/produce", store),
)
