"""`/transactions`, `/transactions/T` and `/hanging`: transactions, their partitions, and those that hang."""

from __future__ import annotations

from typing import Any, Final

from console import transaction_admin
from console.transaction_admin import OpenTransaction
from console.web.command_text import command, option
from console.web.errors import PageError
from console.web.fields import path_to, with_query
from console.web.paging import page_of
from console.web.plan import Plan, check_confirmed, plan_view
from console.web.rendering import plural
from console.web.visit import Answer, Crumb, Done, Rows, View, Visit, change, get

TRANSACTIONS: Final = Crumb("Transactions", "/transactions")
STATES: Final = (
    "",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "Empty",
    "CompleteCommit",
    "CompleteAbort",
)
COLUMNS: Final = ("transactional_id", "producer_id", "state")
FACTS: Final = ("state", "producer_id", "producer_epoch", "timeout_ms", "start_ms")
LAST: Final = (1 << 63) - 1


async def transactions(visit: Visit) -> Answer:
    """Show the transactional ids that the coordinator knows."""
    state, kafka = visit.query.choice("state", STATES), visit.kafka
    states = [state] if state else []
    found = await kafka.run(transaction_admin.listed, kafka.bootstrap, states=states)
    page = page_of(visit, found)
    return View(
        title="Transactions",
        template="transactions.html",
        context={"page": page, "states": STATES, "state": state},
        rows=Rows(COLUMNS, [tuple(row[column] for column in COLUMNS) for row in page.items]),
    )


async def _described(visit: Visit, name: str) -> dict[str, Any]:
    """Return a transaction.  Raises: PageError when there is none; CommandError."""
    kafka = visit.kafka
    known = await kafka.run(transaction_admin.listed, kafka.bootstrap)
    if not any(row["transactional_id"] == name for row in known):
        raise PageError(404, f"there is no transactional id {name!r}")
    (row,) = await kafka.run(transaction_admin.described, kafka.bootstrap, [name])
    return row


async def transaction(visit: Visit) -> Answer:
    """Show a transaction with its partitions."""
    row = await _described(visit, visit.names["transaction"])
    page = page_of(visit, [name.rpartition("-") for name in row["partitions"]])
    return View(
        title=row["transactional_id"],
        template="transaction.html",
        context={"row": row, "page": page},
        rows=Rows(
            (*FACTS, "topic", "partition"),
            [(*(row[name] for name in FACTS), topic, int(index)) for topic, _, index in page.items],
        ),
        crumbs=(TRANSACTIONS,),
    )


async def show_abort(visit: Visit) -> Answer:
    """Show what aborting a transaction would do."""
    row = await _described(visit, visit.names["transaction"])
    name = row["transactional_id"]
    count = len(row["partitions"])
    now = (
        f"Its open transaction in {plural(count, 'partition')} is aborted: readers of committed data skip it."
    )
    plan = Plan(
        command=command(visit.settings.bootstrap, "transactions abort", name),
        action=path_to("transactions", name, "abort"),
        verb="Abort",
        differences=[("state", row["state"], "Empty")],
        effects=[
            now if count else "It has no open transaction.",
            "Its producer is fenced: it gets an error, and cannot go on.",
        ],
        confirm=name,
    )
    return plan_view(f"Abort {name}", plan, (TRANSACTIONS, Crumb(name, path_to("transactions", name))))


async def abort(visit: Visit) -> Answer:
    """Abort it, and fence its producer."""
    name = visit.names["transaction"]
    check_confirmed(visit, name)
    await visit.kafka.run(transaction_admin.abort, visit.kafka.bootstrap, name)
    return Done(f"aborted the transaction of {name!r}", path_to("transactions", name))


# --- those that hang ---------------------------------------------------------------------------------------


async def hanging(visit: Visit) -> Answer:
    """Show transactions that are open in a partition and unknown to the coordinator."""
    topic, kafka = visit.query.one("topic").strip(), visit.kafka
    found = await kafka.run(transaction_admin.hanging, kafka.bootstrap, topic or None)
    page = page_of(visit, found)
    return View(
        title="Hanging transactions",
        template="hanging.html",
        context={"page": page, "topic": topic},
        rows=Rows(OpenTransaction._fields, page.items),
        crumbs=(TRANSACTIONS,),
    )


async def show_abort_hanging(visit: Visit) -> Answer:
    """Show what aborting a transaction that hangs would do."""
    topic, fields = visit.query.one("topic"), visit.query
    if not topic:
        raise PageError(400, "name the topic, the partition and the offset: /hanging leads here")
    partition = fields.number("partition", 0, low=0, high=(1 << 31) - 1)
    start = fields.number("start", 0, low=0, high=LAST)
    plan = Plan(
        command=command(
            visit.settings.bootstrap,
            "transactions abort",
            options=f"{option('topic', topic)} --partition {partition} --start-offset {start}",
        ),
        action="/hanging/abort",
        verb="Abort",
        effects=[
            f"The transaction in {topic} {partition} from offset {start} on is aborted there, if the"
            " coordinator still does not know it; readers of committed data go on after it.",
        ],
        fields=[("topic", topic), ("partition", str(partition)), ("start", str(start))],
        confirm=topic,
    )
    return plan_view("Abort a hanging transaction", plan, (TRANSACTIONS, Crumb("Hanging", "/hanging")))


async def abort_hanging(visit: Visit) -> Answer:
    """Abort it."""
    form = visit.form
    topic = form.one("topic")
    check_confirmed(visit, topic)
    partition = form.number("partition", 0, low=0, high=(1 << 31) - 1)
    start = form.number("start", 0, low=0, high=LAST)
    kafka = visit.kafka
    found = await kafka.run(transaction_admin.abort_hanging, kafka.bootstrap, topic, partition, start)
    sentence = f"aborted the transaction of producer {found.producer_id} in {topic} {partition}"
    return Done(sentence, with_query("/hanging", topic=topic))


ROUTES = (
    get("/transactions", transactions),
    get("/transactions/{transaction}", transaction),
    get("/transactions/{transaction}/abort", show_abort),
    change("/transactions/{transaction}/abort", abort),
    get("/hanging", hanging),
    get("/hanging/abort", show_abort_hanging),
    change("/hanging/abort", abort_hanging),
)
