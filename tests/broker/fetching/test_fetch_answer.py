"""The answer to a fetch: partitions under their topics; in a session only what is new to the client."""

from __future__ import annotations

from broker.fetching.fetch_answer import FetchAnswer
from broker.loop.slices import at_once
from protocol.messages.fetch import FetchRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, fetched, fetching, send


def answer_of(client: Client, request: FetchRequest) -> list[tuple[str, list[int]]]:
    answer = client.call(request, 12)
    return [(topic.topic, [data.partition_index for data in topic.partitions]) for topic in answer.responses]


def test_neighbours_of_one_topic_share_its_entry() -> None:
    gateway = Gateway()
    client = gateway.client()
    for name in ("a", "b"):
        create(client, name, partitions=2)
    asked = fetching({("a", 0): 0, ("a", 1): 0, ("b", 1): 0, ("b", 0): 0})
    assert answer_of(client, asked) == [("a", [0, 1]), ("b", [1, 0])]


def test_within_a_session_only_news_are_sent_and_the_served_go_to_the_end() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t", partitions=3)
    first = client.call(fetching({("t", index): 0 for index in range(3)}, session=(0, 0)), 12)
    send(client, "t", batch(b"x"))
    again = client.call(fetching({}, session=(first.session_id, 1)), 12)
    assert list(fetched(again)) == [("t", 0)]
    for index in range(3):
        send(client, "t", batch(b"y"), partition=index)
    third = client.call(fetching({}, session=(first.session_id, 2)), 12)
    assert [index for _, index in fetched(third)] == [1, 2, 0]


def test_an_answer_of_nothing_is_empty() -> None:
    gateway = Gateway()
    steps = gateway.broker.fetch_sessions.plan(
        fetching({}), uses_topic_ids=False, owner=gateway.client().connection, now_ms=gateway.now_ms
    )
    plan = at_once(steps)
    assert FetchAnswer(plan).finished().responses == []
