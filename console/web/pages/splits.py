"""`/topics/T/splits?partition=`: the tree of a topic whose partitions split, and a split by hand."""

from __future__ import annotations

import re
from typing import Final

from console.errors import CommandError
from console.link import LinkLost
from console.split_trees import cells_of, split_partition, tree_rows
from console.web.command_text import command
from console.web.errors import PageError
from console.web.fields import Fields, path_to
from console.web.pages.topic import TOPICS
from console.web.paging import page_of
from console.web.plan import Plan
from console.web.visit import Answer, Crumb, Done, Rows, View, Visit, change, get
from protocol.messages.kawal_topics import SplitPartition

COLUMNS: Final = ("partition", "state", "from", "start", "end", "keys", "bytes_per_second", "note")


async def show(visit: Visit) -> Answer:
    """Show what each partition was split from, and what one more split would mean."""
    name, kafka = visit.names["topic"], visit.kafka
    tree, problem = await kafka.run(tree_of_topic, kafka.bootstrap, name)
    page = page_of(visit, [cells_of(row) for row in tree])
    plan = None
    if tree and visit.query.one("partition").strip():
        plan = _plan(visit.settings.bootstrap, name, tree, _partition(visit.query))
    return View(
        title=f"Splits of {name}",
        template="splits.html",
        context={"topic": name, "page": page, "plan": plan, "problem": problem},
        rows=Rows(COLUMNS, page.items),
        crumbs=(TOPICS, Crumb(name, path_to("topics", name))),
    )


def tree_of_topic(bootstrap: str, name: str) -> tuple[list[SplitPartition], str]:
    """Return the tree of a topic, or why it has none.  Raises: LinkLost; PageError without the topic."""
    try:
        return tree_rows(bootstrap, name), ""
    except LinkLost:
        raise
    except CommandError as error:
        return [], str(error)


def _plan(bootstrap: str, name: str, tree: list[SplitPartition], partition: int) -> Plan:
    active = [row for row in tree if row.end < 0]
    if not any(row.partition == partition for row in active):
        raise PageError(404, f"topic {name!r} has no partition {partition}")
    return Plan(
        command=command(bootstrap, "topics split", name, options=f"--partition {partition}"),
        action=path_to("topics", name, "splits"),
        verb=f"Split partition {partition}",
        differences=[("partitions", str(len(active)), str(len(active) + 1))],
        effects=[
            f"Partition {len(active)} takes a part of the keys of partition {partition}, in order.",
            "Groups get it when they have read what was written before.",
            "Partitions are never joined again.",
        ],
        fields=[("partition", str(partition))],
    )


async def split(visit: Visit) -> Answer:
    """Split a partition."""
    name, partition = visit.names["topic"], _partition(visit.form)
    await visit.kafka.run(split_partition, visit.kafka.bootstrap, name, partition)
    return Done(f"split partition {partition} of {name!r}", path_to("topics", name, "splits"))


def _partition(fields: Fields) -> int:
    text = fields.one("partition").strip()
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise PageError(400, f"partition is {text[:40]!r}; it must be the number of a partition")
    return int(text)


ROUTES = (get("/topics/{topic}/splits", show), change("/topics/{topic}/splits", split))
