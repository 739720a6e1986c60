"""`/topics/T/message?id=`: the record that an id of a message leads to."""

from __future__ import annotations

from console.web.errors import PageError
from console.web.fields import path_to
from console.web.message_ids import place_of
from console.web.visit import Answer, Redirect, Visit, get


async def message(visit: Visit) -> Answer:
    """Lead to the record.  Raises: PageError, CommandError."""
    topic, text = visit.names["topic"], visit.query.one("id").strip()
    if not text:
        raise PageError(400, "name the message: id is LEDGER:ENTRY:PARTITION:BATCH-INDEX")
    found = await visit.kafka.run(place_of, visit.kafka.bootstrap, topic, text)
    return Redirect(path_to("topics", topic, "records", found.partition_index, found.offset))


ROUTES = (get("/topics/{topic}/message", message),)
