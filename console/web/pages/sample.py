"""`/new/sample`: flights for a broker that has nothing yet."""

from __future__ import annotations

import json
import time

from broker.server.http_conversation import Send
from console.errors import CommandError
from console.link import LinkLost
from console.record_formats import OutgoingRecord
from console.web.command_text import command, config_options
from console.web.fields import path_to
from console.web.plan import Plan, plan_view
from console.web.produced import send
from console.web.rendering import number
from console.web.sample_flights import CONFIGS, PARTITIONS, RECORDS, TOPIC, create_flights, flights
from console.web.visit import Answer, Done, Streamed, Visit, change, get, stream


async def show(visit: Visit) -> Answer:
    """Show what would be loaded."""
    problem = ""
    if not visit.read_only:  # a dry run is a request that creates topics, too
        try:
            await visit.kafka.run(create_flights, visit.kafka.bootstrap, dry_run=True)
        except LinkLost:
            raise
        except CommandError as error:
            problem = str(error)
    bootstrap = visit.settings.bootstrap
    options = f"--partitions {PARTITIONS} {config_options(CONFIGS)}"
    plan = Plan(
        command=f"{command(bootstrap, 'topics create', TOPIC, options=options)}\n"
        f"{command(bootstrap, 'produce', TOPIC, options='--json')} < flights.jsonl",
        action="/new/sample",
        verb="Load sample flights",
        effects=[
            f"A topic {TOPIC} with {PARTITIONS} partitions and declared columns is created, and gets"
            f" {number(RECORDS)} records: flights of the last six hours, made up.",
            "They are in the file /new/sample/flights, as lines of JSON.",
        ],
        problem=problem,
    )
    return plan_view("Load sample flights", plan)


async def load(visit: Visit) -> Answer:
    """Create the topic and send the flights."""
    kafka = visit.kafka
    await kafka.run(create_flights, kafka.bootstrap, dry_run=False)
    stored = await kafka.run(send, kafka.bootstrap, TOPIC, list(flights(_now_ms())))
    return Done(
        f"loaded {number(sum(stored.values()))} sample flights into {TOPIC!r}",
        path_to("topics", TOPIC, "records"),
    )


async def file(_: Visit) -> Answer:
    """Give the flights as lines for `kawal produce --json`."""

    async def run(tell: Send) -> None:
        await tell(b"".join(line_of(record) for record in flights(_now_ms())))

    return Streamed(run, "application/octet-stream", "flights.jsonl")


def line_of(record: OutgoingRecord) -> bytes:
    """Return a flight as a line of JSON."""
    assert record.key is not None
    assert record.value is not None
    tree = {"key": record.key.decode(), "value": record.value.decode(), "timestamp": record.timestamp_ms}
    return json.dumps(tree).encode() + b"\n"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


ROUTES = (get("/new/sample", show), change("/new/sample", load), stream("/new/sample/flights", file))
